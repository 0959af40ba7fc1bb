/* SPDX-License-Identifier: ISC */
/*
 * Paths as strings, pure: is it canonical, does one cover another.  The contracts are proved with
 * Frama-C (make prove) for all strings.  They say nothing about the file system: what a name leads
 * to is decided on descriptors (resolve.h).
 */
#ifndef AC_PATH_H
#define AC_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "names.h"

/*@
  // s is a string of n bytes and its NUL.
  predicate ac_string(char *s, integer n) =
    0 <= n && \valid_read(s + (0 .. n)) && s[n] == 0 && \forall integer i; 0 <= i < n ==> s[i] != 0;

  // The component that starts at s is empty, "." or "..".
  predicate ac_special(char *s) =
    s[0] == '/' || s[0] == 0 ||
    (s[0] == '.' && (s[1] == '/' || s[1] == 0 ||
      (s[1] == '.' && (s[2] == '/' || s[2] == 0))));

  predicate ac_canonical(char *s, integer n) =
    n < AC_PATH_MAX && s[0] == '/' &&
    (n == 1 || \forall integer i; 0 <= i < n && s[i] == '/' ==> !ac_special(s + i + 1));

  // root, of n bytes, is path, of m bytes, or a leading part of it that ends at a component's end.
  predicate ac_covers(char *root, integer n, char *path, integer m) =
    0 < n <= m && (\forall integer i; 0 <= i < n ==> root[i] == path[i]) &&
    (n == m || path[n] == '/' || root[n - 1] == '/');
*/

/* Absolute, no empty, "." or ".." component, no trailing slash (except "/" itself),
 * shorter than AC_PATH_MAX. */
/*@
  requires \exists integer n; ac_string(path, n);
  terminates \true;
  assigns \nothing;
  // true exactly for canonical paths
  ensures \forall integer n; ac_string(path, n) ==> (\result != 0 <==> ac_canonical(path, n));
*/
bool ac_path_is_canonical(const char *path);

/* True when path is root or lies below it, by whole components.  Both canonical; an empty root
 * covers nothing. */
/*@
  requires \exists integer n; n < AC_PATH_MAX && ac_string(root, n);
  requires \exists integer m; ac_string(path, m);
  terminates \true;
  assigns \nothing;
  // true exactly for what lies at or below root
  ensures \forall integer n, m; ac_string(root, n) && ac_string(path, m) ==>
    (\result != 0 <==> ac_covers(root, n, path, m));
*/
bool ac_path_covers(const char *root, const char *path);

/*
 * Joins base (canonical) and name (absolute or relative) and removes ".", ".." and doubled slashes
 * lexically.  Returns 0, or -ENAMETOOLONG and makes out empty.  ".." above "/" stays "/".
 */
int ac_path_join(char out[], size_t size, const char *base, const char *name);

#endif

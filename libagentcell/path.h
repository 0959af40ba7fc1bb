/* SPDX-License-Identifier: ISC */
/*
 * Paths as strings, pure: is it canonical, does one cover another.  Proved with Frama-C
 * (make prove) for all strings up to AC_PATH_MAX.  They say nothing about the file system:
 * what a name leads to is decided on descriptors (resolve.h).
 */
#ifndef AC_PATH_H
#define AC_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Absolute, no empty, "." or ".." component, no trailing slash (except "/" itself),
 * shorter than AC_PATH_MAX. */
bool ac_path_is_canonical(const char *path);

/* True when path is root or lies below it, by whole components.  Both canonical. */
bool ac_path_covers(const char *root, const char *path);

/*
 * Joins base (canonical) and name (absolute or relative) and removes ".", ".." and doubled slashes
 * lexically.  Returns 0, or -ENAMETOOLONG.  ".." above "/" stays "/".
 */
int ac_path_join(char out[], size_t size, const char *base, const char *name);

#endif

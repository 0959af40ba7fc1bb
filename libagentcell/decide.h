/* SPDX-License-Identifier: ISC */
/*
 * What the policy says about one access: pure, deny wins, default deny.  Proved (make prove).
 */
#ifndef AC_DECIDE_H
#define AC_DECIDE_H

#include "path.h"
#include "policy.h"

enum ac_operation {
	AC_OPERATION_READ,
	AC_OPERATION_WRITE,
	AC_OPERATION_EXECUTE,
	AC_OPERATION_NETWORK,
	AC_OPERATION_PRIVILEGE,
	AC_OPERATION_COUNT
};

enum ac_decision {
	AC_DECISION_DENIED, /* outside everything that is declared */
	AC_DECISION_ALLOWED,
	AC_DECISION_EXCLUDED, /* below an excluded path */
	AC_DECISION_BAIT /* below a bait path: nothing honest goes there */
};

/*@
  // A string of a policy, and a list of them.
  predicate ac_entry(char *e) = \exists integer n; n < AC_PATH_MAX && ac_string(e, n);

  predicate ac_list(struct ac_path_list *l) =
    \valid_read(l) && \forall integer i; 0 <= i < l->count && i < AC_PATHS_MAX ==>
      ac_entry(&l->entry[i].path[0]);

  predicate ac_readable_policy(struct ac_policy *p) =
    ac_list(&p->write_paths) && ac_list(&p->read_paths) && ac_list(&p->excluded_paths) &&
    ac_list(&p->bait_paths) && ac_list(&p->tool_paths) && ac_entry(&p->home[0]);

  // The entry, of n bytes, covers path; so does some entry of the list.
  predicate ac_covered(char *e, char *path, integer n) =
    ac_string(e, n) && \exists integer m; ac_string(path, m) && ac_covers(e, n, path, m);

  predicate ac_in(struct ac_path_list *l, char *path, integer n) =
    \exists integer i; 0 <= i < l->count && i < AC_PATHS_MAX &&
      ac_covered(&l->entry[i].path[0], path, n);

  predicate ac_in_writable(struct ac_policy *p, char *path, integer n) =
    ac_in(&p->write_paths, path, n) || ac_covered(&p->home[0], path, n);

  predicate ac_in_readable(struct ac_policy *p, char *path, integer n) =
    ac_in(&p->read_paths, path, n) || ac_in(&p->tool_paths, path, n);

  predicate ac_in_declared(struct ac_policy *p, char *path, integer n) =
    ac_in_writable(p, path, n) || ac_in_readable(p, path, n);

  predicate ac_is_canonical(char *path) =
    \exists integer n; ac_string(path, n) && ac_canonical(path, n);

  // Below a bait path, and below nothing declared that is longer.
  predicate ac_is_bait(struct ac_policy *p, char *path) =
    \exists integer b; ac_in(&p->bait_paths, path, b) &&
      \forall integer d; ac_in_declared(p, path, d) ==> d <= b;

  predicate ac_is_excluded(struct ac_policy *p, char *path) =
    \exists integer x; ac_in(&p->excluded_paths, path, x);

  predicate ac_may_read(struct ac_policy *p, char *path) =
    \exists integer d; ac_in_declared(p, path, d);

  predicate ac_may_write(struct ac_policy *p, char *path) =
    \exists integer w; ac_in_writable(p, path, w) &&
      \forall integer r; ac_in_readable(p, path, r) ==> r < w;
*/

/*
 * path is canonical (else DENIED).  The declared paths are the write, read and tool paths and the
 * home.  Bait wins over them, except that a declared path below a bait path (~/.config/x when
 * ~/.config is bait) is judged by the longer match; excluded paths win over them always.  Writing is
 * allowed where the longest match is a write path or the home, reading and executing below any.
 * NETWORK and PRIVILEGE have no path: DENIED.  The system baseline (/usr ...) is not in a policy.
 */
/*@
  requires \valid_read(policy) && ac_readable_policy(policy);
  requires \exists integer n; ac_string(path, n);
  terminates \true;
  assigns \nothing;
  ensures \result == AC_DECISION_DENIED || \result == AC_DECISION_ALLOWED ||
    \result == AC_DECISION_EXCLUDED || \result == AC_DECISION_BAIT;
  // bait exactly below a bait path that no declared path below it takes back
  ensures \result == AC_DECISION_BAIT <==> ac_is_canonical(path) && ac_is_bait(policy, path);
  // excluded exactly below an excluded path
  ensures \result == AC_DECISION_EXCLUDED <==>
    ac_is_canonical(path) && !ac_is_bait(policy, path) && ac_is_excluded(policy, path);
  // allowed exactly where something declared allows it and nothing denies it
  ensures \result == AC_DECISION_ALLOWED <==>
    ac_is_canonical(path) && !ac_is_bait(policy, path) && !ac_is_excluded(policy, path) &&
    (((operation == AC_OPERATION_READ || operation == AC_OPERATION_EXECUTE) &&
        ac_may_read(policy, path)) ||
      (operation == AC_OPERATION_WRITE && ac_may_write(policy, path)));
*/
enum ac_decision ac_policy_decide(
	const struct ac_policy *policy, enum ac_operation operation, const char *path);

const char *ac_operation_name(enum ac_operation operation); /* "read", ... NULL out of range */

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The policy decision over path strings.  Pure, proved (make prove).  The policy is root's own and
 * was checked when it was read; the path is from an audit record and may be anything.
 */
#include "decide.h"

#include "path.h"

/*@
  terminates \true;
  assigns \nothing;
  ensures \result == (a > b ? a : b);
*/
static size_t greater(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Length of the entry when it covers path, else 0.  An entry never filled in ("") covers nothing. */
/*@
  requires ac_entry(entry);
  requires \exists integer m; ac_string(path, m);
  terminates \true;
  assigns \nothing;
  ensures \result > 0 ==> ac_covered(entry, path, \result);
  ensures \forall integer n; ac_covered(entry, path, n) ==> n == \result;
*/
static size_t covering(const char entry[AC_PATH_MAX], const char *path)
{
	size_t n = 0;

	if (!ac_path_covers(entry, path))
		return 0;
	/*@
	  loop invariant 0 <= n < AC_PATH_MAX;
	  loop invariant \forall integer k; 0 <= k < n ==> entry[k] != 0;
	  loop assigns n;
	  loop variant AC_PATH_MAX - n;
	*/
	while (entry[n] != '\0')
		n++;
	return n;
}

/* Length of the longest entry that covers path; 0 when none does. */
/*@
  requires ac_list(list);
  requires \exists integer m; ac_string(path, m);
  terminates \true;
  assigns \nothing;
  ensures \result > 0 ==> ac_in(list, path, \result);
  ensures \forall integer n; ac_in(list, path, n) ==> 0 < n <= \result;
*/
static size_t longest(const struct ac_path_list *list, const char *path)
{
	size_t best = 0;

	/*@
	  loop invariant 0 <= i <= AC_PATHS_MAX;
	  loop invariant best > 0 ==> \exists integer k; 0 <= k < i && k < list->count &&
	    ac_covered(&list->entry[k].path[0], path, best);
	  loop invariant \forall integer k, n; 0 <= k < i &&
	    ac_covered(&list->entry[k].path[0], path, n) ==> n <= best;
	  loop assigns i, best;
	  loop variant AC_PATHS_MAX - i;
	*/
	for (unsigned i = 0; i < list->count && i < AC_PATHS_MAX; i++)
		best = greater(best, covering(list->entry[i].path, path));
	return best;
}

enum ac_decision ac_policy_decide(
	const struct ac_policy *policy, enum ac_operation operation, const char *path)
{
	size_t writable, readable, declared, bait;

	if (!ac_path_is_canonical(path))
		return AC_DECISION_DENIED;
	writable = greater(longest(&policy->write_paths, path), covering(policy->home, path));
	readable = greater(longest(&policy->read_paths, path), longest(&policy->tool_paths, path));
	declared = greater(writable, readable);
	bait = longest(&policy->bait_paths, path);
	/*@ assert writable: (writable > 0 ==> ac_in_writable(policy, path, writable)) &&
	  \forall integer n; ac_in_writable(policy, path, n) ==> 0 < n <= writable; */
	/*@ assert readable: (readable > 0 ==> ac_in_readable(policy, path, readable)) &&
	  \forall integer n; ac_in_readable(policy, path, n) ==> 0 < n <= readable; */
	/*@ assert declared: (declared > 0 ==> ac_in_declared(policy, path, declared)) &&
	  \forall integer n; ac_in_declared(policy, path, n) ==> 0 < n <= declared; */
	//@ assert bait: bait > 0 && bait >= declared <==> ac_is_bait(policy, path);
	//@ assert read: declared > 0 <==> ac_may_read(policy, path);
	//@ assert write: writable > readable <==> ac_may_write(policy, path);
	if (bait > 0 && bait >= declared)
		return AC_DECISION_BAIT;
	if (longest(&policy->excluded_paths, path) > 0)
		return AC_DECISION_EXCLUDED;
	switch (operation) {
	case AC_OPERATION_READ:
	case AC_OPERATION_EXECUTE:
		return declared > 0 ? AC_DECISION_ALLOWED : AC_DECISION_DENIED;
	case AC_OPERATION_WRITE:
		return writable > readable ? AC_DECISION_ALLOWED : AC_DECISION_DENIED;
	case AC_OPERATION_NETWORK:
	case AC_OPERATION_PRIVILEGE:
	case AC_OPERATION_COUNT:
		break;
	}
	return AC_DECISION_DENIED;
}

const char *ac_operation_name(enum ac_operation operation)
{
	switch (operation) {
	case AC_OPERATION_READ:
		return "read";
	case AC_OPERATION_WRITE:
		return "write";
	case AC_OPERATION_EXECUTE:
		return "execute";
	case AC_OPERATION_NETWORK:
		return "network";
	case AC_OPERATION_PRIVILEGE:
		return "privilege";
	case AC_OPERATION_COUNT:
		break;
	}
	return NULL;
}

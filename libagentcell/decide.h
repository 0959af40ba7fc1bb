/* SPDX-License-Identifier: ISC */
/*
 * What the policy says about one access: pure, deny wins, default deny.  Proved (make prove).
 */
#ifndef AC_DECIDE_H
#define AC_DECIDE_H

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

/*
 * path is canonical (else DENIED).  The declared paths are the write, read and tool paths and the
 * home.  Bait wins over them, except that a declared path below a bait path (~/.config/x when
 * ~/.config is bait) is judged by the longer match; excluded paths win over them always.  Writing is
 * allowed where the longest match is a write path or the home, reading and executing below any.
 * NETWORK and PRIVILEGE have no path: DENIED.  The system baseline (/usr ...) is not in a policy.
 */
enum ac_decision ac_policy_decide(
	const struct ac_policy *policy, enum ac_operation operation, const char *path);

const char *ac_operation_name(enum ac_operation operation); /* "read", ... NULL out of range */

#endif

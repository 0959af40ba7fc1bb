/* SPDX-License-Identifier: ISC */
/* The store of what sessions keep: AC_KEPT_DIRECTORY/<user>/<harness>-<hash of the directory>/. */
#ifndef AC_KEPT_H
#define AC_KEPT_H

#include "policy.h"
#include "tree.h"

#define AC_KEPT_LIMITS \
	{ \
		.bytes = 64u << 20, .entries = 4096, .depth = 16 \
	}

/*
 * ROOT.  Opens the directory of this plan's user, harness and cwd as the user, and makes it when
 * is_made; -ENOENT when it is not there.  The user's own directory is made by root, 0700 and hers.
 */
int ac_kept_open(const struct ac_plan *plan, bool is_made, struct ac_err *err);

#endif

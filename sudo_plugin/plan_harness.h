/* SPDX-License-Identifier: ISC */
/* What the harness profile adds to a plan: what is placed into the view, the program itself, keys. */
#ifndef AC_PLAN_HARNESS_H
#define AC_PLAN_HARNESS_H

#include "plan.h"

/* Last part of ac_plan_make(): placements, and a command that lies in the user's home. */
int ac_plan_harness(
	const struct ac_plan_input *input, struct ac_session_policy *session, struct ac_err *err);

/* Reads the files of [keys]; a missing one adds nothing.  The values go to the launched command and
 * nowhere else: no policy, no log, no terms. */
int ac_keys_take(const struct ac_plan *plan, const struct ac_harness *harness,
	struct ac_settings *keys, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/* The path lists of plan and policy: split, resolved and judged as the invoking user. */
#ifndef AC_PLAN_PATHS_H
#define AC_PLAN_PATHS_H

#include "plan.h"

int ac_plan_paths(const struct ac_plan_input *input, struct ac_plan *plan, struct ac_policy *policy,
	struct ac_err *err);

#endif

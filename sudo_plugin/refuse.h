/* SPDX-License-Identifier: ISC */
/*
 * Refusals of our own, on record in sudo's own style.  sudo's audit plugin skips plugins whose name
 * begins with "sudoers_", so nobody else logs them.
 */
#ifndef AC_REFUSE_H
#define AC_REFUSE_H

#include "err.h"
#include "request.h"

void ac_refuse_log(const struct ac_request *request, const char *role, char *const argv[],
	const struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * What a session left for the host to run or to obey.
 *
 * Where a repository has no hooks, config or the like, there is nothing that could be mounted read-only
 * over the agent's hand.  Those names are remembered and, should they exist when every process of the
 * session is dead, moved aside.  All else that the host heeds is told, on the terminal and in the log.
 */
#ifndef AC_AFTERMATH_H
#define AC_AFTERMATH_H

#include "config.h"
#include "policy.h"

#define AC_ABSENT_MAX 4096

struct ac_absent { /* large: on the heap */
	unsigned count;
	char path[AC_ABSENT_MAX][AC_PATH_MAX];
};

/* On the host, after the end of the session.  say() gets what the person should know. */
void ac_aftermath(const struct ac_config *config, const struct ac_session_policy *session,
	const struct ac_absent *absent, void (*say)(void *context, const char *text),
	void *context);

#endif

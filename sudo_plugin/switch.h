/* SPDX-License-Identifier: ISC */
/*
 * Between the thin plugin that every sudo loads and the agent switch that few need.
 *
 * agentcell_policy.so links nothing but libc, so that everybody else's sudo costs no more than before;
 * agentcell_switch.so brings the libraries and is loaded only once sudoers has resolved a request to
 * the role account (or to a uid that may be a session's).
 */
#ifndef AC_SWITCH_H
#define AC_SWITCH_H

#include <stdbool.h>
#include <sudo_plugin.h>
#include <sys/types.h>

#include "err.h"
#include "request.h"

struct ac_agent;

struct ac_switch_host { /* what sudo gave the plugin */
	sudo_printf_t print;
	struct sudo_plugin_event *(*event_alloc)(void);
	const char *role; /* must be the configuration's role_user */
};

struct ac_switch_answer { /* NULL-terminated vectors for sudo */
	char **command_info, **argv, **environment;
};

struct ac_switch {
	/* NULL when out of memory.  Lives until the process ends. */
	struct ac_agent *(*create)(const struct ac_switch_host *host);

	/*
	 * Plan, policy, session directory, terms, rewritten command.  sudoers_info and argv are what
	 * sudoers answered.  Returns 1 (accepted), 0 (refused) or -1 (error), *err filled unless 1.
	 */
	int (*check)(struct ac_agent *agent, const struct ac_request *request,
		char *const sudoers_info[], char *const argv[], struct ac_switch_answer *answer,
		struct ac_err *err);

	/* init_session: the PAM session "agentcell" builds the cell.  1, or -1 with *err filled; then
	 * nothing of the session is left. */
	int (*open)(struct ac_agent *agent, struct ac_err *err);

	/* close(): wait status, or error when the command could not be started.  Shows the report. */
	void (*close)(struct ac_agent *agent, int status, int error);

	/* Is the uid in the session range: the configured one, or the default when the configuration
	 * cannot be read (a broken file must not open the range). */
	bool (*is_session_id)(uid_t uid);
};

#define AC_SWITCH_SYMBOL "ac_switch"
#define AC_SWITCH_FILE "agentcell_switch.so"

/* Loads it from the directory of plugins; the file must be root's and writable by nobody else. */
const struct ac_switch *ac_switch_load(struct ac_err *err);

#endif

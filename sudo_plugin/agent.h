/* SPDX-License-Identifier: ISC */
/*
 * The agent switch: what happens once sudoers has accepted a command for the role account.
 *
 * One sudo process makes at most one switch, so there is one object of this kind, owned by plugin.c.
 * Everything runs in sudo's main process with effective uid 0 and the invoking user's real uid.
 */
#ifndef AC_AGENT_H
#define AC_AGENT_H

#include <pwd.h>
#include <stdbool.h>
#include <sudo_plugin.h>

#include "request.h"
#include "session.h"

struct pam_handle;

struct ac_agent {
	sudo_conv_t conversation;
	sudo_printf_t print;
	struct sudo_plugin_event *(*event_alloc)(void);
	struct ac_config config;
	struct ac_harness harness;
	struct ac_session session;
	struct ac_request request;
	char **command_info, **argv, **environment; /* owned; sudo keeps pointers into them */
	struct pam_handle *pam;
	bool is_pam_open;
	pid_t pid; /* of check_policy: another one in init_session means sudo -b */
	int launcher_fd; /* the launcher's end of the socket pair */
	int mount_namespace_fd, ipc_namespace_fd, cwd_fd; /* the host's, to come back to */
	bool is_away; /* in the private view */
	struct sudo_plugin_event *home_event, *listener_event;
};

void ac_agent_init(struct ac_agent *agent);

/*
 * After sudoers' acceptance: plan, policy, session directory, terms, rewritten command.
 * sudoers_info, argv and env_add are what sudoers answered and what the user asked.
 * Returns 1 (accepted), 0 (refused) or -1 (error), *err filled unless 1.
 */
int ac_agent_check(
	struct ac_agent *agent, char *const sudoers_info[], char *const argv[], struct ac_err *err);

/* init_session: the PAM session "agentcell" builds the cell.  1, or -1 with *err filled; then
 * nothing of the session is left. */
int ac_agent_open(struct ac_agent *agent, struct ac_err *err);

/* close(): wait status, or error when the command could not be started.  Shows the report. */
void ac_agent_close(struct ac_agent *agent, int status, int error);

#endif

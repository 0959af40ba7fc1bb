/* SPDX-License-Identifier: ISC */
/*
 * The agent switch: what happens once sudoers has accepted a command for the role account.
 *
 * One sudo process makes at most one switch.  Everything runs in sudo's main process with effective
 * uid 0 and the invoking user's real uid.  This is the inside of agentcell_switch.so; plugin.c knows
 * switch.h only.
 */
#ifndef AC_AGENT_H
#define AC_AGENT_H

#include <stdbool.h>
#include <sudo_plugin.h>

#include "host.h"
#include "request.h"
#include "session.h"
#include "switch.h"

struct pam_handle;

struct ac_agent {
	struct ac_switch_host host;
	struct ac_config *config; /* owned, as all of it until the process ends */
	struct ac_harness *harness;
	struct ac_settings keys; /* read from files */
	char **private_environment; /* for the launcher, and for no log */
	struct ac_session session;
	const struct ac_request *request; /* the plugin's */
	struct ac_switch_answer answer; /* owned; sudo keeps pointers into it */
	struct pam_handle *pam;
	bool is_pam_open;
	pid_t pid; /* of the check: another one when the session opens means sudo -b */
	int launcher_fd; /* the launcher's end of the socket pair */
	struct ac_host outside; /* to come back to */
	bool is_away; /* in the private view */
	struct sudo_plugin_event *home_event, *listener_event;
};

/* The functions of struct ac_switch. */
int ac_agent_open(struct ac_agent *agent, struct ac_err *err);
void ac_agent_close(struct ac_agent *agent, int status, int error);

#endif

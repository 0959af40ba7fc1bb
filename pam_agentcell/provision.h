/* SPDX-License-Identifier: ISC */
/*
 * Opening and closing a session in sudo's process: the lifecycle from backup to the view, the hand-over
 * to the listener, and the way back.
 */
#ifndef AC_PROVISION_H
#define AC_PROVISION_H

#include <security/pam_modules.h>

#include "aftermath.h"
#include "home.h"
#include "host.h"
#include "session.h"

struct ac_provision {
	pam_handle_t *pam; /* for messages */
	struct ac_config *config; /* owned */
	struct ac_session session;
	struct ac_host host; /* to come back to */
	struct ac_home home;
	struct ac_absent absent;
	gid_t gids[3]; /* as sudo had set them */
	mode_t umask;
	bool is_armed; /* the listener drives */
	bool is_started; /* the view was entered: from here sudo may fork the launcher */
};

/* Takes the session over from the plugin (descriptors by PAM environment), makes the cell, and leaves
 * this process in the view.  On failure nothing of the session is left and *err says why. */
int ac_provision_open(struct ac_provision *provision, pam_handle_t *pam, struct ac_err *err);

/* Ends the session with the command's wait status (-1: never started) and shows the report. */
void ac_provision_close(struct ac_provision *provision, pam_handle_t *pam, int status);

void ac_provision_free(struct ac_provision *provision);

#endif

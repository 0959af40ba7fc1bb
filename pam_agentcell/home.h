/* SPDX-License-Identifier: ISC */
/*
 * What a profile puts into the session's home, and what of it comes out again.
 *
 * It goes in while the view is built, by root, before any process of the session exists; it comes out
 * when none is left.  The descriptor of the home keeps it alive when the view is gone.
 */
#ifndef AC_HOME_H
#define AC_HOME_H

#include "lifecycle.h"
#include "policy.h"

struct ac_home {
	int fd; /* of the session's home, -1: none */
	struct {
		char *bytes; /* owned; as it was copied in, NULL: there was none */
		size_t length;
	} credential[AC_PLACEMENTS_MAX]; /* by number of the placement */
};

#define AC_HOME_NONE \
	{ \
		.fd = -1 \
	}

/* Called in the view, before the session starts: remembers the home and its credentials. */
int ac_home_open(struct ac_home *home, const struct ac_session_policy *session, struct ac_err *err);

/* Called on the host when every process of the session is dead.  Brings credentials and kept files
 * out as the user; after an escape or a loss nothing.  say() gets what the person should know. */
void ac_home_bring_out(struct ac_home *home, const struct ac_session_policy *session,
	enum ac_cause cause, void (*say)(void *context, const char *text), void *context);

void ac_home_close(struct ac_home *home);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The view: the session's private mount namespace, an allowlist (architecture.md 7).
 *
 * ac_view_enter() unshares mount and IPC namespace of the calling process and moves it into the view,
 * with the session's cwd as its own.  Between that and the return to the host nothing may use NSS,
 * PAM, syslog or dlopen.  Nothing is written into a declared path.
 */
#ifndef AC_VIEW_H
#define AC_VIEW_H

#include "aftermath.h"
#include "policy.h"

/* Shows the hosts file of the session's directory, which must be there.
 * variables: NAME=value, ended by NULL: what the launcher adds to the environment.
 * On failure the caller may already be in the new namespace and must return to the host. */
int ac_view_enter(const struct ac_session_policy *session, char *const variables[],
	struct ac_absent *absent, struct ac_err *err);

#endif

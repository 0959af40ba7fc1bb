/* SPDX-License-Identifier: ISC */
/*
 * `pam_agentcell.so guard` in other services (sudo, su, login, sshd, cron ...): no session of the role
 * account or of a session account may open there, whatever else is misconfigured.
 */
#ifndef AC_GUARD_H
#define AC_GUARD_H

#include <security/pam_modules.h>

/* PAM_SUCCESS for everybody else; PAM_PERM_DENIED for those accounts.  Never PAM_SESSION_ERR, which
 * sudo takes for a warning. */
int ac_guard(pam_handle_t *pam, int argc, const char **argv);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The PAM module.  As `session required pam_agentcell.so` in the service "agentcell" it makes and
 * destroys the cell; as `session requisite pam_agentcell.so guard` anywhere else it keeps the role
 * account out.  Any other argument is refused.
 *
 * Returns PAM_SYSTEM_ERR on failure, never PAM_SESSION_ERR: sudo goes on after that one.
 */
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "guard.h"
#include "provision.h"
#include "util.h"

#define DATA_NAME "agentcell_provision"
#define EXPORTED __attribute__((visibility("default")))

static void free_data(pam_handle_t *pam, void *data, int status)
{
	(void)pam;
	(void)status;
	ac_provision_free(data);
}

static void put(pam_handle_t *pam, const char *name, const char *value)
{
	char entry[AC_ERR_TEXT_MAX + 64];

	snprintf(entry, sizeof entry, "%s=%s", name, value);
	pam_putenv(pam, entry);
}

static int fail(pam_handle_t *pam, const char *reason)
{
	pam_syslog(pam, LOG_ERR, "no session: %s", reason);
	put(pam, "AGENTCELL_ERROR", reason);
	return PAM_SYSTEM_ERR;
}

static int open_session(pam_handle_t *pam)
{
	struct ac_provision *provision = calloc(1, sizeof *provision);
	struct ac_err err = { 0 };
	char number[16];

	if (!provision)
		return fail(pam, "out of memory");
	/* Registered first: after ac_provision_open() this process is in the view, and nothing that may
	 * fail should come then. */
	if (pam_set_data(pam, DATA_NAME, provision, free_data) != PAM_SUCCESS) {
		free(provision);
		return fail(pam, "out of memory");
	}
	if (ac_provision_open(provision, pam, &err) != 0)
		return fail(pam, err.text);
	snprintf(number, sizeof number, "%d", provision->session.cgroup_fd);
	put(pam, "AGENTCELL_CGROUP_FD", number);
	put(pam, "AGENTCELL_READY", provision->session.policy->plan.session_id);
	return PAM_SUCCESS;
}

EXPORTED int pam_sm_open_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	(void)flags;
	if (argc >= 1 && strcmp(argv[0], "guard") == 0)
		return ac_guard(pam, argc, argv);
	if (argc != 0) {
		pam_syslog(
			pam, LOG_ERR, "unknown argument %s; there are none but 'guard'", argv[0]);
		return PAM_SYSTEM_ERR;
	}
	return open_session(pam);
}

EXPORTED int pam_sm_close_session(pam_handle_t *pam, int flags, int argc, const char **argv)
{
	const void *data = NULL;
	const char *status = pam_getenv(pam, "AGENTCELL_STATUS");

	(void)flags;
	if (argc >= 1 && strcmp(argv[0], "guard") == 0)
		return PAM_SUCCESS;
	if (pam_get_data(pam, DATA_NAME, &data) != PAM_SUCCESS || !data)
		return PAM_SUCCESS; /* never opened: nothing to close */
	struct ac_provision *provision;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the pointer itself */
	memcpy(&provision, &data, sizeof provision); /* PAM hands out our own pointer as const */

	ac_provision_close(provision, pam, status ? (int)strtol(status, NULL, 10) : -1);
	return PAM_SUCCESS;
}

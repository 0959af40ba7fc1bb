/* SPDX-License-Identifier: ISC */
/* The guard works with a broken or missing configuration too: then the built-in names count. */
#include "guard.h"

#include <pwd.h>
#include <security/pam_ext.h>
#include <security/pam_modutil.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "config.h"
#include "util.h"

#define DEFAULT_ROLE "agentcell-worker"
#define SESSION_PREFIX "agentcell-"
#define DEFAULT_FIRST 70000
#define DEFAULT_LAST 70999

/* guard [role=NAME] */
static const char *role_of(int argc, const char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "role=", 5) == 0 && argv[i][5])
			return argv[i] + 5;
	return DEFAULT_ROLE;
}

static bool is_session_uid(uid_t uid)
{
	ac_autofree struct ac_config *config = calloc(1, sizeof *config);
	struct ac_err ignored;

	if (!config || ac_config_read(AC_CONFIG_FILE, config, &ignored) != 0)
		return uid >= DEFAULT_FIRST && uid <= DEFAULT_LAST;
	return uid >= config->uid_first && uid <= config->uid_last;
}

int ac_guard(pam_handle_t *pam, int argc, const char **argv)
{
	const char *user = NULL, *role = role_of(argc, argv);

	if (pam_get_user(pam, &user, NULL) != PAM_SUCCESS || !user || !*user)
		return PAM_USER_UNKNOWN;
	const struct passwd *entry = pam_modutil_getpwnam(pam, user);
	const struct passwd *role_entry = entry ? pam_modutil_getpwnam(pam, role) : NULL;
	bool is_refused = strcmp(user, role) == 0 ||
			  strncmp(user, SESSION_PREFIX, sizeof SESSION_PREFIX - 1) == 0;

	if (entry && (is_session_uid(entry->pw_uid) ||
			     (role_entry && role_entry->pw_uid == entry->pw_uid)))
		is_refused = true;
	if (!is_refused)
		return PAM_SUCCESS;
	pam_syslog(pam, LOG_ALERT,
		"session of %s refused: agents run only through sudo's agentcell "
		"plugin; check /etc/sudo.conf with agentcell doctor",
		user);
	pam_error(pam,
		"agentcell: %s runs only through sudo's agentcell plugin; check /etc/sudo.conf "
		"with 'agentcell doctor'",
		user);
	return PAM_PERM_DENIED;
}

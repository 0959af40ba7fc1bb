/* SPDX-License-Identifier: ISC */
/* Logs refusals to syslog (authpriv) as sudo does; every value is escaped. */
#include "refuse.h"

#include <string.h>
#include <syslog.h>

#include "escape.h"

static const char *escaped(char *text, size_t size, const char *value)
{
	ac_escape(text, size, value ? value : "unknown", strlen(value ? value : "unknown"));
	return text;
}

static void join_command(char *text, size_t size, char *const argv[])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; argv && argv[i] && used + 2 < size; i++) {
		if (i)
			text[used++] = ' ';
		ac_escape(text + used, size - used, argv[i], strlen(argv[i]));
		used += strlen(text + used);
	}
}

void ac_refuse_log(const struct ac_request *request, const char *role, char *const argv[],
	const struct ac_err *err)
{
	char user[AC_NAME_MAX * 3], tty[256], cwd[512], command[1024];

	join_command(command, sizeof command, argv);
	openlog("sudo", 0, LOG_AUTHPRIV);
	syslog(LOG_ALERT, "%8s : agentcell: %s ; TTY=%s ; PWD=%s ; USER=%s ; COMMAND=%s",
		escaped(user, sizeof user, request->user), err->text,
		escaped(tty, sizeof tty, request->tty), escaped(cwd, sizeof cwd, request->cwd),
		role, command);
	closelog();
}

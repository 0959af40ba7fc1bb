/* SPDX-License-Identifier: ISC */
/*
 * Where the known harnesses are installed.  What lies in a home is not in the view, unless the
 * profile's [tools] packages or the configuration's tool_paths bring it in; no fault, but worth a
 * line before somebody wonders.
 */
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "doctor.h"
#include "util.h"

static const char *const commands[] = { "claude", "codex", "opencode", "cursor-agent" };
static const char *const system_places[] = { "/usr/local/bin", "/usr/bin", "/opt/*/bin" };
static const char *const home_places[] = { ".local/bin", ".nvm/versions/node/*/bin",
	".npm-global/bin", ".opencode/bin", ".claude/local", "bin", "node_modules/.bin" };

/* The first file that fits, into path. */
static bool find(const char *pattern, char *path, size_t size)
{
	glob_t found;
	bool is_there = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;

	if (is_there)
		snprintf(path, size, "%s", found.gl_pathv[0]);
	globfree(&found);
	return is_there;
}

/* Of whoever typed the command: doctor is run by sudo, as a rule. */
static const char *home(void)
{
	const char *text = getenv("SUDO_UID");
	const struct passwd *passwd = getpwuid(text ? (uid_t)strtoul(text, NULL, 10) : getuid());

	return passwd ? passwd->pw_dir : NULL;
}

static bool is_in_system(const char *command, char *path, size_t size)
{
	unsigned i;

	for (i = 0; i < AC_COUNT(system_places); i++) {
		char pattern[256];

		snprintf(pattern, sizeof(pattern), "%s/%s", system_places[i], command);
		if (find(pattern, path, size))
			return true;
	}
	return false;
}

static bool is_in_home(const char *command, char *path, size_t size)
{
	const char *directory = home();
	unsigned i;

	for (i = 0; directory && i < AC_COUNT(home_places); i++) {
		char pattern[AC_PATH_MAX];

		snprintf(pattern, sizeof(pattern), "%s/%s/%s", directory, home_places[i], command);
		if (find(pattern, path, size))
			return true;
	}
	return false;
}

void ac_doctor_tools(struct ac_doctor *doctor)
{
	char path[AC_PATH_MAX];
	unsigned i;

	for (i = 0; i < AC_COUNT(commands); i++) {
		if (is_in_system(commands[i], path, sizeof(path)))
			ac_doctor_note(doctor, "harness", "%s is %s", commands[i], path);
		else if (is_in_home(commands[i], path, sizeof(path)))
			ac_doctor_note(doctor, "harness",
				"%s is %s, in a home: name its place in [tools] packages of its "
				"profile, or install it below /usr/local or /opt",
				commands[i], path);
	}
}

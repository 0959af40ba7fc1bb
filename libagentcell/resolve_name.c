/* SPDX-License-Identifier: ISC */
/*
 * The part of the judgement that a canonical name decides alone.  No descriptor, no system call but
 * reading the local passwd file for other people's homes.
 */
#include "resolve.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "path.h"
#include "util.h"

static const char *refused_place(const char *path)
{
	static const char *const places[] = { "/proc", "/sys", "/dev", "/run", "/boot", "/etc",
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/root" };

	for (size_t i = 0; i < AC_COUNT(places); i++)
		if (ac_path_covers(places[i], path))
			return "it belongs to the system";
	return NULL;
}

static bool is_listed(const struct ac_strings *roots, const char *path)
{
	for (unsigned i = 0; i < roots->count; i++)
		if (ac_path_covers(roots->text[i], path))
			return true;
	return false;
}

static bool is_own_place(const struct ac_config *config, const char *path)
{
	const char *const places[] = { config->backup_directory, config->log_path,
		AC_SYSCONFDIR "/agentcell", AC_RUN_DIRECTORY };

	for (size_t i = 0; i < AC_COUNT(places); i++)
		if (*places[i] &&
			(ac_path_covers(places[i], path) || ac_path_covers(path, places[i])))
			return true;
	return false;
}

/* Somebody's home, or above one: reads /etc/passwd itself, since asking a directory service for
 * everybody may take minutes. */
static bool holds_a_home(const char *path)
{
	ac_autofclose FILE *stream = fopen("/etc/passwd", "re");
	struct passwd *entry;

	while (stream && (entry = fgetpwent(stream)))
		if (ac_path_is_canonical(entry->pw_dir) && ac_path_covers(path, entry->pw_dir))
			return true;
	return false;
}

const char *ac_resolve_refused_name(
	const struct ac_config *config, const char *home, const char *path)
{
	size_t home_length = strlen(home);
	const char *rule;

	if (strchr(path + 1, '/') == NULL)
		return "the root directory and what lies directly in it are refused";
	rule = refused_place(path);
	if (rule)
		return rule;
	/* Homes may be in /var (/home is a link to /var/home). */
	bool is_at_home = ac_path_covers("/var", home) && ac_path_covers(home, path);

	if (ac_path_covers("/var", path) && !is_at_home && !is_listed(&config->allowed_roots, path))
		return "it lies in /var, and allowed_roots in the configuration does not list it";
	if (is_own_place(config, path))
		return "agentcell keeps its own files there";
	if (ac_path_covers(path, home) || holds_a_home(path))
		return "it is a home directory or holds one; name a project in it";
	if (ac_path_covers(home, path) && path[home_length] == '/' && path[home_length + 1] == '.')
		return "it is a dot-directory of your home, where keys and settings live";
	return NULL;
}

/* SPDX-License-Identifier: ISC */
/* Builds the vectors.  No key of sudoers' answer gets through that is not listed here. */
#include "command.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

/* Grows as needed; owned by the function that builds it until finish(). */
struct vector {
	char **item;
	size_t count, room;
	bool has_failed;
};

static bool has_room(struct vector *vector)
{
	if (vector->count + 1 < vector->room)
		return true;
	size_t room = vector->room ? vector->room * 2 : 64;
	char **item = reallocarray(vector->item, room, sizeof *item);

	if (!item)
		return false;
	vector->item = item;
	vector->room = room;
	return true;
}

static void add(struct vector *vector, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct vector *vector, const char *format, ...)
{
	char *item = NULL;
	va_list args;

	va_start(args, format);
	int length = vasprintf(&item, format, args);
	va_end(args);
	if (length < 0)
		item = NULL;
	if (!item || !has_room(vector)) {
		free(item);
		vector->has_failed = true;
		return;
	}
	vector->item[vector->count++] = item;
}

static char **drop(struct vector *vector)
{
	for (size_t i = 0; i < vector->count; i++)
		free(vector->item[i]);
	free(vector->item);
	return NULL;
}

static char **finish(struct vector *vector)
{
	if (vector->has_failed || !has_room(vector))
		return drop(vector);
	vector->item[vector->count] = NULL;
	return vector->item;
}

/* Session logging is the site's and stays; all else that sudoers says of the command does not. */
static const char *const kept_keys[] = {
	"iolog_path",
	"iolog_stdin",
	"iolog_stdout",
	"iolog_stderr",
	"iolog_ttyin",
	"iolog_ttyout",
	"iolog_compress",
	"iolog_flush",
	"iolog_group",
	"iolog_mode",
	"iolog_user",
	"ignore_iolog_errors",
	"log_passwords",
	"passprompt_regex",
	"maxseq",
	"log_servers",
	"log_server_timeout",
	"log_server_keepalive",
	"log_server_cabundle",
	"log_server_peer_cert",
	"log_server_peer_key",
	"log_server_verify",
};

static void add_kept(struct vector *vector, char *const sudoers_info[])
{
	for (size_t i = 0; i < sizeof kept_keys / sizeof kept_keys[0]; i++) {
		const char *value = ac_vector_get(sudoers_info, kept_keys[i]);

		if (value)
			add(vector, "%s=%s", kept_keys[i], value);
	}
}

/* sudo's own timer is a second belt behind the listener's wall clock: 10 s later, or sudoers'. */
static unsigned long long belt_timeout(
	const struct ac_session_policy *session, char *const sudoers_info[])
{
	unsigned long long timeout = session->policy.limits.wall_clock_s + 10;
	unsigned long theirs;

	if (ac_number_parse(ac_vector_get(sudoers_info, "timeout"), 0x7fffffff, &theirs) == 0 &&
		theirs > 0 && theirs < timeout)
		timeout = theirs;
	return timeout < 0x7fffffff ? timeout : 0x7fffffff;
}

/* Its own, and those that shared projects need. */
static void add_groups(struct vector *vector, const struct ac_policy *policy)
{
	char text[12 * (AC_GROUPS_MAX + 1)];
	int used = snprintf(text, sizeof text, "%u", (unsigned)policy->gid);

	for (unsigned i = 0; i < policy->group_count && i < AC_GROUPS_MAX; i++)
		used += snprintf(text + used, sizeof text - (size_t)used, ",%u",
			(unsigned)policy->groups[i]);
	add(vector, "runas_groups=%s", text);
}

/* What a group shares its members write, whoever made it.  git sees to that with a chmod that sets the group
 * bit of a directory, which the cell refuses; without a need for it, it does not. */
static unsigned umask_of(const struct ac_policy *policy, const struct ac_request *request)
{
	unsigned mask = request->has_umask ? (unsigned)request->umask : 022;
	bool reads = !(mask & 050);

	return policy->group_count && reads ? mask & ~020u : mask;
}

static bool has_account(char **info, uid_t uid)
{
	unsigned long found;

	return ac_number_parse(ac_vector_get(info, "runas_uid"), (uid_t)-2, &found) == 0 &&
	       found == uid && found != 0;
}

char **ac_command_info_dup(const struct ac_session_policy *session,
	const struct ac_request *request, char *const sudoers_info[], int launcher_fd)
{
	const struct ac_policy *policy = &session->policy;
	struct vector vector = { .item = NULL };

	add(&vector, "command=%s", AC_LAUNCHER);
	add(&vector, "runas_user=%s", policy->role_user);
	add(&vector, "runas_uid=%u", (unsigned)policy->uid);
	add(&vector, "runas_gid=%u", (unsigned)policy->gid);
	add_groups(&vector, policy);
	add(&vector, "use_pty=true");
	add(&vector, "set_utmp=false");
	add(&vector, "closefrom=3");
	add(&vector, "preserve_fds=%d", launcher_fd);
	add(&vector, "umask=0%o", umask_of(policy, request));
	add(&vector, "umask_override=true");
	add(&vector, "cwd=%s", session->plan.cwd);
	add(&vector, "timeout=%llu", belt_timeout(session, sudoers_info));
	add_kept(&vector, sudoers_info);
	char **info = finish(&vector);

	/* Without runas_uid sudo would run the command as root. */
	if (info && !has_account(info, policy->uid))
		return drop(&vector);
	return info;
}

char **ac_command_argv_dup(
	const struct ac_session_policy *session, int launcher_fd, char *const argv[])
{
	struct vector vector = { .item = NULL };

	if (!argv[0])
		return NULL;
	add(&vector, "agentcell-launch");
	add(&vector, "%d", launcher_fd);
	add(&vector, "--");
	add(&vector, "%s", session->plan.command);
	for (size_t i = 1; argv[i]; i++)
		add(&vector, "%s", argv[i]);
	return finish(&vector);
}

static bool matches(const char *pattern, const char *entry, size_t name_length)
{
	size_t length = strlen(pattern);

	if (length && pattern[length - 1] == '*')
		return name_length >= length - 1 && strncmp(pattern, entry, length - 1) == 0;
	return length == name_length && strncmp(pattern, entry, length) == 0;
}

/* Set by the session itself, or able to change what a program loads: never taken from the user,
 * whatever an allowlist says. */
static bool is_reserved(const char *entry, size_t length)
{
	static const char *const names[] = { "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR",
		"XDG_*", "MAIL", "PWD", "LD_*", "SUDO_*", "AGENTCELL_*", "BASH_ENV", "ENV", "IFS",
		"NODE_OPTIONS", "PYTHONPATH", "PERL5LIB", "SSH_AUTH_SOCK", "DBUS_*", "DISPLAY",
		"WAYLAND_DISPLAY", "GIT_*" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (matches(names[i], entry, length))
			return true;
	return false;
}

static bool is_allowed(const struct ac_names *allowlist, const char *entry)
{
	size_t length = strcspn(entry, "=");

	if (length == 0 || entry[length] != '=' || is_reserved(entry, length))
		return false;
	/* An exported shell function is code, not a value. */
	if (strncmp(entry + length + 1, "() {", 4) == 0)
		return false;
	for (unsigned i = 0; i < allowlist->count; i++)
		if (matches(allowlist->name[i], entry, length))
			return true;
	return false;
}

static bool has_name(const struct vector *vector, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < vector->count; i++)
		if (strncmp(vector->item[i], name, length) == 0 && vector->item[i][length] == '=')
			return true;
	return false;
}

/* A profile may set its own. */
static void add_default(
	struct vector *vector, const char *name, const char *suffix, const char *value)
{
	if (!has_name(vector, name))
		add(vector, "%s=%s%s", name, value, suffix);
}

/* A variable that the profile sets is the profile's, whatever the user has. */
static bool has_same(const struct vector *vector, const char *entry)
{
	char name[AC_NAME_MAX];
	size_t length = strcspn(entry, "=");

	if (length >= sizeof name)
		return false;
	memcpy(name, entry, length);
	name[length] = '\0';
	return has_name(vector, name);
}

static const char *const proxy_names[] = { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
	"https_proxy", "all_proxy", "NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY" };

/* There is one way out, so every program is told of it: by the names that one or another reads.  The
 * session's own loopback is reached without it. */
static void add_proxy(struct vector *vector, const struct ac_policy *policy)
{
	if (!policy->egress_proxy[0])
		return;
	for (size_t i = 0; i < 6; i++)
		add_default(vector, proxy_names[i], policy->egress_proxy, "http://");
	add_default(vector, "NO_PROXY", "", "localhost,127.0.0.1,::1");
	add_default(vector, "no_proxy", "", "localhost,127.0.0.1,::1");
	add_default(vector, "NODE_USE_ENV_PROXY", "", "1");
}

/* What the user has there leads nowhere in the cell. */
static bool is_of_proxy(const struct ac_policy *policy, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (size_t i = 0; policy->egress_proxy[0] && i < AC_COUNT(proxy_names); i++)
		if (matches(proxy_names[i], entry, length))
			return true;
	return false;
}

char **ac_command_environment_dup(const struct ac_session_policy *session,
	const struct ac_harness *harness, char *const user_env[])
{
	const struct ac_policy *policy = &session->policy;
	const struct {
		const char *name, *value, *suffix;
	} defaults[] = {
		{ "HOME", policy->home, "" },
		{ "USER", policy->os_user, "" },
		{ "LOGNAME", policy->os_user, "" },
		{ "SHELL", "/bin/sh", "" },
		{ "PATH", "/usr/local/bin:/usr/bin:/bin", "" },
		{ "PWD", session->plan.cwd, "" },
		{ "TMPDIR", "/tmp", "" },
		{ "XDG_CONFIG_HOME", policy->home, "/.config" },
		{ "XDG_CACHE_HOME", policy->home, "/.cache" },
		{ "XDG_DATA_HOME", policy->home, "/.local/share" },
		{ "XDG_STATE_HOME", policy->home, "/.local/state" },
		{ "AGENTCELL_SESSION", policy->session_id, "" },
	};
	struct vector vector = { .item = NULL };

	for (unsigned i = 0; i < harness->environment.count; i++)
		add(&vector, "%s=%s", harness->environment.setting[i].name,
			harness->environment.setting[i].value);
	add_proxy(&vector, policy);
	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
		add_default(&vector, defaults[i].name, defaults[i].suffix, defaults[i].value);
	for (size_t i = 0; user_env && user_env[i]; i++)
		if (is_allowed(&policy->env_allowlist, user_env[i]) &&
			!is_allowed(&harness->env_allowlist, user_env[i]) &&
			!has_same(&vector, user_env[i]))
			add(&vector, "%s", user_env[i]);
	return finish(&vector);
}

static bool is_set(const struct ac_settings *settings, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (unsigned i = 0; i < settings->count; i++)
		if (matches(settings->setting[i].name, entry, length))
			return true;
	return false;
}

char **ac_command_private_dup(const struct ac_policy *policy, const struct ac_harness *harness,
	const struct ac_settings *keys, char *const user_env[])
{
	struct vector vector = { .item = NULL };

	for (unsigned i = 0; i < keys->count; i++)
		add(&vector, "%s=%s", keys->setting[i].name, keys->setting[i].value);
	for (size_t i = 0; user_env && user_env[i]; i++)
		if (is_allowed(&harness->env_allowlist, user_env[i]) &&
			!is_set(&harness->environment, user_env[i]) &&
			!is_of_proxy(policy, user_env[i]) && !has_same(&vector, user_env[i]))
			add(&vector, "%s", user_env[i]);
	return finish(&vector);
}

const char *ac_command_unsupported(char *const sudoers_info[])
{
	static const struct {
		const char *key, *words;
	} list[] = {
		{ "noexec", "NOEXEC in sudoers: an agent runs other programs" },
		{ "chroot", "a runchroot in sudoers: the session has a view of its own" },
		{ "selinux_role", "a SELinux ROLE in sudoers" },
		{ "selinux_type", "a SELinux TYPE in sudoers" },
		{ "apparmor_profile", "an AppArmor profile in sudoers" },
		{ "sudoedit", "sudoedit" },
	};

	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		const char *value = ac_vector_get(sudoers_info, list[i].key);

		if (value && strcmp(value, "false") != 0)
			return list[i].words;
	}
	return NULL;
}

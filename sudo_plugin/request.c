/* SPDX-License-Identifier: ISC */
/* sudo's vectors -> struct ac_request.  Pure; no allocation, no system call. */
#include "request.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define WISH_PREFIX "AGENTCELL_"

static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1
									 : NULL;
}

const char *ac_vector_get(char *const vector[], const char *name)
{
	const char *found = NULL;

	for (size_t i = 0; vector && vector[i]; i++) {
		const char *value = value_of(vector[i], name);

		if (value)
			found = value;
	}
	return found;
}

int ac_number_parse(const char *text, unsigned long limit, unsigned long *number)
{
	unsigned long value = 0;

	if (!text || !*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		unsigned long digit = (unsigned long)(*text - '0');

		if (value > (limit - digit) / 10)
			return -EINVAL;
		value = value * 10 + digit;
	}
	if (value > limit)
		return -EINVAL;
	*number = value;
	return 0;
}

/* Options that would give the agent something which its policy does not say. */
static const struct {
	const char *setting, *words;
} forbidden_options[] = {
	{ "sudoedit", "-e (sudoedit): it edits files as the account" },
	{ "run_shell", "-s (run a shell): name the command instead" },
	{ "login_shell", "-i (login shell): the account has none" },
	{ "implied_shell", "no command: name the command to run" },
	{ "preserve_environment", "-E: the environment comes from the policy" },
	{ "preserve_groups", "-P: the session has groups of its own" },
	{ "runas_group", "-g: the session has groups of its own" },
	{ "cmnd_chroot", "-R: the session has a file system view of its own" },
	{ "closefrom", "-C: no descriptor is passed on" },
	{ "remote_host", "-h: a session runs on this host" },
	{ "set_home", "-H: the session has a home of its own" },
	{ "selinux_role", "-r (SELinux role)" },
	{ "selinux_type", "-t (SELinux type)" },
	{ "apparmor_profile", "--apparmor-profile" },
};

static const char *find_forbidden(char *const settings[])
{
	for (size_t i = 0; i < sizeof forbidden_options / sizeof forbidden_options[0]; i++) {
		const char *value = ac_vector_get(settings, forbidden_options[i].setting);

		if (value && strcmp(value, "false") != 0)
			return forbidden_options[i].words;
	}
	return NULL;
}

static int read_groups(struct ac_request *request, const char *text, struct ac_err *err)
{
	request->group_count = 0;
	while (text && *text) {
		char number[16];
		size_t length = strcspn(text, ",");
		unsigned long gid;

		if (length >= sizeof number)
			return ac_fail(err, EINVAL, "sudo passed a bad group list");
		memcpy(number, text, length);
		number[length] = '\0';
		if (ac_number_parse(number, (gid_t)-2, &gid) != 0)
			return ac_fail(err, EINVAL, "sudo passed a bad group list");
		/* More groups than the kernel-side identity holds: the rest is dropped, which can
		 * only make the user reach less. */
		if (request->group_count < AC_GROUPS_MAX)
			request->groups[request->group_count++] = (gid_t)gid;
		text += length + (text[length] == ',');
	}
	return 0;
}

static int read_mask(struct ac_request *request, const char *text, struct ac_err *err)
{
	mode_t mask = 0;

	request->has_umask = false;
	if (!text)
		return 0;
	for (; *text; text++) {
		if (*text < '0' || *text > '7' || mask > 0777)
			return ac_fail(err, EINVAL, "sudo passed a bad umask");
		mask = mask << 3 | (mode_t)(*text - '0');
	}
	request->umask = mask & 0777;
	request->has_umask = true;
	return 0;
}

int ac_request_read(struct ac_request *request, char *const settings[], char *const user_info[],
	struct ac_err *err)
{
	unsigned long uid, gid;

	request->user = ac_vector_get(user_info, "user");
	request->cwd = ac_vector_get(user_info, "cwd");
	request->tty = ac_vector_get(user_info, "tty");
	request->host = ac_vector_get(user_info, "host");
	request->runas_user = ac_vector_get(settings, "runas_user");
	request->forbidden = find_forbidden(settings);
	if (!request->user || !*request->user || strlen(request->user) >= AC_NAME_MAX ||
		strchr(request->user, '/') || *request->user == '.')
		return ac_fail(err, EINVAL, "sudo passed no usable name of the invoking user");
	if (ac_number_parse(ac_vector_get(user_info, "uid"), (uid_t)-2, &uid) != 0 ||
		ac_number_parse(ac_vector_get(user_info, "gid"), (gid_t)-2, &gid) != 0)
		return ac_fail(
			err, EINVAL, "sudo passed no usable uid and gid of %s", request->user);
	request->uid = (uid_t)uid;
	request->gid = (gid_t)gid;
	int result = read_groups(request, ac_vector_get(user_info, "groups"), err);

	return result ? result : read_mask(request, ac_vector_get(user_info, "umask"), err);
}

static const char **wish_slot(struct ac_wishes *wishes, const char *entry, const char **value)
{
	const struct {
		const char *name, **slot;
	} known[] = {
		{ WISH_PREFIX "PATHS", &wishes->paths },
		{ WISH_PREFIX "READ_PATHS", &wishes->read_paths },
		{ WISH_PREFIX "EXCLUDE", &wishes->exclude },
		{ WISH_PREFIX "ENDPOINTS", &wishes->endpoints },
		{ WISH_PREFIX "RISK", &wishes->risk },
		{ WISH_PREFIX "WALL_CLOCK", &wishes->wall_clock },
		{ WISH_PREFIX "HARNESS", &wishes->harness },
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		*value = value_of(entry, known[i].name);
		if (*value)
			return known[i].slot;
	}
	return NULL;
}

static bool is_wish(const char *entry)
{
	return strncmp(entry, WISH_PREFIX, sizeof WISH_PREFIX - 1) == 0;
}

int ac_wishes_take(
	struct ac_wishes *wishes, char *env_add[], char *const user_env[], struct ac_err *err)
{
	size_t kept = 0;
	const char *value;

	*wishes = (struct ac_wishes){ 0 };
	for (size_t i = 0; user_env && user_env[i]; i++) {
		const char **slot = wish_slot(wishes, user_env[i], &value);

		if (slot)
			*slot = value;
	}
	for (size_t i = 0; env_add && env_add[i]; i++) {
		if (!is_wish(env_add[i])) {
			env_add[kept++] = env_add[i];
			continue;
		}
		const char **slot = wish_slot(wishes, env_add[i], &value);

		if (!slot)
			return ac_fail(err, EINVAL,
				"%.64s is no setting of agentcell; see agentcell_policy(8) for "
				"those "
				"there are",
				env_add[i]);
		*slot = value;
	}
	if (env_add)
		env_add[kept] = NULL;
	return 0;
}

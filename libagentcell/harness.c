/* SPDX-License-Identifier: ISC */
/*
 * Harness profiles: harness.d/<name>.conf.
 *
 * All profiles are read to find the one for a command, and a bad one refuses them all: a profile
 * that is left out silently would send its harness into another profile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_ini.h"
#include "config_value.h"
#include "harness_place.h"
#include "safefile.h"
#include "util.h"

#define SUFFIX ".conf"

static int take_commands(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return ac_commands_parse(text, &harness->commands, err);
}

static int take_variables(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return ac_environment_names_parse(text, &harness->env_allowlist, err);
}

static int take_endpoints(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return ac_endpoints_parse(text, harness->endpoints, &harness->endpoint_count, err);
}

static int take_tolerated(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return ac_hosts_parse(text, &harness->tolerated, err);
}

static int take_memory_floor(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return ac_size_parse(text, &harness->memory_floor_bytes, err);
}

static int take_nested_sandbox(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	bool allow = strcmp(text, "allow") == 0;

	if (!allow && strcmp(text, "deny") != 0)
		return ac_fail(err, EINVAL, "'%s' is neither allow nor deny", text);
	harness->nested_sandbox = allow;
	return 0;
}

static const struct key {
	const char *section, *key, *name;
	int (*parse)(struct ac_harness *harness, const char *text, struct ac_err *err);
	bool is_list;
} keys[] = {
	{ "harness", "commands", "harness.commands", take_commands, true },
	{ "harness", "env_allowlist", "harness.env_allowlist", take_variables, true },
	{ "harness", "endpoints", "harness.endpoints", take_endpoints, true },
	{ "harness", "tolerated", "harness.tolerated", take_tolerated, true },
	{ "harness", "memory_floor", "harness.memory_floor", take_memory_floor, false },
	{ "harness", "nested_sandbox", "harness.nested_sandbox", take_nested_sandbox, false },
	{ "view", "files", "view.files", ac_harness_take_files, true },
	{ "home", "seeds", "home.seeds", ac_harness_take_seeds, true },
	{ "home", "credential", "home.credential", ac_harness_take_credential, true },
	{ "home", "keep", "home.keep", ac_harness_take_keep, true },
	{ "tools", "packages", "tools.packages", ac_harness_take_packages, true },
};

struct state {
	struct ac_harness *harness;
	bool seen[AC_COUNT(keys)];
};

static bool is_section(const char *section)
{
	unsigned i;

	for (i = 0; i < AC_COUNT(keys); i++)
		if (strcmp(keys[i].section, section) == 0)
			return true;
	return strcmp(section, "environment") == 0 || strcmp(section, "keys") == 0;
}

static void take_key(struct state *state, struct ac_ini_errors *errors, const char *section,
	const char *name, const char *value)
{
	struct ac_err err = { 0 };
	unsigned i;

	for (i = 0; i < AC_COUNT(keys); i++)
		if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].key, name) == 0)
			break;
	if (i == AC_COUNT(keys)) {
		ac_ini_error(errors, "unknown key '%s' in [%s]", name, section);
		return;
	}
	if (state->seen[i] && !keys[i].is_list)
		ac_ini_error(errors, "'%s' stands there twice", name);
	else if (keys[i].parse(state->harness, value, &err) < 0)
		ac_ini_error(errors, "%s: %s", name, err.text);
	state->seen[i] = true;
}

/* In [environment] and [keys] any name may stand; elsewhere those of the table. */
static void take(void *context, struct ac_ini_errors *errors, const char *section, const char *name,
	const char *value)
{
	struct state *state = context;
	struct ac_harness *harness = state->harness;
	struct ac_err err = { 0 };
	int rc = 0;

	if (!is_section(section)) {
		if (!name)
			ac_ini_error(errors, "unknown section [%s]", section);
		return;
	}
	if (!name)
		return;
	if (strcmp(section, "environment") == 0)
		rc = ac_settings_add(&harness->environment, name, value, &err);
	else if (strcmp(section, "keys") == 0)
		rc = ac_harness_add_key(harness, name, value, &err);
	else
		take_key(state, errors, section, name, value);
	if (rc < 0)
		ac_ini_error(errors, "%s: %s", name, err.text);
}

static struct ac_harness *check_dup(int fd, const char *name,
	void (*report)(void *context, const char *text), void *context, struct ac_err *err)
{
	struct ac_ini_errors errors = {
		.file = name, .report = report, .context = context, .err = err
	};
	ac_autofree struct ac_harness *made = calloc(1, sizeof(*made));
	struct state state = { .harness = made };

	if (!made) {
		ac_fail_errno(err, ENOMEM, "read %s", name);
		return NULL;
	}
	return ac_ini_read(fd, take, &state, &errors) < 0 ? NULL : AC_TAKE(made);
}

int ac_harness_check(int fd, const char *name, struct ac_harness *harness,
	void (*report)(void *context, const char *text), void *context, struct ac_err *err)
{
	ac_autofree struct ac_harness *made = check_dup(fd, name, report, context, err);

	if (!made)
		return -EBADMSG;
	*harness = *made;
	return 0;
}

static int read_profile(const char *directory, int directory_fd, const char *name,
	struct ac_harness **harness, struct ac_err *err)
{
	char path[AC_PATH_MAX], file[AC_NAME_MAX + sizeof(SUFFIX)], checked[AC_NAME_MAX];
	ac_autoclose int fd = -1;
	int rc = ac_name_parse(name, checked, err);

	if (rc < 0)
		return ac_fail_within(err, "harness");
	snprintf(file, sizeof(file), "%s" SUFFIX, checked);
	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path))
		return ac_fail(err, ENAMETOOLONG, "harness directory %.64s...", directory);
	fd = ac_open_trusted(directory_fd, file, AC_INI_FILE_MAX, err);
	if (fd < 0)
		return ac_fail_within(err, "harness profile %s", path);
	*harness = check_dup(fd, path, NULL, NULL, err);
	if (!*harness)
		return -EBADMSG;
	memcpy((*harness)->name, checked, sizeof((*harness)->name));
	return 0;
}

static bool has_command(const struct ac_harness *harness, const char *command)
{
	unsigned i;

	for (i = 0; i < harness->commands.count; i++)
		if (strcmp(harness->commands.name[i], command) == 0)
			return true;
	return false;
}

static int is_profile(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > strlen(SUFFIX) && entry->d_name[0] != '.' &&
	       strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
}

struct search {
	const char *directory, *command;
	int directory_fd;
	struct ac_harness *found; /* or NULL */
};

static int consider(struct search *search, const char *file, struct ac_err *err)
{
	char name[AC_NAME_MAX] = "";
	size_t length = strlen(file) - strlen(SUFFIX);
	ac_autofree struct ac_harness *profile = NULL;
	int rc;

	if (length >= sizeof(name))
		return ac_fail(err, EINVAL, "harness profile %s: the name is too long", file);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(name, file, length);
	rc = read_profile(search->directory, search->directory_fd, name, &profile, err);
	if (rc < 0 || !profile || !has_command(profile, search->command))
		return rc;
	if (search->found)
		return ac_fail(err, EEXIST,
			"command %s is claimed by two harness profiles, %s and %s", search->command,
			search->found->name, name);
	search->found = AC_TAKE(profile);
	return 0;
}

static int search_all(struct search *search, struct ac_err *err)
{
	struct dirent **entries = NULL;
	int count = scandirat(search->directory_fd, ".", &entries, is_profile, alphasort);
	int i, rc = 0;

	if (count < 0)
		return ac_fail_errno(err, errno, "list %s", search->directory);
	for (i = 0; i < count; i++) {
		if (rc == 0)
			rc = consider(search, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

struct ac_harness *ac_harness_pick_dup(const char *directory, const char *name, const char *command,
	const char *fallback, struct ac_err *err)
{
	ac_autoclose int directory_fd = ac_open_trusted_directory(directory, err);
	const char *slash = command ? strrchr(command, '/') : NULL;
	struct search search = { .directory = directory,
		.directory_fd = directory_fd,
		.command = slash ? slash + 1 : command };
	int rc = 0;

	if (directory_fd < 0)
		return NULL;
	if (!name && command)
		rc = search_all(&search, err);
	if (rc == 0 && !search.found)
		rc = read_profile(
			directory, directory_fd, name ? name : fallback, &search.found, err);
	if (rc == 0)
		return search.found;
	free(search.found);
	return NULL;
}

int ac_harness_pick(const char *directory, const char *name, const char *command,
	const char *fallback, struct ac_harness *harness, struct ac_err *err)
{
	struct ac_err own = { 0 };
	ac_autofree struct ac_harness *found = NULL;

	err = err ? err : &own;
	found = ac_harness_pick_dup(directory, name, command, fallback, err);
	if (!found)
		return -err->code;
	*harness = *found;
	return 0;
}

const char *ac_harness_key(unsigned i)
{
	return i < AC_COUNT(keys) ? keys[i].name : NULL;
}

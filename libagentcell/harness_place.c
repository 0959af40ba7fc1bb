/* SPDX-License-Identifier: ISC */
/*
 * Files, seeds, credentials, kept paths, keys and packages of a harness profile.  A source is the bare
 * name of a file in <harness.d>/files: nothing that a profile names lies elsewhere.
 */
#include "harness_place.h"

#include <errno.h>
#include <string.h>

#include "config_value.h"
#include "path.h"
#include "placement.h"
#include "util.h"

#define FILES_DIRECTORY AC_HARNESS_DIRECTORY "/files/"

static int add(struct ac_harness *harness, enum ac_placement_kind kind, const char *target,
	const char *name, struct ac_err *err)
{
	struct ac_placements *placements = &harness->placements;
	struct ac_placement *placement = &placements->placement[placements->count];
	unsigned i;

	if (placements->count == AC_PLACEMENTS_MAX)
		return ac_fail(err, E2BIG, "more than %d files", AC_PLACEMENTS_MAX);
	memset(placement, 0, sizeof(*placement));
	placement->kind = kind;
	memcpy(placement->target, target, strlen(target) + 1);
	if (name && (!*name || strchr(name, '/') || name[0] == '.' ||
			    snprintf(placement->source, sizeof(placement->source),
				    FILES_DIRECTORY "%s", name) >= (int)sizeof(placement->source)))
		return ac_fail(
			err, EINVAL, "'%s' must be the name of a file in " FILES_DIRECTORY, name);
	if (!ac_placement_is_valid(placement))
		return ac_fail(err, EINVAL,
			"'%s' must be a path %s, without . .. or doubled slashes", target,
			kind == AC_PLACE_FILE ? "below /etc" : "relative to a home");
	for (i = 0; i < placements->count; i++)
		if (strcmp(placements->placement[i].target, target) == 0)
			return ac_fail(err, EEXIST, "'%s' stands there twice", target);
	placements->count++;
	return 0;
}

/* "target=name" words, decoded by the list parser. */
static int take_pairs(struct ac_harness *harness, enum ac_placement_kind kind, const char *text,
	struct ac_err *err)
{
	ac_autofree struct ac_strings *words = calloc(1, sizeof(*words));
	unsigned i;
	int rc;

	if (!words)
		return ac_fail_errno(err, ENOMEM, "read a harness profile");
	rc = ac_strings_parse(text, AC_FORM_PATTERN, words, err);
	for (i = 0; rc == 0 && i < words->count; i++) {
		char *equals = strrchr(words->text[i], '=');

		if (!equals)
			return ac_fail(
				err, EINVAL, "'%s' is not of the form target=file", words->text[i]);
		*equals = '\0';
		rc = add(harness, kind, words->text[i], equals + 1, err);
	}
	return rc;
}

static int take_paths(struct ac_harness *harness, enum ac_placement_kind kind, const char *text,
	struct ac_err *err)
{
	ac_autofree struct ac_strings *words = calloc(1, sizeof(*words));
	unsigned i;
	int rc;

	if (!words)
		return ac_fail_errno(err, ENOMEM, "read a harness profile");
	rc = ac_strings_parse(text, AC_FORM_PATTERN, words, err);
	for (i = 0; rc == 0 && i < words->count; i++)
		rc = add(harness, kind, words->text[i], NULL, err);
	return rc;
}

int ac_harness_take_files(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return take_pairs(harness, AC_PLACE_FILE, text, err);
}

int ac_harness_take_seeds(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return take_pairs(harness, AC_PLACE_SEED, text, err);
}

int ac_harness_take_credential(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return take_paths(harness, AC_PLACE_CREDENTIAL, text, err);
}

int ac_harness_take_keep(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	return take_paths(harness, AC_PLACE_KEEP, text, err);
}

/* A pattern below a home: what fits is bound whole, so it must name more than a dot-directory. */
int ac_harness_take_packages(struct ac_harness *harness, const char *text, struct ac_err *err)
{
	int rc = ac_strings_parse(text, AC_FORM_HOME, &harness->packages, err);
	unsigned i;

	for (i = 0; rc == 0 && i < harness->packages.count; i++) {
		const char *pattern = harness->packages.text[i];

		if (pattern[0] == '/' || !strchr(pattern, '/') || pattern[0] == '*')
			return ac_fail(err, EINVAL,
				"'%s' must be a path of two or more parts below a home; absolute "
				"ones "
				"belong into tool_paths",
				pattern);
	}
	return rc;
}

int ac_settings_add(
	struct ac_settings *settings, const char *name, const char *value, struct ac_err *err)
{
	struct ac_setting *setting = &settings->setting[settings->count];
	unsigned i;
	int rc = ac_environment_name_check(name, err);

	if (rc < 0)
		return rc;
	for (i = 0; i < settings->count; i++)
		if (strcmp(settings->setting[i].name, name) == 0)
			return ac_fail(err, EEXIST, "it stands there twice");
	if (settings->count == AC_SETTINGS_MAX)
		return ac_fail(err, E2BIG, "more than %d variables", AC_SETTINGS_MAX);
	if (strlen(value) >= sizeof(setting->value))
		return ac_fail(err, E2BIG, "the value is too long");
	memcpy(setting->name, name, strlen(name) + 1);
	memcpy(setting->value, value, strlen(value) + 1);
	settings->count++;
	return 0;
}

int ac_harness_add_key(
	struct ac_harness *harness, const char *name, const char *value, struct ac_err *err)
{
	char path[AC_PATH_MAX];

	if (ac_path_join(path, sizeof(path), "/", value) != 0 || !*value ||
		strcmp(path + (value[0] != '/'), value) != 0 || strcmp(path, "/") == 0)
		return ac_fail(err, EINVAL,
			"'%s' must be an absolute path, or one below a home, of the file that "
			"holds "
			"the key",
			value);
	return ac_settings_add(&harness->keys, name, value, err);
}

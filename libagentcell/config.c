/* SPDX-License-Identifier: ISC */
/*
 * agentcell.conf, read by the table of config_keys.c.
 *
 * A list key may stand on several lines, each adding to it; the first one replaces the default.
 * Any other key may stand there once.  All errors of a file are found before it is refused.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "config_ini.h"
#include "config_keys.h"
#include "safefile.h"
#include "util.h"

struct state {
	struct ac_config *config;
	bool seen[AC_CONFIG_ENTRIES_MAX];
};

static void take_section(struct ac_ini_errors *errors, const char *section)
{
	const struct ac_config_entry *entry;

	for (entry = ac_config_entries; entry->section; entry++)
		if (strcmp(entry->section, section) == 0)
			return;
	ac_ini_error(errors, "unknown section [%s]", section);
}

static const struct ac_config_entry *find(const char *section, const char *key)
{
	const struct ac_config_entry *entry;

	for (entry = ac_config_entries; entry->section; entry++)
		if (strcmp(entry->section, section) == 0 && strcmp(entry->key, key) == 0)
			return entry;
	return NULL;
}

static void take(void *context, struct ac_ini_errors *errors, const char *section, const char *key,
	const char *value)
{
	struct state *state = context;
	const struct ac_config_entry *entry;
	struct ac_err err = { 0 };
	bool *seen;

	if (!key) {
		take_section(errors, section);
		return;
	}
	entry = find(section, key);
	if (!entry) {
		ac_ini_error(errors, "unknown key '%s' in [%s]", key, section);
		return;
	}
	seen = &state->seen[entry - ac_config_entries];
	if (*seen && !entry->is_list) {
		ac_ini_error(errors, "'%s' stands there twice", key);
		return;
	}
	if (!*seen && entry->is_list)
		memset((char *)state->config + entry->offset, 0, sizeof(unsigned));
	*seen = true;
	if (entry->parse(state->config, entry->offset, value, &err) < 0)
		ac_ini_error(errors, "%s: %s", key, err.text);
}

/* Into a struct that is all zeros. */
static int fill_defaults(struct ac_config *config, struct ac_err *err)
{
	const struct ac_config_entry *entry;

	for (entry = ac_config_entries; entry->section; entry++)
		if (entry->parse(config, entry->offset, entry->fallback, err) < 0)
			return ac_fail_within(err, "default of %s", entry->name);
	return 0;
}

static void check_whole(struct ac_config *config, struct ac_ini_errors *errors)
{
	errors->line = 0;
	if (config->wall_clock_limit_s > config->wall_clock_max_s)
		ac_ini_error(errors, "wall_clock_limit is longer than wall_clock_max");
	config->limits.wall_clock_s = config->wall_clock_limit_s;
}

static struct ac_config *read_dup(int fd, const char *name,
	void (*report)(void *context, const char *text), void *context, struct ac_err *err)
{
	struct ac_ini_errors errors = {
		.file = name, .report = report, .context = context, .err = err
	};
	ac_autofree struct ac_config *made = calloc(1, sizeof(*made));
	struct state state = { .config = made };

	if (!made) {
		ac_fail_errno(err, ENOMEM, "read %s", name);
		return NULL;
	}
	if (fill_defaults(made, err) < 0)
		return NULL;
	ac_ini_read(fd, take, &state, &errors);
	check_whole(made, &errors);
	return errors.count ? NULL : AC_TAKE(made);
}

int ac_config_check(int fd, const char *name, struct ac_config *config,
	void (*report)(void *context, const char *text), void *context, struct ac_err *err)
{
	ac_autofree struct ac_config *made = read_dup(fd, name, report, context, err);

	if (!made)
		return -EBADMSG;
	*config = *made;
	return 0;
}

int ac_config_read(const char *path, struct ac_config *config, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(AT_FDCWD, path, AC_INI_FILE_MAX, err);

	return fd < 0 ? fd : ac_config_check(fd, path, config, NULL, NULL, err);
}

struct ac_config *ac_config_read_dup(const char *path, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(AT_FDCWD, path, AC_INI_FILE_MAX, err);

	return fd < 0 ? NULL : read_dup(fd, path, NULL, NULL, err);
}

const char *ac_config_key(unsigned i)
{
	unsigned count = 0;

	while (count < i && ac_config_entries[count].section)
		count++;
	return ac_config_entries[count].name;
}

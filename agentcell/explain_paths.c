/* SPDX-License-Identifier: ISC */
/* The paths of a session, judged by the same function as in the sudo plugin, as the caller. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "output.h"
#include "path.h"
#include "util.h"

static void add_problem(struct ac_explain *explain, const char *where, const struct ac_err *err)
{
	struct ac_err full = *err;

	ac_fail_within(&full, "%s", where);
	ac_out_append(explain->problems, full.text);
}

static bool is_below_a_root(const struct ac_strings *roots, const char *path)
{
	unsigned i;

	for (i = 0; i < roots->count; i++)
		if (ac_path_covers(roots->text[i], path))
			return true;
	return roots->count == 0;
}

static void judge(struct ac_explain *explain, json_object *list, const char *where,
	const char *name, enum ac_resolve_use use, bool is_configured)
{
	ac_autofree struct ac_path_entry *entry = calloc(1, sizeof(*entry));
	struct ac_err err = { 0 };
	int fd;

	if (!entry)
		return;
	if (explain->who.uid == 0) {
		ac_out_append(list, name); /* nobody to judge as: shown as it was asked for */
		return;
	}
	fd = ac_resolve_declared(explain->config, &explain->who, explain->home, explain->cwd_fd,
		name, use, entry, &err);
	if (fd == -ENOENT && is_configured && use != AC_RESOLVE_WRITE)
		return; /* the admin may list what only some machines have */
	if (fd < 0) {
		add_problem(explain, where, &err);
		return;
	}
	close(fd);
	ac_out_append(list, entry->path);
	if (use == AC_RESOLVE_WRITE &&
		!is_below_a_root(&explain->config->project_roots, entry->path)) {
		ac_fail(&err, EPERM, "%s is not below any of project_roots", entry->path);
		add_problem(explain, where, &err);
	}
}

/* Takes the next name off *rest: colons part them, "\:" is a colon.  NULL at the end. */
static char *next_name(char **rest)
{
	char *name = *rest, *from = name, *to = name;

	if (!name)
		return NULL;
	while (*from && *from != ':') {
		if (from[0] == '\\' && from[1] == ':')
			from++;
		*to++ = *from++;
	}
	*rest = *from ? from + 1 : NULL;
	*to = '\0';
	return name;
}

static void judge_setting(
	struct ac_explain *explain, json_object *list, const char *setting, enum ac_resolve_use use)
{
	const char *text = ac_explain_setting(setting);
	ac_autofree char *copy = text ? strdup(text) : NULL;
	char *rest = copy, *name;

	while ((name = next_name(&rest)))
		if (*name)
			judge(explain, list, setting, name, use, false);
}

static void judge_configured(struct ac_explain *explain, json_object *list, const char *key,
	const struct ac_strings *strings, enum ac_resolve_use use)
{
	unsigned i;

	for (i = 0; i < strings->count; i++)
		judge(explain, list, key, strings->text[i], use, true);
}

static json_object *new_list(struct ac_explain *explain, const char *key)
{
	json_object *list = ac_out_array();

	ac_out_add_value(explain->result, key, list);
	return list;
}

void ac_explain_paths(struct ac_explain *explain)
{
	const struct ac_config *config = explain->config;
	json_object *list = new_list(explain, "write_paths");
	unsigned i;

	if (ac_explain_setting("AGENTCELL_PATHS"))
		judge_setting(explain, list, "AGENTCELL_PATHS", AC_RESOLVE_WRITE);
	else if (config->declared_paths.count)
		judge_configured(
			explain, list, "declared_paths", &config->declared_paths, AC_RESOLVE_WRITE);
	else
		judge(explain, list, "current directory", ".", AC_RESOLVE_WRITE, false);
	list = new_list(explain, "read_paths");
	judge_setting(explain, list, "AGENTCELL_READ_PATHS", AC_RESOLVE_READ);
	judge_configured(explain, list, "read_paths", &config->read_paths, AC_RESOLVE_READ);
	list = new_list(explain, "excluded_paths");
	judge_setting(explain, list, "AGENTCELL_EXCLUDE", AC_RESOLVE_EXCLUDE);
	judge_configured(
		explain, list, "excluded_paths", &config->excluded_paths, AC_RESOLVE_EXCLUDE);
	list = new_list(explain, "tool_paths");
	judge_configured(explain, list, "tool_paths", &config->tool_paths, AC_RESOLVE_TOOL);
	list = new_list(explain, "bait");
	for (i = 0; i < config->bait.count; i++)
		ac_out_append(list, config->bait.text[i]);
}

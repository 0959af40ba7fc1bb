/* SPDX-License-Identifier: ISC */
/* Selecting differences by path, and putting one into words. */
#include "backup_select.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "util.h"

/* As ac_path_covers, for paths of any length. */
static bool covers(const char *root, const char *path)
{
	size_t length = strlen(root);

	return !strncmp(root, path, length) && (!path[length] || path[length] == '/');
}

bool ac_selection_has(const struct ac_selection *selection, const char *path)
{
	for (unsigned i = 0; i < selection->count; i++)
		if (covers(selection->paths[i], path))
			return true;
	return !selection->count;
}

bool ac_selection_is_below(const struct ac_selection *selection, const char *path)
{
	for (unsigned i = 0; i < selection->count; i++)
		if (covers(path, selection->paths[i]))
			return true;
	return false;
}

/* Follows the path's components below the root that covers it. */
static bool exists(const struct ac_manifest *manifest, const char *path)
{
	const struct ac_entry *entry = ac_entry_at(manifest, manifest->directories[0].first);

	for (uint32_t i = 0; i < manifest->directories[0].count;
		i++, entry = ac_entry_next(entry)) {
		const struct ac_entry *at = entry;
		const char *rest = path + entry->name_length;

		if (!covers(ac_entry_name(entry), path))
			continue;
		while (at && *rest == '/') {
			const char *end = strchrnul(++rest, '/');

			at = at->type == AC_ENTRY_DIRECTORY
				     ? ac_manifest_lookup(
					       manifest, at->first, rest, (size_t)(end - rest))
				     : NULL;
			rest = end;
		}
		if (at)
			return true;
	}
	return false;
}

int ac_selection_check(const struct ac_selection *selection, const struct ac_manifest *before,
	const struct ac_manifest *after, struct ac_err *err)
{
	for (unsigned i = 0; i < selection->count; i++) {
		const char *path = selection->paths[i];

		if (!exists(before, path) && !(after && exists(after, path)))
			return ac_fail(err, ENOENT,
				"%s is not in the backup; `agentcell backups` shows the paths of "
				"each",
				path);
	}
	return 0;
}

char *ac_difference_path_dup(const struct ac_difference *difference)
{
	if (difference->old)
		return ac_manifest_path_dup(
			difference->before, difference->old_directory, difference->old, true);
	return ac_manifest_path_dup(
		difference->after, difference->new_directory, difference->new, true);
}

static char letter(const struct ac_entry *entry)
{
	static const char letters[] = "?fdlpscb";

	return entry ? letters[entry->type & 7] : '-';
}

static const char *target(const struct ac_entry *entry)
{
	const struct ac_side *side = entry && entry->type == AC_ENTRY_SYMLINK
					     ? ac_entry_find(entry, AC_SIDE_TARGET)
					     : NULL;

	return side ? ac_side_bytes(side) : NULL;
}

void ac_difference_tell(
	const struct ac_difference *difference, const char *path, struct ac_backup_change *change)
{
	const struct ac_entry *old = difference->old
					     ? ac_entry_full(difference->before, difference->old)
					     : NULL;
	const struct ac_entry *new = difference->new
					     ? ac_entry_full(difference->after, difference->new)
					     : NULL;

	*change = (struct ac_backup_change){ .change = difference->change,
		.path = path,
		.old_type = letter(old),
		.new_type = letter(new),
		.old_size = old ? old->size : 0,
		.new_size = new ? new->size : 0,
		.old_mode = old ? old->mode : 0,
		.new_mode = new ? new->mode : 0,
		.old_target = target(old),
		.new_target = target(new) };
}

bool ac_is_restore_leftover(const char *path)
{
	const size_t prefix = strlen(AC_RESTORE_PREFIX);
	const char *name = path;

	while (name) {
		const char *end = strchrnul(name, '/');

		if (!strncmp(name, AC_RESTORE_PREFIX, prefix) &&
			strspn(name + prefix, "0123456789abcdef") == 16 &&
			name + prefix + 16 == end)
			return true;
		name = *end ? end + 1 : NULL;
	}
	return false;
}

int ac_manifest_exclude(
	const struct ac_manifest *manifest, struct ac_strings *exclude, struct ac_err *err)
{
	struct json_object *meta = json_tokener_parse(manifest->meta), *list = NULL;
	int result = 0;

	exclude->count = 0;
	if (meta && json_object_object_get_ex(meta, "exclude", &list) &&
		json_object_is_type(list, json_type_array)) {
		size_t count = json_object_array_length(list);

		for (size_t i = 0; !result && i < count; i++) {
			const char *text = json_object_get_string(
				json_object_array_get_idx(list, i));

			if (exclude->count >= AC_PATHS_MAX || !text ||
				ac_unescape(exclude->text[exclude->count], sizeof exclude->text[0],
					text) < 0)
				result = ac_fail(err, EBADMSG,
					"the backup's list of excluded patterns is damaged");
			else
				exclude->count++;
		}
	}
	json_object_put(meta);
	return result;
}

/* SPDX-License-Identifier: ISC */
/* What is in the caller's own store, and finding one backup in it. */
#include "backup.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "backup_manifest.h"
#include "backup_prune.h"
#include "lifecycle.h"
#include "path.h"
#include "util.h"

int ac_backup_open(const char *directory, struct ac_err *err)
{
	return ac_store_open(directory, err);
}

int ac_backup_remove(int store_fd, const char *id, struct ac_err *err)
{
	return ac_prune_one(store_fd, id, err);
}

static uint64_t number(struct json_object *totals, const char *key)
{
	struct json_object *value = NULL;

	return totals && json_object_object_get_ex(totals, key, &value)
		       ? json_object_get_uint64(value)
		       : 0;
}

static void read_meta(const struct ac_manifest *head, struct ac_backup_info *info)
{
	struct json_object *meta = json_tokener_parse(head->meta), *totals = NULL, *session = NULL;

	if (meta)
		json_object_object_get_ex(meta, "totals", &totals);
	info->totals = (struct ac_backup_totals){ .files = number(totals, "files"),
		.directories = number(totals, "directories"),
		.others = number(totals, "others"),
		.bytes = number(totals, "bytes"),
		.new_bytes = number(totals, "new_bytes"),
		.torn = number(totals, "torn"),
		.unreadable = number(totals, "unreadable") };
	if (meta && json_object_object_get_ex(meta, "session_id", &session)) {
		const char *text = json_object_get_string(session);
		size_t length = text ? strlen(text) : 0;

		if (length < sizeof info->session_id && length)
			memcpy(info->session_id, text, length);
	}
	json_object_put(meta);
}

static int tell(int store_fd, const struct ac_usage_backup *usage,
	int (*each)(void *context, const struct ac_backup_info *info), void *context,
	struct ac_err *err)
{
	struct ac_backup_info info = { .own_bytes = usage->own_bytes + usage->manifest_bytes,
		.shared_bytes = usage->shared_bytes,
		.is_damaged = usage->is_damaged,
		.meta = "{}" };
	struct ac_manifest head;
	struct ac_store_state state;
	int result = ac_store_state_read(store_fd, usage->id, &state, err);

	if (result)
		return result;
	memcpy(info.id, usage->id, sizeof info.id);
	info.is_live = state.live;
	info.cause = state.cause;
	info.is_kept = state.is_known && !state.live && state.cause == AC_CAUSE_NONE;
	if (!ac_manifest_peek(&head, store_fd, usage->id, NULL)) {
		info.started = head.header.started_s;
		info.meta = head.meta;
		read_meta(&head, &info);
	}
	result = each(context, &info);
	ac_manifest_fini(&head);
	return result;
}

int ac_backup_list(int store_fd, int (*each)(void *context, const struct ac_backup_info *info),
	void *context, struct ac_err *err)
{
	struct ac_usage usage;
	ac_autoclose int lock = ac_store_lock(store_fd, false, 20, err);
	int result = lock < 0 ? lock : ac_usage_init(&usage, store_fd, err);

	if (result)
		return result;
	for (unsigned i = 0; !result && i < usage.backup_count; i++)
		result = tell(store_fd, &usage.backups[i], each, context, err);
	ac_usage_fini(&usage);
	return result;
}

static bool is_meant(const char *id, const char *text)
{
	const char *dash = strrchr(id, '-');

	return !strcmp(id, text) || (dash && !strcmp(dash + 1, text));
}

/* A backup of a restore holds the same paths as the restored one; a person who asks for none by name
 * means the last session's. */
static bool has_path(int store_fd, const char *id, const char *path)
{
	struct ac_store_state state;
	struct ac_manifest head;
	bool found = false;

	if (ac_store_state_read(store_fd, id, &state, NULL) ||
		(state.is_known && !state.live && state.cause == AC_CAUSE_NONE) ||
		ac_manifest_peek(&head, store_fd, id, NULL))
		return false;
	for (uint64_t at = 0; at < head.roots_length; at += strlen(head.roots + at) + 1)
		found |= !path || ac_path_covers(head.roots + at, path);
	ac_manifest_fini(&head);
	return found;
}

int ac_backup_find(int store_fd, const char *text, const char *path, char id[AC_BACKUP_ID_SIZE],
	struct ac_err *err)
{
	ac_autofree struct ac_store_id *ids = NULL;
	unsigned count = 0;
	int result = ac_store_ids(store_fd, &ids, &count, err);

	if (result)
		return result;
	for (unsigned i = 0; i < count; i++)
		if (text ? is_meant(ids[i].text, text) : has_path(store_fd, ids[i].text, path)) {
			memcpy(id, ids[i].text, sizeof ids[i].text);
			return 0;
		}
	if (text)
		return ac_fail(
			err, ENOENT, "there is no backup %s; `agentcell backups` lists them", text);
	return ac_fail(err, ENOENT, "there is no backup of a session that covers %s",
		path ? path : "anything");
}

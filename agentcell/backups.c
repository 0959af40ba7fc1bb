/* SPDX-License-Identifier: ISC */
/* agentcell backups: what can be restored, what it costs, whether it is whole. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "lifecycle.h"
#include "output.h"
#include "store.h"
#include "util.h"

#define SYNOPSIS "backups [--json] [--store DIR] [--verify ID|all] [--remove ID]"

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "store", required_argument, NULL, 'S' },
	{ "verify", required_argument, NULL, 'v' },
	{ "remove", required_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct ac_out_column columns[] = {
	{ "backup_id", "BACKUP" },
	{ "since", "MADE" },
	{ "end", "SESSION" },
	{ "files", "FILES" },
	{ "size", "SIZE" },
	{ "own", "OWN" },
	{ "shared", "SHARED" },
	{ "path", "PATH" },
	{ NULL, NULL },
};

static void add_size(json_object *object, const char *key, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	unsigned unit = 0;
	double size = (double)bytes;
	char text[32];

	for (; size >= 1024 && unit < sizeof(units) - 2; unit++)
		size /= 1024;
	snprintf(text, sizeof(text), unit && size < 10 ? "%.1f%c" : "%.0f%c", size, units[unit]);
	ac_out_add(object, key, text);
}

static const char *end_of(const struct ac_backup_info *info)
{
	if (info->is_damaged)
		return "DAMAGED";
	if (info->is_live)
		return "running";
	return info->is_kept ? "kept" : ac_cause_name(info->cause);
}

static void add_paths(json_object *object, const char *meta)
{
	json_object *parsed = json_tokener_parse(meta), *paths = NULL;

	if (parsed && json_object_object_get_ex(parsed, "paths", &paths)) {
		char text[4096];
		size_t count = json_object_array_length(paths);

		/* Escaped when the manifest was written, so it is added as it is. */
		ac_out_add_value(object, "paths", json_object_get(paths));
		snprintf(text, sizeof(text), "%s%s",
			count ? json_object_get_string(json_object_array_get_idx(paths, 0)) : "",
			count > 1 ? " ..." : "");
		ac_out_add_value(object, "path", json_object_new_string(text));
	}
	json_object_put(parsed);
}

static void add_environment(json_object *object, const char *meta)
{
	json_object *parsed = json_tokener_parse(meta), *environment = NULL;

	if (parsed && json_object_object_get_ex(parsed, "environment", &environment))
		ac_out_add_value(object, "environment", json_object_get(environment));
	json_object_put(parsed);
}

static int add_backup(void *context, const struct ac_backup_info *info)
{
	json_object *backups = context, *object = ac_out_object();
	time_t started = (time_t)info->started;
	char text[64] = "";
	struct tm tm;

	if (localtime_r(&started, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	ac_out_add(object, "backup_id", info->id);
	ac_out_add(object, "session_id", info->session_id);
	ac_out_add_number(object, "started", info->started);
	ac_out_add(object, "since", text);
	ac_out_add(object, "end", end_of(info));
	ac_out_add_number(object, "files", (int64_t)info->totals.files);
	ac_out_add_number(object, "bytes", (int64_t)info->totals.bytes);
	ac_out_add_number(object, "torn", (int64_t)info->totals.torn);
	ac_out_add_number(object, "unreadable", (int64_t)info->totals.unreadable);
	ac_out_add_number(object, "own_bytes", (int64_t)info->own_bytes);
	ac_out_add_number(object, "shared_bytes", (int64_t)info->shared_bytes);
	ac_out_add_bool(object, "damaged", info->is_damaged);
	add_size(object, "size", info->totals.bytes);
	add_size(object, "own", info->own_bytes);
	add_size(object, "shared", info->shared_bytes);
	add_paths(object, info->meta);
	add_environment(object, info->meta);
	return json_object_array_add(backups, object) < 0 ? -ENOMEM : 0;
}

static int list(const struct ac_store *store, bool json, struct ac_err *err)
{
	json_object *backups = ac_out_array();
	int rc = ac_backup_list(store->fd, add_backup, backups, err);

	if (rc < 0)
		;
	else if (json)
		ac_out_json(backups);
	else if (json_object_array_length(backups) == 0)
		puts("there is no backup");
	else
		ac_out_table(backups, columns);
	json_object_put(backups);
	return rc;
}

static int verify_one(const struct ac_store *store, const char *id, struct ac_err *err)
{
	struct ac_backup_totals totals;
	int rc = ac_backup_verify(store->fd, id, &totals, err);

	if (rc == 0)
		printf("%s: whole: %llu files, %llu bytes\n", id, (unsigned long long)totals.files,
			(unsigned long long)totals.bytes);
	return rc;
}

struct ids {
	unsigned count;
	char id[4096][AC_BACKUP_ID_SIZE];
};

static int add_id(void *context, const struct ac_backup_info *info)
{
	struct ids *ids = context;

	if (ids->count < AC_COUNT(ids->id))
		memcpy(ids->id[ids->count++], info->id, sizeof(info->id));
	return 0;
}

/* Goes on after a bad one: which others are whole is just what somebody wants to know then. */
static int verify_all(const struct ac_store *store, struct ids *ids, struct ac_err *err)
{
	int rc = ac_backup_list(store->fd, add_id, ids, err);

	for (unsigned i = 0; i < ids->count; i++) {
		struct ac_err one;
		int result = verify_one(store, ids->id[i], &one);

		if (result < 0) {
			if (rc < 0)
				ac_out_error(err);
			rc = result;
			*err = one;
		}
	}
	return rc;
}

static int verify(struct ac_store *store, const char *what, struct ac_err *err)
{
	if (strcmp(what, "all") != 0) {
		int rc = ac_backup_find(store->fd, what, NULL, store->id, err);

		return rc < 0 ? rc : verify_one(store, store->id, err);
	}
	ac_autofree struct ids *ids = calloc(1, sizeof(*ids));

	return ids ? verify_all(store, ids, err) : ac_fail_errno(err, ENOMEM, "verify");
}

static int remove_one(struct ac_store *store, const char *what, struct ac_err *err)
{
	int rc = ac_backup_find(store->fd, what, NULL, store->id, err);

	if (rc == 0)
		rc = ac_backup_remove(store->fd, store->id, err);
	if (rc == 0)
		printf("removed %s\n", store->id);
	return rc;
}

int ac_command_backups(int argc, char **argv)
{
	const char *directory = NULL, *to_verify = NULL, *to_remove = NULL;
	struct ac_err err = { 0 };
	bool json = false;
	int letter;

	opterr = 0;
	optind = 1;
	while ((letter = getopt_long(argc, argv, "hj", long_options, NULL)) != -1) {
		if (letter == 'h') {
			printf("usage: agentcell %s\n", SYNOPSIS);
			return AC_EXIT_OK;
		}
		if (letter == '?')
			return ac_out_usage(SYNOPSIS);
		if (letter == 'j')
			json = true;
		else if (letter == 'S')
			directory = optarg;
		else if (letter == 'v')
			to_verify = optarg;
		else
			to_remove = optarg;
	}
	if (optind != argc || (to_verify && to_remove))
		return ac_out_usage(SYNOPSIS);
	ac_autofree struct ac_store *store = calloc(1, sizeof(*store));

	if (!store) {
		ac_fail_errno(&err, ENOMEM, "list backups");
		return ac_out_error(&err);
	}
	int rc = ac_store_of_caller(store, directory, &err);

	if (rc == 0)
		rc = to_verify   ? verify(store, to_verify, &err)
		     : to_remove ? remove_one(store, to_remove, &err)
				 : list(store, json, &err);
	return rc < 0 ? ac_out_error(&err) : AC_EXIT_OK;
}

/* SPDX-License-Identifier: ISC */
/* agentcell restore: puts a project, or single files of it, back as a backup has them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "output.h"
#include "store.h"
#include "util.h"

#define SYNOPSIS "restore [--dry-run] [--force] [--json] [--store DIR] [ID] [PATH...]"

static const struct option long_options[] = {
	{ "dry-run", no_argument, NULL, 'n' },
	{ "force", no_argument, NULL, 'f' },
	{ "json", no_argument, NULL, 'j' },
	{ "store", required_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct wishes {
	bool dry, force, json;
	const char *directory;
};

static int print(void *context, const struct ac_backup_change *change)
{
	(void)context;
	ac_store_change_print(change);
	return 0;
}

static int add(void *context, const struct ac_backup_change *change)
{
	json_object *changes = context;

	return json_object_array_add(changes, ac_store_change_object(change)) < 0 ? -ENOMEM : 0;
}

static void show_json(const struct ac_store *store, const struct ac_restore_outcome *outcome,
	json_object *changes, bool dry)
{
	json_object *object = ac_out_object();

	ac_out_add(object, "backup_id", store->id);
	ac_out_add_bool(object, "dry_run", dry);
	if (!dry) {
		ac_out_add(object, "undo_id", outcome->undo_id);
		ac_out_add_number(object, "written", (int64_t)outcome->written);
		ac_out_add_number(object, "removed", (int64_t)outcome->removed);
		ac_out_add_number(object, "repaired", (int64_t)outcome->repaired);
		ac_out_add_number(object, "linked", (int64_t)outcome->linked);
		ac_out_add_bool(object, "synced", outcome->is_synced);
		ac_out_add_number(object, "not_restored", (int64_t)outcome->not_restored);
	}
	ac_out_add_value(object, "changes", json_object_get(changes));
	ac_out_json(object);
	json_object_put(object);
}

static void show(const struct ac_store *store, const struct ac_restore_outcome *outcome)
{
	printf("restored %s: %llu written, %llu removed, %llu repaired, %llu linked\n", store->id,
		(unsigned long long)outcome->written, (unsigned long long)outcome->removed,
		(unsigned long long)outcome->repaired, (unsigned long long)outcome->linked);
	if (outcome->not_restored)
		printf("%llu things only root could restore (owner, device, attribute): %s\n",
			(unsigned long long)outcome->not_restored, outcome->not_restored_names);
	if (!outcome->is_synced)
		printf("the kernel is still writing it to disk; sync waits until it is there\n");
	printf("to undo this: agentcell restore %s\n", outcome->undo_id);
}

static int run(const struct ac_store *store, const struct wishes *wishes, struct ac_err *err)
{
	json_object *changes = wishes->json ? ac_out_array() : NULL;
	struct ac_restore_outcome outcome;
	const struct ac_restore_request request = { .store_fd = store->fd,
		.id = store->id,
		.paths = store->paths,
		.path_count = store->path_count,
		.is_dry = wishes->dry,
		.is_forced = wishes->force,
		.user = store->user,
		.each = wishes->json  ? add
			: wishes->dry ? print
				      : NULL,
		.context = changes };
	int rc = ac_backup_restore(&request, &outcome, err);

	if (rc == 0 && wishes->json)
		show_json(store, &outcome, changes, wishes->dry);
	else if (rc == 0 && !wishes->dry)
		show(store, &outcome);
	json_object_put(changes);
	return rc;
}

int ac_command_restore(int argc, char **argv)
{
	struct wishes wishes = { false, false, false, NULL };
	struct ac_err err = { 0 };
	int letter;

	opterr = 0;
	optind = 1;
	while ((letter = getopt_long(argc, argv, "hnfj", long_options, NULL)) != -1) {
		if (letter == 'h') {
			printf("usage: agentcell %s\n", SYNOPSIS);
			return AC_EXIT_OK;
		}
		if (letter == '?')
			return ac_out_usage(SYNOPSIS);
		wishes.dry |= letter == 'n';
		wishes.force |= letter == 'f';
		wishes.json |= letter == 'j';
		if (letter == 'S')
			wishes.directory = optarg;
	}
	ac_autofree struct ac_store *store = calloc(1, sizeof(*store));

	if (!store) {
		ac_fail_errno(&err, ENOMEM, "restore");
		return ac_out_error(&err);
	}
	int rc = ac_store_of_caller(store, wishes.directory, &err);

	if (rc == 0)
		rc = ac_store_arguments(store, argc - optind, argv + optind, &err);
	if (rc == 0)
		rc = run(store, &wishes, &err);
	return rc < 0 ? ac_out_error(&err) : AC_EXIT_OK;
}

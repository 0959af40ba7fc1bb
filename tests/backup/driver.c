/* SPDX-License-Identifier: ISC */
/*
 * Test driver: calls the root side of the backup as the PAM module does.
 *
 *   driver make <store> <id> <uid> <gid> [-t] [-u] [-x pattern]... <path>...
 *   driver look <store> <id> <uid> <gid>: what has changed since, as at a session's end
 *   driver finish <store> <id> <uid> <gid> <cause number> <keep_clean> <keep_escape> <max_bytes>
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backup.h"
#include "backup_child.h"

static struct ac_path_list paths;
static struct ac_strings exclude;
static struct ac_config config;

static void progress(void *context, const struct ac_backup_totals *totals)
{
	fprintf(stderr, "%s: %llu files\n", (const char *)context,
		(unsigned long long)totals->files);
}

static int make(struct ac_backup_request *request, char **argv)
{
	struct ac_backup_totals totals;
	struct ac_err err;

	for (; *argv; argv++) {
		struct ac_path_entry *entry = &paths.entry[paths.count];
		struct stat st;

		if (!strcmp(*argv, "-t")) {
			request->allow_torn = true;
		} else if (!strcmp(*argv, "-u")) {
			request->allow_unreadable = true;
		} else if (!strcmp(*argv, "-x") && argv[1]) {
			snprintf(exclude.text[exclude.count++], AC_PATH_MAX, "%s", *++argv);
		} else {
			snprintf(entry->path, sizeof entry->path, "%s", *argv);
			if (!stat(*argv, &st)) {
				entry->device = st.st_dev;
				entry->inode = st.st_ino;
			}
			paths.count++;
		}
	}
	if (ac_backup_make(request, &totals, &err)) {
		fprintf(stderr, "driver: %s\n", err.text);
		return 1;
	}
	printf("files %llu directories %llu others %llu bytes %llu new %llu torn %llu unreadable "
	       "%llu ms %llu\n",
		(unsigned long long)totals.files, (unsigned long long)totals.directories,
		(unsigned long long)totals.others, (unsigned long long)totals.bytes,
		(unsigned long long)totals.new_bytes, (unsigned long long)totals.torn,
		(unsigned long long)totals.unreadable, (unsigned long long)totals.duration_ms);
	return 0;
}

static int tell_change(void *context, const struct ac_backup_change *change)
{
	(void)context;
	printf("%x %s\n", change->change, change->path);
	fflush(stdout);
	return 0;
}

static int compare(int store_fd, const struct ac_backup_request *request, void *context,
	struct ac_backup_totals *totals, struct ac_err *err)
{
	const struct ac_backup_compare wanted = { .store_fd = store_fd,
		.id = request->backup_id,
		.opener = request->opener,
		.patch_fd = -1,
		.each = tell_change };

	(void)totals;
	(void)context;
	return ac_backup_diff(&wanted, err);
}

static int look(const struct ac_backup_request *request)
{
	struct ac_backup_totals totals;
	struct ac_err err;

	if (!ac_backup_as_user(request, compare, NULL, NULL, 0, &totals, &err))
		return 0;
	fprintf(stderr, "driver: %s\n", err.text);
	return 1;
}

static int finish(struct ac_backup_request *request, char **argv)
{
	struct ac_err err;

	config.keep_clean = strtoull(argv[1], NULL, 10);
	config.keep_escape = strtoull(argv[2], NULL, 10);
	config.max_bytes = strtoull(argv[3], NULL, 10);
	if (ac_backup_finish(request, (unsigned)strtoul(argv[0], NULL, 10), &config, &err)) {
		fprintf(stderr, "driver: %s\n", err.text);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	const char *dash = strrchr(argv[3], '-');
	struct ac_backup_request request = { .directory = argv[2],
		.backup_id = argv[3],
		.session_id = dash ? dash + 1 : "000000000000",
		.user = "tester",
		.identity = { .uid = (uid_t)strtoul(argv[4], NULL, 10),
			.gid = (gid_t)strtoul(argv[5], NULL, 10) },
		.paths = &paths,
		.exclude = &exclude,
		.progress = progress,
		.progress_context = argv[3],
		.environment = "{\"test\":true}" };

	if (!strcmp(argv[1], "make") && argc > 6)
		return make(&request, argv + 6);
	if (!strcmp(argv[1], "look"))
		return look(&request);
	if (!strcmp(argv[1], "finish") && argc == 10)
		return finish(&request, argv + 6);
	return 2;
}

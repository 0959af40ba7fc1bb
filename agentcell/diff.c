/* SPDX-License-Identifier: ISC */
/* agentcell diff: what changed since a backup, told without running anything of the project. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "output.h"
#include "safefile.h"
#include "store.h"
#include "util.h"

#define SYNOPSIS "diff [--json] [--patch] [--with ID] [--store DIR] [ID] [PATH...]"

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "patch", no_argument, NULL, 'p' },
	{ "with", required_argument, NULL, 'w' },
	{ "store", required_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct wishes {
	bool json, patch;
	const char *with, *directory;
};

static int print(void *context, const struct ac_backup_change *change)
{
	(void)context;
	ac_store_change_print(change);
	return fflush(stdout) ? -errno : 0;
}

static int add(void *context, const struct ac_backup_change *change)
{
	json_object *changes = context;

	return json_object_array_add(changes, ac_store_change_object(change)) < 0 ? -ENOMEM : 0;
}

/* What an agent wrote into a file goes to a terminal only without its control bytes. */
static int show_patch(int fd, struct ac_err *err)
{
	const bool is_terminal = isatty(STDOUT_FILENO);
	char buffer[16384];
	ssize_t got;

	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; is_terminal && i < got; i++) {
			unsigned char byte = (unsigned char)buffer[i];

			if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f ||
				(byte & 0xe0) == 0x80)
				buffer[i] = '?';
		}
		if (fwrite(buffer, 1, (size_t)got, stdout) != (size_t)got)
			return ac_fail_errno(err, errno, "write the patch");
	}
	return got < 0 ? ac_fail_errno(err, errno, "read the patch") : 0;
}

static int run(struct ac_store *store, const struct wishes *wishes, struct ac_err *err)
{
	char other[AC_BACKUP_ID_SIZE];
	json_object *changes = wishes->json ? ac_out_array() : NULL;
	ac_autoclose int patch_fd = wishes->patch ? memfd_create("agentcell-patch", MFD_CLOEXEC)
						  : -1;
	struct ac_backup_compare compare = { .store_fd = store->fd,
		.id = store->id,
		.paths = store->paths,
		.path_count = store->path_count,
		.patch_fd = patch_fd,
		.each = wishes->json ? add : print,
		.context = changes };
	int rc = 0;

	if (wishes->patch && patch_fd < 0)
		return ac_fail_errno(err, errno, "make an anonymous file");
	if (wishes->with) {
		rc = ac_backup_find(store->fd, wishes->with, NULL, other, err);
		compare.other_id = other;
	}
	if (rc == 0)
		rc = ac_backup_diff(&compare, err);
	if (rc == 0 && changes) {
		json_object *object = ac_out_object();

		ac_out_add(object, "backup_id", store->id);
		ac_out_add_value(object, "changes", json_object_get(changes));
		ac_out_json(object);
		json_object_put(object);
	}
	if (rc == 0 && wishes->patch)
		rc = show_patch(patch_fd, err);
	json_object_put(changes);
	return rc;
}

int ac_command_diff(int argc, char **argv)
{
	struct wishes wishes = { false, false, NULL, NULL };
	struct ac_err err = { 0 };
	int letter;

	opterr = 0;
	optind = 1;
	while ((letter = getopt_long(argc, argv, "hjp", long_options, NULL)) != -1) {
		if (letter == 'h') {
			printf("usage: agentcell %s\n", SYNOPSIS);
			return AC_EXIT_OK;
		}
		if (letter == '?')
			return ac_out_usage(SYNOPSIS);
		wishes.json |= letter == 'j';
		wishes.patch |= letter == 'p';
		if (letter == 'w')
			wishes.with = optarg;
		if (letter == 'S')
			wishes.directory = optarg;
	}
	if (wishes.json && wishes.patch)
		return ac_out_usage(SYNOPSIS);
	ac_autofree struct ac_store *store = calloc(1, sizeof(*store));

	if (!store) {
		ac_fail_errno(&err, ENOMEM, "compare");
		return ac_out_error(&err);
	}
	int rc = ac_store_of_caller(store, wishes.directory, &err);

	if (rc == 0)
		rc = ac_store_arguments(store, argc - optind, argv + optind, &err);
	if (rc == 0)
		rc = run(store, &wishes, &err);
	return rc < 0 ? ac_out_error(&err) : AC_EXIT_OK;
}

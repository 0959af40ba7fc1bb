/* SPDX-License-Identifier: ISC */
/* The caller's own backup store, and how differences are shown. */
#include "store.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "output.h"
#include "path.h"
#include "util.h"

int ac_store_of_caller(struct ac_store *store, const char *directory, struct ac_err *err)
{
	const struct passwd *passwd = getpwuid(getuid());
	ac_autofree struct ac_config *config = NULL;
	char path[AC_PATH_MAX + AC_NAME_MAX];

	if (passwd && strlen(passwd->pw_name) < sizeof(store->user))
		memcpy(store->user, passwd->pw_name, strlen(passwd->pw_name) + 1);
	else if (directory) /* then the name only goes into the manifest */
		snprintf(store->user, sizeof(store->user), "%u", (unsigned)getuid());
	else
		return ac_fail(err, ENOENT, "uid %u has no usable name", (unsigned)getuid());
	if (!directory) {
		config = calloc(1, sizeof(*config));
		if (!config)
			return ac_fail_errno(err, ENOMEM, "read the configuration");
		int rc = ac_config_read(AC_CONFIG_FILE, config, err);

		if (rc < 0)
			return rc;
		snprintf(path, sizeof(path), "%s/%s", config->backup_directory, store->user);
		directory = path;
	}
	store->fd = ac_backup_open(directory, err);
	if (store->fd == -ENOENT)
		return ac_fail(err, ENOENT, "%s has no backups yet (%s)", store->user, directory);
	return store->fd < 0 ? store->fd : 0;
}

/* 20261130T044712Z-0123456789ab, or the session's 12 hex digits. */
static bool looks_like_id(const char *text)
{
	size_t length = strlen(text);

	if (length == AC_SESSION_ID_SIZE - 1)
		return strspn(text, "0123456789abcdef") == length && access(text, F_OK) < 0;
	return length == 29 && text[8] == 'T' && text[15] == 'Z' && text[16] == '-';
}

static int add_path(struct ac_store *store, const char *cwd, const char *text, struct ac_err *err)
{
	if (store->path_count >= AC_PATHS_MAX)
		return ac_fail(err, E2BIG, "more than %d paths", AC_PATHS_MAX);
	char *path = store->path[store->path_count];

	if (!text[0] || ac_path_join(path, AC_PATH_MAX, cwd, text))
		return ac_fail(err, ENAMETOOLONG, "%s is no usable path", text);
	store->paths[store->path_count++] = path;
	return 0;
}

int ac_store_arguments(struct ac_store *store, int argc, char **argv, struct ac_err *err)
{
	const char *id = argc && looks_like_id(argv[0]) ? argv[0] : NULL;
	ac_autofree char *cwd = getcwd(NULL, 0);
	int rc = 0;

	for (int i = id ? 1 : 0; rc == 0 && i < argc; i++)
		rc = add_path(store, cwd ? cwd : "/", argv[i], err);
	if (rc < 0)
		return rc;
	const char *where = store->path_count ? store->paths[0] : cwd;

	if (!id && !where)
		return ac_fail(err, ENOENT,
			"the current directory is gone; name a backup (agentcell backups) or a "
			"path");
	return ac_backup_find(store->fd, id, where, store->id, err);
}

static const struct {
	unsigned change;
	const char *word;
} words[] = {
	{ AC_CHANGE_ADDED, "added" },
	{ AC_CHANGE_REMOVED, "removed" },
	{ AC_CHANGE_TYPE, "type" },
	{ AC_CHANGE_CONTENT, "content" },
	{ AC_CHANGE_LINK, "link" },
	{ AC_CHANGE_MODE, "mode" },
	{ AC_CHANGE_OWNER, "owner" },
	{ AC_CHANGE_XATTR, "attributes" },
	{ AC_CHANGE_MTIME, "mtime" },
	{ AC_CHANGE_UNKNOWN, "excluded" },
};

static void add_side(json_object *object, const char *key, char type, uint64_t size, uint32_t mode,
	const char *target)
{
	char text[8];

	if (type == '-')
		return;
	json_object *side = ac_out_object();

	snprintf(text, sizeof(text), "%c", type);
	ac_out_add(side, "type", text);
	if (type == 'f')
		ac_out_add_number(side, "size", (int64_t)size);
	snprintf(text, sizeof(text), "%04o", mode);
	ac_out_add(side, "mode", text);
	if (target)
		ac_out_add(side, "target", target);
	ac_out_add_value(object, key, side);
}

json_object *ac_store_change_object(const struct ac_backup_change *change)
{
	json_object *object = ac_out_object(), *list = ac_out_array();

	ac_out_add(object, "path", change->path);
	for (unsigned i = 0; i < AC_COUNT(words); i++)
		if (change->change & words[i].change)
			ac_out_append(list, words[i].word);
	ac_out_add_value(object, "change", list);
	add_side(object, "before", change->old_type, change->old_size, change->old_mode,
		change->old_target);
	add_side(object, "after", change->new_type, change->new_size, change->new_mode,
		change->new_target);
	return object;
}

static void print_escaped(const char *prefix, const char *bytes)
{
	char text[3 * AC_PATH_MAX];

	ac_escape(text, sizeof(text), bytes, strlen(bytes));
	printf("%s%s", prefix, text);
}

/* A directory's own mtime says only that something in it changed, which is told anyway. */
void ac_store_change_print(const struct ac_backup_change *change)
{
	char mark = 'M';

	if (change->change == AC_CHANGE_MTIME && change->new_type == 'd')
		return;
	if (change->change & AC_CHANGE_ADDED)
		mark = '+';
	else if (change->change & AC_CHANGE_REMOVED)
		mark = '-';
	else if (change->change & AC_CHANGE_TYPE)
		mark = 'T';
	printf("%c %c", mark, change->new_type == '-' ? change->old_type : change->new_type);
	print_escaped(" ", change->path);
	for (unsigned i = 3, first = 1; i < AC_COUNT(words); i++)
		if (change->change & words[i].change) {
			printf("%s%s", first ? "  (" : ", ", words[i].word);
			first = 0;
		}
	if (change->change & ~(unsigned)(AC_CHANGE_ADDED | AC_CHANGE_REMOVED | AC_CHANGE_TYPE))
		putchar(')');
	if ((change->change & AC_CHANGE_MODE) && change->old_type != '-')
		printf("  %04o -> %04o", change->old_mode, change->new_mode);
	if (change->change & AC_CHANGE_TYPE)
		printf("  was %c", change->old_type);
	if (change->new_target)
		print_escaped("  -> ", change->new_target);
	putchar('\n');
}

/* SPDX-License-Identifier: ISC */
/* What backups, diff and restore share: the caller's own store, paths and ids on a command line. */
#ifndef AC_STORE_H
#define AC_STORE_H

#include <json-c/json.h>

#include "backup.h"

struct ac_store {
	int fd;
	char user[AC_NAME_MAX];
	char id[AC_BACKUP_ID_SIZE]; /* the backup that is meant */
	const char *paths[AC_PATHS_MAX]; /* canonical, in path */
	unsigned path_count;
	char path[AC_PATHS_MAX][AC_PATH_MAX];
};

/* Opens directory, or (NULL) the caller's store by the configuration. */
int ac_store_of_caller(struct ac_store *store, const char *directory, struct ac_err *err);

/* Takes [ID] [PATH...] from a command line.  Without an ID the newest backup of a session is meant
 * that covers the first path, or the current directory. */
int ac_store_arguments(struct ac_store *store, int argc, char **argv, struct ac_err *err);

/* One difference as an object, and as a line for people. */
json_object *ac_store_change_object(const struct ac_backup_change *change);
void ac_store_change_print(const struct ac_backup_change *change);

#endif

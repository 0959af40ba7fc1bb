/* SPDX-License-Identifier: ISC */
/*
 * Modes that are opened up for the time of a backup, and their way back after a kill.
 *
 * Before a file or directory that denies its own owner is given the permission, a line with its mode
 * goes to a file "forced-<32 hex>" of the store.  It is removed at the end, when all have their modes
 * back.  One that is found later, under the exclusive lock, was left by a killed process.
 */
#ifndef AC_BACKUP_FORCE_H
#define AC_BACKUP_FORCE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "backup_store.h"
#include "err.h"

#define AC_FORCE_PREFIX "forced-"

struct ac_node;
struct ac_opener;

struct ac_force_log {
	int store_fd; /* -1: nothing is written down, and nothing may be forced */
	struct ac_opener *opener; /* borrowed: nothing need be forced as long as it is there */
	int fd;
	char name[AC_STORE_NAME_MAX];
	pthread_mutex_t lock;
};

void ac_force_init(struct ac_force_log *log, int store_fd, struct ac_opener *opener);
/* Removes the file: call it when every mode is back. */
void ac_force_fini(struct ac_force_log *log);

/* Writes down that name in node (a directory) is about to be opened up.  0 or -errno. */
int ac_force_note(struct ac_force_log *log, const struct ac_node *node, const char *name,
	const struct statx *st);

/* What opening up means: the bits that the owner is given. */
static inline mode_t ac_force_bits(mode_t type)
{
	return type == S_IFDIR ? S_IRUSR | S_IXUSR : S_IRUSR;
}

/* Gives the modes of a leftover file back and removes it.  Under the exclusive lock. */
int ac_force_undo(int store_fd, const char *name, struct ac_err *err);

#endif

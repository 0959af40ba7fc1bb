/* SPDX-License-Identifier: ISC */
/*
 * What a restore changed, to be on disk before it is called done.
 *
 * A few files are synced one by one, and each directory in which a name moved: syncfs would wait for
 * whatever else the disk has to write (measured: 0.1 s beside a busy disk, 20 files 0.01 s).  What has
 * no descriptor that can be synced (a symlink, a fifo, a mode that is closed to its owner) and what is
 * many makes it the whole file system's turn.
 */
#ifndef AC_BACKUP_FLUSH_H
#define AC_BACKUP_FLUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Descriptors that are kept open until the end; of RLIMIT_NOFILE an eighth at most. */
#define AC_FLUSH_FILES_MAX 128

struct ac_restore;

struct ac_flush { /* all zero at first */
	int files[AC_FLUSH_FILES_MAX];
	size_t count, room;
	bool is_whole;
};

/* A regular file, open for real: takes the descriptor over, *fd becomes -1. */
void ac_flush_file(struct ac_restore *restore, int *fd);

/* Something that only syncfs reaches. */
void ac_flush_whole(struct ac_restore *restore);

/* Once, after everything; sets outcome->is_synced. */
int ac_flush_finish(struct ac_restore *restore, struct ac_err *err);

/* Closes the files, whatever happened. */
void ac_flush_forget(struct ac_restore *restore);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the restore.
 *
 * A restore compares two manifests, the backup's and that of the present state, which was just backed
 * up; then it acts on what differs and on nothing else.  Before something is replaced or removed it
 * must still be what the present manifest says, so nothing is ever lost that is not in a backup.
 */
#ifndef AC_BACKUP_RESTORE_H
#define AC_BACKUP_RESTORE_H

#include <stdatomic.h>

#include "backup_compare.h"
#include "backup_crew.h"
#include "backup_flush.h"
#include "backup_pack.h"
#include "backup_select.h"
#include "backup_tree.h"

struct ac_task { /* one difference to undo */
	unsigned change;
	const struct ac_entry *want, *have; /* in the backup's, the present manifest; or NULL */
	uint32_t want_directory, have_directory;
	uint64_t order; /* of the content in the packs */
	bool is_selected; /* false: only known about, for the sake of hard links */
};

/* Changes that need the thing itself anew, not only its metadata. */
#define AC_CHANGE_PUT (AC_CHANGE_REMOVED | AC_CHANGE_TYPE | AC_CHANGE_CONTENT | AC_CHANGE_LINK)

struct ac_restore {
	const struct ac_restore_request *request;
	struct ac_restore_outcome *outcome;
	struct ac_manifest target, present;
	struct ac_shelf shelf;
	uint32_t *pack_map; /* target's packs to the shelf's */
	struct ac_tree tree, present_tree; /* directories of the target; those it does not have */
	struct ac_selection selection;
	struct ac_task *tasks;
	size_t task_count, task_room;
	pthread_mutex_t lock; /* outcome, err, flush */
	struct ac_err err;
	unsigned conflicts;
	struct ac_flush flush;
	const struct ac_job *job; /* what the threads are at */
	size_t next; /* of its items */
	_Atomic bool stop;
	const struct ac_task **directory_tasks; /* by directory, while they are made */
	bool has_failed; /* while directories are finished: nothing gets its name */
};

/* One thread's tools. */
struct ac_restorer {
	struct ac_restore *restore;
	struct ac_chunk_reader reader;
	uint64_t names; /* random once, then counted up: fresh temporary names */
};

/* Each returns 0 or -errno with *err filled; -EAGAIN: it is not what the present manifest says. */
int ac_restore_remove(struct ac_restore *restore, const struct ac_task *task, struct ac_err *err);
int ac_restore_mkdir(struct ac_restorer *restorer, const struct ac_task *task, struct ac_err *err);
int ac_restore_put(struct ac_restorer *restorer, const struct ac_task *task, struct ac_err *err);
int ac_restore_repair(struct ac_restore *restore, const struct ac_task *task, struct ac_err *err);
int ac_restore_directory(struct ac_restore *restore, uint32_t directory, struct ac_err *err);
int ac_restore_links(struct ac_restorer *restorer, struct ac_err *err);

/* Metadata onto an open file or directory. */
int ac_restore_metadata(struct ac_restore *restore, int fd, const struct ac_entry *want,
	const char *name, bool inherits_acl, struct ac_err *err);

/* Is the name still what the present manifest says (have NULL: nothing)?  0, or -EAGAIN. */
int ac_restore_check(const struct ac_spot *spot, const struct ac_entry *have, struct ac_err *err);

/* A thing that only root can give back: counted and named. */
void ac_restore_note(struct ac_restore *restore, const char *name);

/* A fresh temporary name. */
void ac_restore_name(struct ac_restorer *restorer, char name[sizeof AC_RESTORE_PREFIX + 16]);
int ac_restorer_init(struct ac_restorer *restorer, struct ac_restore *restore, struct ac_err *err);
void ac_restorer_fini(struct ac_restorer *restorer);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Acting on what differs, in an order in which every step has what it needs:
 *
 *   1 what was not there goes, children before parents      one thread
 *   2 directories that are missing come, parents first, beside their places    several threads
 *   3 files and the rest, in the order of the packs         several threads
 *   4 hard links                                            one thread
 *   5 metadata of what else is right                        several threads
 *   6 directories' own metadata, children before parents; those of 2 get their names
 *
 * 5 comes after 3 and 4, because names that are one file now may be several ones again by then:
 * setting the times of one would make the other look as if somebody had changed it.
 *
 * A restore that is killed anywhere leaves a tree that the next one completes: each step is a
 * difference less.  So nothing is synced on the way; what was changed is on disk before it is called done
 * (backup_flush.h), because "restored" is believed after a power loss as well.
 */
#include "backup_apply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backup_levels.h"
#include "escape.h"
#include "util.h"

int ac_restore_settle(
	struct ac_restore *restore, const struct ac_task *task, int result, struct ac_err *err)
{
	if (!result)
		return 0;
	bool by_target = task->want != NULL;
	ac_autofree char *path = by_target ? ac_manifest_path_dup(&restore->target,
						     task->want_directory, task->want, true)
					   : ac_manifest_path_dup(&restore->present,
						     task->have_directory, task->have, true);
	char shown[512] = "?";

	if (path)
		ac_escape(shown, sizeof shown, path, strlen(path));
	ac_fail_within(err, "restore %s", shown);
	pthread_mutex_lock(&restore->lock);
	if (result == -EAGAIN)
		restore->conflicts++;
	if (!restore->err.code || (restore->err.code == EAGAIN && result != -EAGAIN))
		restore->err = *err;
	pthread_mutex_unlock(&restore->lock);
	if (result == -EAGAIN)
		return 0;
	atomic_store(&restore->stop, true);
	return result;
}

static bool is_removal(const struct ac_task *task)
{
	if (!task->is_selected)
		return false;
	if (task->change & AC_CHANGE_ADDED)
		return true;
	/* Other things are replaced by rename; with a directory on either side that cannot be. */
	return (task->change & AC_CHANGE_TYPE) &&
	       (task->have->type == AC_ENTRY_DIRECTORY || task->want->type == AC_ENTRY_DIRECTORY);
}

static int remove_all(struct ac_restore *restore)
{
	struct ac_err err;
	int result = 0;

	for (size_t i = restore->task_count; i && !result; i--) {
		const struct ac_task *task = &restore->tasks[i - 1];

		if (!is_removal(task))
			continue;
		result = ac_restore_remove(restore, task, &err);
		restore->outcome->removed += !result;
		result = ac_restore_settle(restore, task, result, &err);
	}
	return result;
}

static bool is_linked(const struct ac_task *task)
{
	return task->want->type == AC_ENTRY_REGULAR && task->want->links > 1;
}

static int do_task(struct ac_restorer *restorer, const struct ac_task *task)
{
	struct ac_restore *restore = restorer->restore;
	bool is_put = (task->change & AC_CHANGE_PUT) != 0;
	struct ac_err err;
	int result = is_put ? ac_restore_put(restorer, task, &err)
			    : ac_restore_repair(restore, task, &err);

	if (!result) {
		pthread_mutex_lock(&restore->lock);
		*(is_put ? &restore->outcome->written : &restore->outcome->repaired) += 1;
		pthread_mutex_unlock(&restore->lock);
	}
	return ac_restore_settle(restore, task, result, &err);
}

static int by_order(const void *a, const void *b, void *context)
{
	const struct ac_restore *restore = context;
	const size_t left = *(const size_t *)a, right = *(const size_t *)b;
	const uint64_t x = restore->tasks[left].order, y = restore->tasks[right].order;

	if (x != y)
		return x < y ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* It is expanded once.  Mostly that is also what lies in one directory, where two threads would wait for
 * each other at each file that they make. */
static uint64_t block_of(const struct ac_restore *restore, size_t task)
{
	return restore->tasks[task].order;
}

static int do_item(struct ac_restorer *restorer, size_t task)
{
	return do_task(restorer, &restorer->restore->tasks[task]);
}

/* Files, symlinks and the rest; not directories.  Puts without what has several names, or repairs. */
static int do_tasks(struct ac_restorer *first, bool puts)
{
	struct ac_restore *restore = first->restore;
	ac_autofree size_t *items = calloc(restore->task_count + 1, sizeof *items);
	struct ac_job job = { .items = items, .group = block_of, .act = do_item };

	if (!items)
		return ac_fail_errno(&restore->err, ENOMEM, "restore");
	for (size_t i = 0; i < restore->task_count; i++) {
		const struct ac_task *task = &restore->tasks[i];
		bool is_put = (task->change & AC_CHANGE_PUT) != 0;

		if (!task->is_selected || !task->want || task->want->type == AC_ENTRY_DIRECTORY ||
			is_put != puts || (is_put && is_linked(task)))
			continue;
		items[job.count++] = i;
	}
	qsort_r(items, job.count, sizeof *items, by_order, restore);
	return ac_crew_run(first, &job);
}

static int do_links(struct ac_restorer *first)
{
	struct ac_err err;
	int result = ac_restore_links(first, &err);

	if (result)
		first->restore->err = err;
	return result;
}

static int run_all(struct ac_restorer *first)
{
	int result = remove_all(first->restore);

	if (!result)
		result = ac_restore_make_directories(first);
	if (!result)
		result = do_tasks(first, true);
	if (!result)
		result = do_links(first);
	return result ? result : do_tasks(first, false);
}

int ac_restore_apply(struct ac_restore *restore)
{
	struct ac_restorer first;
	int result = ac_restorer_init(&first, restore, &restore->err);

	if (result)
		return result;
	result = run_all(&first);
	/* Also after a failure: what was opened up for writing gets its mode back. */
	int last = ac_restore_finish_directories(&first, result != 0);

	ac_restorer_fini(&first);
	return result ? result : last;
}

/* SPDX-License-Identifier: ISC */
/*
 * Acting on what differs, in an order in which every step has what it needs:
 *
 *   1 what was not there goes, children before parents      one thread
 *   2 directories that are missing come, parents first, beside their places    one thread
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
#include <unistd.h>

#include "escape.h"
#include "util.h"

#define THREADS_MAX 8
#define RUN_MAX 1024 /* tasks that a thread takes at a time, all of one block */

/* Keeps the first error; a conflict is one too, but the others go on. */
static int settle(
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
		result = settle(restore, task, result, &err);
	}
	return result;
}

static int make_directories(struct ac_restorer *restorer)
{
	struct ac_restore *restore = restorer->restore;
	struct ac_err err;
	int result = 0;

	for (size_t i = 0; i < restore->task_count && !result; i++) {
		const struct ac_task *task = &restore->tasks[i];

		if (!task->is_selected || !task->want || task->want->type != AC_ENTRY_DIRECTORY)
			continue;
		if (!(task->change & AC_CHANGE_PUT)) {
			restore->tree.touched[task->want->first] = true;
			restore->outcome->repaired++;
			continue;
		}
		result = ac_restore_mkdir(restorer, task, &err);
		restore->outcome->written += !result;
		result = settle(restore, task, result, &err);
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
	return settle(restore, task, result, &err);
}

/* What lies in one block: it is expanded once.  Mostly that is also what lies in one directory, where two
 * threads would wait for each other at each file that they make. */
static bool take_run(struct ac_restore *restore, size_t *from, size_t *to)
{
	pthread_mutex_lock(&restore->lock);
	*from = *to = restore->next;
	while (*to < restore->queue_length && *to - *from < RUN_MAX &&
		restore->tasks[restore->queue[*to]].order ==
			restore->tasks[restore->queue[*from]].order)
		++*to;
	restore->next = *to;
	pthread_mutex_unlock(&restore->lock);
	return *to > *from;
}

static void *work(void *context)
{
	struct ac_restorer *restorer = context;
	struct ac_restore *restore = restorer->restore;
	size_t from, to;

	while (!atomic_load(&restore->stop) && take_run(restore, &from, &to))
		for (; from < to; from++)
			if (do_task(restorer, &restore->tasks[restore->queue[from]]))
				break;
	return NULL;
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

/* Files, symlinks and the rest; not directories.  Puts without what has several names, or repairs. */
static int make_queue(struct ac_restore *restore, bool puts)
{
	if (!restore->queue)
		restore->queue = calloc(restore->task_count + 1, sizeof restore->queue[0]);
	if (!restore->queue)
		return ac_fail_errno(&restore->err, ENOMEM, "restore");
	restore->queue_length = restore->next = 0;
	for (size_t i = 0; i < restore->task_count; i++) {
		const struct ac_task *task = &restore->tasks[i];
		bool is_put = (task->change & AC_CHANGE_PUT) != 0;

		if (!task->is_selected || !task->want || task->want->type == AC_ENTRY_DIRECTORY ||
			is_put != puts || (is_put && is_linked(task)))
			continue;
		restore->queue[restore->queue_length++] = i;
	}
	qsort_r(restore->queue, restore->queue_length, sizeof restore->queue[0], by_order, restore);
	return 0;
}

static unsigned wanted_threads(const struct ac_restore *restore)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned wanted = processors < 2 ? 2 : (unsigned)processors;

	if (restore->queue_length < 64)
		return 1;
	return wanted > THREADS_MAX ? THREADS_MAX : wanted;
}

static int run_queue(struct ac_restorer *restorers)
{
	struct ac_restore *restore = restorers[0].restore;
	unsigned started = 1, wanted = wanted_threads(restore);
	pthread_t threads[THREADS_MAX];

	for (; started < wanted; started++) {
		if (ac_restorer_init(&restorers[started], restore, NULL))
			break;
		if (pthread_create(&threads[started], NULL, work, &restorers[started])) {
			ac_restorer_fini(&restorers[started]);
			break;
		}
	}
	work(&restorers[0]);
	for (unsigned i = 1; i < started; i++) {
		pthread_join(threads[i], NULL);
		ac_restorer_fini(&restorers[i]);
	}
	return atomic_load(&restore->stop) ? -restore->err.code : 0;
}

static int publish(struct ac_restore *restore, uint32_t directory, struct ac_err *err)
{
	int result = ac_tree_publish(&restore->tree, directory);

	return result ? ac_fail_errno(
				err, result == -EEXIST ? EAGAIN : -result, "rename into place")
		      : 0;
}

/* Children have larger numbers than their parents. */
static int finish_directories(struct ac_restore *restore)
{
	struct ac_err err;

	for (uint32_t d = restore->target.directory_count - 1; d; d--) {
		const struct ac_node *node = restore->tree.nodes[d];

		if (!restore->tree.touched[d] && !(node && node->was_forced))
			continue;
		int result = ac_restore_directory(restore, d, &err);

		/* After a failure it keeps the name by which the next restore removes it. */
		if (!result && !atomic_load(&restore->stop))
			result = publish(restore, d, &err);
		if (!result)
			continue;
		const struct ac_task task = { .want = ac_entry_at(&restore->target,
						      restore->target.directories[d].entry),
			.want_directory = restore->target.directories[d].parent };

		result = settle(restore, &task, result, &err);
		if (result)
			return result;
	}
	return 0;
}

static int run_all(struct ac_restore *restore, struct ac_restorer *restorers)
{
	struct ac_err err;
	int result = remove_all(restore);

	if (!result)
		result = make_directories(&restorers[0]);
	if (!result)
		result = make_queue(restore, true);
	if (!result)
		result = run_queue(restorers);
	if (!result) {
		result = ac_restore_links(&restorers[0], &err);
		if (result)
			restore->err = err;
	}
	if (!result)
		result = make_queue(restore, false);
	return result ? result : run_queue(restorers);
}

int ac_restore_apply(struct ac_restore *restore)
{
	struct ac_restorer restorers[THREADS_MAX];
	int result = ac_restorer_init(&restorers[0], restore, &restore->err);

	if (result)
		return result;
	result = run_all(restore, restorers);
	/* Also after a failure: what was opened up for writing gets its mode back. */
	int last = finish_directories(restore);

	ac_restorer_fini(&restorers[0]);
	free(restore->queue);
	return result ? result : last;
}

/* SPDX-License-Identifier: ISC */
/*
 * The restore's directories, level by level: within one, no directory needs another, so that threads can
 * share them.  What has the same parent is one thread's: two would wait for each other there.
 */
#include "backup_levels.h"

#include <errno.h>
#include <stdlib.h>

#include "backup_apply.h"
#include "util.h"

/* Parents have smaller numbers than their children. */
static uint32_t *find_depths(const struct ac_manifest *manifest)
{
	uint32_t *depth = calloc(manifest->directory_count, sizeof *depth);

	for (uint32_t d = 1; depth && d < manifest->directory_count; d++)
		depth[d] = depth[manifest->directories[d].parent] + 1;
	return depth;
}

struct order {
	const struct ac_manifest *manifest;
	const uint32_t *depth;
	bool is_upward;
};

static int by_level(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const size_t left = *(const size_t *)a, right = *(const size_t *)b;
	uint32_t x = order->depth[left], y = order->depth[right];

	if (x != y)
		return (x < y) == order->is_upward ? 1 : -1;
	x = order->manifest->directories[left].parent;
	y = order->manifest->directories[right].parent;
	if (x != y)
		return x < y ? -1 : 1;
	return left < right ? -1 : left > right;
}

static uint64_t parent_of(const struct ac_restore *restore, size_t directory)
{
	return restore->target.directories[directory].parent;
}

/* job->items are numbers of directories. */
static int run_levels(struct ac_restorer *first, struct ac_job *job, bool is_upward)
{
	struct ac_restore *restore = first->restore;
	ac_autofree uint32_t *depth = find_depths(&restore->target);
	struct order order = {
		.manifest = &restore->target, .depth = depth, .is_upward = is_upward
	};
	size_t *all = job->items, count = job->count;
	int result = 0;

	if (!depth)
		return ac_fail_errno(&restore->err, ENOMEM, "restore");
	qsort_r(all, count, sizeof *all, by_level, &order);
	for (size_t i = 0; !result && i < count; i += job->count) {
		job->items = all + i;
		for (job->count = 1; i + job->count < count; job->count++)
			if (depth[all[i + job->count]] != depth[all[i]])
				break;
		result = ac_crew_run(first, job);
	}
	return result;
}

static int make_one(struct ac_restorer *restorer, size_t directory)
{
	struct ac_restore *restore = restorer->restore;
	const struct ac_task *task = restore->directory_tasks[directory];
	struct ac_err err;
	int result = ac_restore_mkdir(restorer, task, &err);

	if (!result) {
		pthread_mutex_lock(&restore->lock);
		restore->outcome->written++;
		pthread_mutex_unlock(&restore->lock);
	}
	return ac_restore_settle(restore, task, result, &err);
}

int ac_restore_make_directories(struct ac_restorer *first)
{
	struct ac_restore *restore = first->restore;
	uint32_t total = restore->target.directory_count;
	ac_autofree const struct ac_task **tasks = calloc(total, sizeof(void *));
	ac_autofree size_t *items = calloc(total, sizeof *items);
	struct ac_job job = { .items = items, .group = parent_of, .act = make_one };

	if (!tasks || !items)
		return ac_fail_errno(&restore->err, ENOMEM, "restore");
	for (size_t i = 0; i < restore->task_count; i++) {
		const struct ac_task *task = &restore->tasks[i];

		if (!task->is_selected || !task->want || task->want->type != AC_ENTRY_DIRECTORY)
			continue;
		if (!(task->change & AC_CHANGE_PUT)) {
			restore->tree.touched[task->want->first] = true;
			restore->outcome->repaired++;
			continue;
		}
		tasks[task->want->first] = task;
		items[job.count++] = task->want->first;
	}
	restore->directory_tasks = tasks;
	int result = run_levels(first, &job, false);

	restore->directory_tasks = NULL;
	return result;
}

static int publish(struct ac_restore *restore, uint32_t directory, struct ac_err *err)
{
	int result = ac_tree_publish(&restore->tree, directory);

	return result ? ac_fail_errno(
				err, result == -EEXIST ? EAGAIN : -result, "rename into place")
		      : 0;
}

static int finish_one(struct ac_restorer *restorer, size_t number)
{
	struct ac_restore *restore = restorer->restore;
	uint32_t directory = (uint32_t)number;
	const struct ac_node *node = restore->tree.nodes[directory];
	struct ac_err err;

	if (!restore->tree.touched[directory] && !(node && node->was_forced))
		return 0;
	int result = ac_restore_directory(restore, directory, &err);

	/* After a failure it keeps the name by which the next restore removes it. */
	if (!result && !restore->has_failed)
		result = publish(restore, directory, &err);
	if (!result)
		return 0;
	const struct ac_task task = { .want = ac_entry_at(&restore->target,
					      restore->target.directories[directory].entry),
		.want_directory = restore->target.directories[directory].parent };

	return ac_restore_settle(restore, &task, result, &err);
}

int ac_restore_finish_directories(struct ac_restorer *first, bool has_failed)
{
	struct ac_restore *restore = first->restore;
	uint32_t total = restore->target.directory_count;
	ac_autofree size_t *items = calloc(total, sizeof *items);
	struct ac_job job = { .items = items, .group = parent_of, .act = finish_one };

	if (!items)
		return ac_fail_errno(&restore->err, ENOMEM, "restore");
	for (uint32_t d = 1; d < total; d++)
		items[job.count++] = d;
	restore->has_failed = has_failed;
	atomic_store(&restore->stop, false);
	return run_levels(first, &job, true);
}

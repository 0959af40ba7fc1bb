/* SPDX-License-Identifier: ISC */
/* The walk as a whole: set up, run, and what it found put together. */
#include "backup_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static void fini_walk(struct ac_walk *walk, struct ac_walker *walkers, unsigned count)
{
	while (walk->batches) {
		struct ac_walk_batch *batch = walk->batches;

		walk->batches = batch->next;
		ac_walk_give_back(walk, batch);
	}
	while (walk->stack) {
		struct ac_node *node = walk->stack;

		walk->stack = node->next;
		ac_node_release(&walk->cache, node);
	}
	for (unsigned i = 0; i < count; i++) {
		ac_lane_fini(&walkers[i].lane);
		ac_shard_fini(&walkers[i].shard);
		free(walkers[i].pack_map);
		free(walkers[i].names);
		free(walkers[i].values);
	}
	free(walk->directories);
	ac_node_cache_fini(&walk->cache);
	pthread_mutex_destroy(&walk->lock);
	pthread_cond_destroy(&walk->wake);
}

/* A tree is mostly as large as it was: each thread's share of that, and half of it more. */
static void expect(struct ac_walk *walk, struct ac_walker *walkers, unsigned count)
{
	const struct ac_manifest *last = NULL;
	uint64_t length = 0, references = 0;

	for (unsigned i = 0; i < walk->request->root_count; i++) {
		const struct ac_manifest *previous = walk->request->roots[i].previous;

		if (!previous || previous == last)
			continue;
		length += previous->entries_length;
		references += previous->reference_count;
		last = previous;
	}
	if (!count || !length)
		return;
	length = (length / count * 3 / 2 + 7) & ~(uint64_t)7;
	references = references / count * 3 / 2;
	for (unsigned i = 0; i < count && references < AC_NONE / 2; i++)
		ac_shard_expect(&walkers[i].shard, length, (uint32_t)references);
}

static int finish(struct ac_walk *walk, struct ac_walker *walkers, unsigned count,
	struct ac_manifest *manifest)
{
	struct ac_shard shards[AC_WALKERS_MAX];
	size_t roots = 0;

	manifest->directory_count = atomic_load(&walk->directory_count);
	manifest->directories = AC_TAKE(walk->directories);
	for (unsigned i = 0; i < walk->request->root_count; i++)
		roots += strlen(walk->request->roots[i].path) + 1;
	manifest->roots = malloc(roots + 1);
	if (!manifest->directories || !manifest->roots)
		return ac_fail_errno(&walk->err, ENOMEM, "walk");
	for (unsigned i = 0; i < walk->request->root_count; i++) {
		size_t length = strlen(walk->request->roots[i].path) + 1;

		memcpy(manifest->roots + manifest->roots_length, walk->request->roots[i].path,
			length);
		manifest->roots_length += length;
	}
	for (unsigned i = 0; i < count; i++)
		shards[i] = walkers[i].shard;
	return ac_manifest_assemble(manifest, shards, count, &walk->err);
}

int ac_walk(struct ac_walk_request *request, struct ac_manifest *manifest,
	struct ac_backup_totals *totals, struct ac_walk_notes *notes, struct ac_err *err)
{
	struct ac_walker walkers[AC_WALKERS_MAX];
	struct ac_walk walk = { .request = request, .notes = notes, .directory_count = 1 };
	unsigned ready = 0;
	int result = 0;

	if (request->exclude && !request->exclude->count)
		request->exclude =
			NULL; /* nothing to match: the short way for small files is open */
	memset(walkers, 0, sizeof walkers);
	memset(manifest, 0, sizeof *manifest);
	memset(notes, 0, sizeof *notes);
	ac_node_cache_init(&walk.cache);
	walk.cache.force = request->force;
	pthread_mutex_init(&walk.lock, NULL);
	pthread_cond_init(&walk.wake, NULL);
	walk.workers = ac_walk_workers();
	for (; !result && ready < walk.workers; ready += !result) {
		walkers[ready].walk = &walk;
		walkers[ready].tells_progress = !ready && request->progress;
		result = ac_lane_init(&walkers[ready].lane, request->packer, &walk.err);
	}
	if (!result) {
		expect(&walk, walkers, ready);
		result = ac_walk_roots(&walk, &walkers[0]);
	}
	if (!result) {
		ac_walk_work(&walk, walkers);
		result = -walk.err.code;
	}
	if (!result)
		result = finish(&walk, walkers, ready, manifest);
	if (!result)
		*totals = (struct ac_backup_totals){ .files = walk.files,
			.directories = walk.folders,
			.others = walk.others,
			.bytes = walk.bytes,
			.new_bytes = request->packer->new_bytes,
			.torn = walk.torn,
			.unreadable = walk.unreadable };
	else
		ac_manifest_fini(manifest);
	if (result)
		*err = walk.err;
	fini_walk(&walk, walkers, ready);
	return result;
}

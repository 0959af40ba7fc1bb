/* SPDX-License-Identifier: ISC */
/*
 * The threads of a walk and the stack of directories to do.
 *
 * The stack is last in, first out, so that the walk goes deep before it goes wide and few
 * directories wait.  One mutex guards it; it is taken a few times for a directory, never for a file.
 */
#include "backup_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for all directories that have a number.  Under the lock, or before there are threads. */
int ac_walk_grow(struct ac_walk *walk)
{
	uint32_t count = atomic_load(&walk->directory_count);

	if (count <= walk->directory_room)
		return 0;
	uint32_t room = count < AC_NONE / 2 ? count * 2 + 64 : AC_NONE - 1;
	void *grown = count < room
			      ? reallocarray(walk->directories, room, sizeof walk->directories[0])
			      : NULL;

	if (!grown)
		return -ENOMEM;
	walk->directories = grown;
	memset(walk->directories + walk->directory_room, 0,
		(room - walk->directory_room) * sizeof walk->directories[0]);
	walk->directory_room = room;
	return 0;
}

/* Takes over a list of nodes; the list's order is turned, so that the first found is done first. */
void ac_walk_push(struct ac_walk *walk, struct ac_node *children)
{
	unsigned count = 0;

	if (!children)
		return;
	pthread_mutex_lock(&walk->lock);
	if (ac_walk_grow(walk)) {
		ac_fail_errno(&walk->err, ENOMEM, "remember directories");
		atomic_store(&walk->stop, true);
	}
	while (children) {
		struct ac_node *child = children;

		children = child->next;
		child->next = walk->stack;
		walk->stack = child;
		if (child->number < walk->directory_room)
			walk->directories[child->number].parent = child->parent
									  ? child->parent->number
									  : 0;
		count++;
	}
	for (unsigned i = 0; i < walk->idle && i < count; i++)
		pthread_cond_signal(&walk->wake);
	pthread_mutex_unlock(&walk->lock);
}

bool ac_walk_hand_over(struct ac_walk *walk, struct ac_node *node, const char *bytes, size_t length,
	uint32_t sequence, uint32_t position)
{
	bool taken = false;

	pthread_mutex_lock(&walk->lock);
	struct ac_walk_batch *batch = walk->idle && !walk->batches ? malloc(sizeof *batch + length)
								   : NULL;

	if (batch) {
		batch->node = node;
		batch->sequence = sequence;
		batch->position = position;
		batch->length = length;
		memcpy(batch->bytes, bytes, length);
		batch->next = walk->batches;
		walk->batches = batch;
		/* A reference and a pin that the receiver gives back; lock order: walk, cache. */
		pthread_mutex_lock(&walk->cache.lock);
		node->references++;
		node->pins++;
		pthread_mutex_unlock(&walk->cache.lock);
		pthread_cond_signal(&walk->wake);
		taken = true;
	}
	pthread_mutex_unlock(&walk->lock);
	return taken;
}

void ac_walk_give_back(struct ac_walk *walk, struct ac_walk_batch *batch)
{
	ac_node_unpin(&walk->cache, batch->node);
	ac_node_release(&walk->cache, batch->node);
	free(batch);
}

/* Waits for work.  False: there will be none. */
static bool take_work(struct ac_walk *walk, struct ac_node **node, struct ac_walk_batch **batch)
{
	*node = NULL;
	*batch = NULL;
	pthread_mutex_lock(&walk->lock);
	walk->idle++;
	while (!walk->stack && !walk->batches && walk->idle < walk->workers)
		pthread_cond_wait(&walk->wake, &walk->lock);
	bool found = (walk->stack || walk->batches) && !atomic_load(&walk->stop);

	if (!found) {
		walk->workers = 0; /* the others find idle >= workers */
		pthread_cond_broadcast(&walk->wake);
	} else if (walk->batches) {
		*batch = walk->batches;
		walk->batches = (*batch)->next;
		walk->idle--;
	} else {
		*node = walk->stack;
		walk->stack = (*node)->next;
		walk->idle--;
	}
	pthread_mutex_unlock(&walk->lock);
	return found;
}

static void *work(void *context)
{
	struct ac_walker *walker = context;
	struct ac_walk *walk = walker->walk;
	struct ac_walk_batch *batch;
	struct ac_node *node;
	struct ac_err err;

	while (take_work(walk, &node, &batch)) {
		if (batch) {
			ac_walk_batch(walker, batch);
			ac_walk_give_back(walk, batch);
		} else {
			ac_walk_directory(walker, node);
			ac_node_release(&walk->cache, node);
		}
	}
	int result = atomic_load(&walk->stop) ? 0 : ac_lane_flush(&walker->lane, &err);

	if (!result && walker->lane.hasher.failed)
		result = ac_fail(&err, EIO, "libcrypto failed");
	if (result) {
		pthread_mutex_lock(&walk->lock);
		walk->err = err;
		pthread_mutex_unlock(&walk->lock);
		atomic_store(&walk->stop, true);
	}
	return NULL;
}

unsigned ac_walk_workers(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 2)
		return 2; /* one reads while the other computes */
	return processors > AC_WALKERS_MAX ? AC_WALKERS_MAX : (unsigned)processors;
}

/* Fewer threads than wanted (RLIMIT_NPROC, say) are fine: the first one is this thread. */
void ac_walk_work(struct ac_walk *walk, struct ac_walker *walkers)
{
	pthread_t threads[AC_WALKERS_MAX];
	unsigned started = 1, wanted = walk->workers;

	while (started < wanted &&
		!pthread_create(&threads[started], NULL, work, &walkers[started]))
		started++;
	if (started < wanted) {
		pthread_mutex_lock(&walk->lock);
		if (walk->workers)
			walk->workers = started;
		pthread_cond_broadcast(&walk->wake);
		pthread_mutex_unlock(&walk->lock);
	}
	work(&walkers[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
}

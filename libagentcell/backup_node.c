/* SPDX-License-Identifier: ISC */
/* Nodes, their references and the descriptors that are kept open for them. */
#include "backup_node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backup_format.h"
#include "backup_walk.h"

#define OPEN_MAX_WANTED 1024
#define OPEN_MIN 16

void ac_node_cache_init(struct ac_node_cache *cache)
{
	struct rlimit limit = { .rlim_cur = 256 };

	getrlimit(RLIMIT_NOFILE, &limit);
	memset(cache, 0, sizeof *cache);
	pthread_mutex_init(&cache->lock, NULL);
	cache->open_max = OPEN_MAX_WANTED;
	if (limit.rlim_cur / 2 < OPEN_MAX_WANTED)
		cache->open_max = (unsigned)limit.rlim_cur / 2;
	if (cache->open_max < OPEN_MIN)
		cache->open_max = OPEN_MIN;
}

void ac_node_cache_fini(struct ac_node_cache *cache)
{
	pthread_mutex_destroy(&cache->lock);
}

struct ac_node *ac_node_new(
	struct ac_node_cache *cache, struct ac_node *parent, const char *name, size_t length)
{
	struct ac_node *node = calloc(1, sizeof *node + length + 1);

	if (!node)
		return NULL;
	memcpy(node->name, name, length);
	node->name_length = (uint16_t)length;
	node->fd = -1;
	node->references = 1;
	node->previous = AC_NONE;
	node->parent = parent;
	if (parent) {
		node->root = parent->root;
		pthread_mutex_lock(&cache->lock);
		parent->references++;
		pthread_mutex_unlock(&cache->lock);
	}
	return node;
}

/* The list functions run under the lock. */
static void take_out(struct ac_node_cache *cache, struct ac_node *node)
{
	*(node->older ? &node->older->newer : &cache->oldest) = node->newer;
	*(node->newer ? &node->newer->older : &cache->newest) = node->older;
	node->older = node->newer = NULL;
	cache->open--;
}

static void put_newest(struct ac_node_cache *cache, struct ac_node *node)
{
	node->older = cache->newest;
	node->newer = NULL;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = node;
	cache->newest = node;
	cache->open++;
}

static void evict(struct ac_node_cache *cache)
{
	struct ac_node *node = cache->oldest;

	while (node && cache->open > cache->open_max) {
		struct ac_node *newer = node->newer;

		if (!node->pins) {
			take_out(cache, node);
			ac_close_opened(node->fd, node->forced_mode);
			node->fd = -1;
		}
		node = newer;
	}
}

void ac_node_release(struct ac_node_cache *cache, struct ac_node *node)
{
	pthread_mutex_lock(&cache->lock);
	while (node && !--node->references) {
		struct ac_node *parent = node->parent;

		if (node->fd >= 0) {
			take_out(cache, node);
			ac_close_opened(node->fd, node->forced_mode);
		}
		free(node);
		node = parent;
	}
	pthread_mutex_unlock(&cache->lock);
}

static int open_again(struct ac_node_cache *cache, struct ac_node *node)
{
	struct statx st;
	const struct ac_place_to_open place = { .parent_fd = node->parent->fd,
		.name = node->name,
		.node = node->parent,
		.force = cache->force };
	int forced_mode, fd = ac_open_directory(&place, &st, &forced_mode);

	if (fd < 0)
		return fd;
	bool is_known = node->inode || !cache->is_writing;

	if ((is_known && (st.stx_ino != node->inode || ac_statx_device(&st) != node->device)) ||
		(cache->is_writing && st.stx_mnt_id != node->root->mount_id)) {
		ac_close_opened(fd, forced_mode);
		return -ESTALE;
	}
	node->inode = st.stx_ino;
	node->device = ac_statx_device(&st);
	if (cache->is_writing) {
		node->was_forced |= forced_mode >= 0;
		forced_mode = -1;
	}
	node->fd = fd;
	node->forced_mode = forced_mode;
	put_newest(cache, node);
	return 0;
}

/* Opens the closed nodes from the nearest open ancestor down to node. */
static int reopen(struct ac_node_cache *cache, struct ac_node *node)
{
	size_t depth = 0;
	int result = 0;

	for (struct ac_node *up = node; up->fd < 0; up = up->parent) {
		if (!up->parent)
			return -EBADF; /* roots stay open */
		depth++;
	}
	struct ac_node **chain = calloc(depth + 1, sizeof(void *));

	if (!chain)
		return -ENOMEM;
	for (size_t i = depth; i; i--, node = node->parent)
		chain[i - 1] = node;
	for (size_t i = 0; !result && i < depth; i++) {
		chain[i]->parent->pins++;
		result = open_again(cache, chain[i]);
		chain[i]->pins++;
		evict(cache);
		chain[i]->pins--;
		chain[i]->parent->pins--;
	}
	free(chain);
	return result;
}

int ac_node_pin(struct ac_node_cache *cache, struct ac_node *node)
{
	int result = 0;

	pthread_mutex_lock(&cache->lock);
	if (node->fd < 0) {
		result = reopen(cache, node);
	} else {
		take_out(cache, node);
		put_newest(cache, node);
	}
	if (!result) {
		node->pins++;
		result = node->fd;
	}
	pthread_mutex_unlock(&cache->lock);
	return result;
}

void ac_node_unpin(struct ac_node_cache *cache, struct ac_node *node)
{
	pthread_mutex_lock(&cache->lock);
	node->pins--;
	pthread_mutex_unlock(&cache->lock);
}

void ac_node_adopt(struct ac_node_cache *cache, struct ac_node *node, int fd, int forced_mode)
{
	pthread_mutex_lock(&cache->lock);
	node->fd = fd;
	node->forced_mode = forced_mode;
	node->pins++;
	put_newest(cache, node);
	evict(cache);
	pthread_mutex_unlock(&cache->lock);
}

char *ac_node_path_dup(const struct ac_node *node, const char *name)
{
	size_t name_length = name ? strlen(name) : 0, length = name ? name_length + 1 : 0;

	for (const struct ac_node *up = node; up && up->parent; up = up->parent)
		length += up->name_length + 1u;
	char *path = malloc(length + 2);

	if (!path)
		return NULL;
	if (!length)
		return memcpy(path, ".", 2);
	char *end = path + length - 1; /* where the last separator would be */

	*end = '\0';
	if (name) {
		end -= name_length;
		memcpy(end, name, name_length);
		if (end > path)
			*--end = '/';
	}
	for (const struct ac_node *up = node; up && up->parent; up = up->parent) {
		end -= up->name_length;
		memcpy(end, up->name, up->name_length);
		if (end > path)
			*--end = '/';
	}
	return path;
}

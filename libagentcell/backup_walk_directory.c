/* SPDX-License-Identifier: ISC */
/*
 * One directory: opened below its parent's descriptor, listed with getdents64, each name looked at.
 * While other threads are idle, a directory of many entries is given away piece by piece.
 */
#include "backup_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LISTING_ROOM (32u << 10)

struct listed { /* struct linux_dirent64 */
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Writes down the entries of one listing and pushes the directories among them. */
static int walk_listing(struct ac_walker *walker, struct ac_node *node, int fd, const char *bytes,
	size_t length, struct ac_previous *previous, struct ac_segment *segment)
{
	struct ac_node *children = NULL;
	int result = 0;

	for (size_t at = 0; at < length && result >= 0;) {
		const struct listed *listed = (const void *)(bytes + at);

		at += listed->length;
		if (is_dots(listed->name))
			continue;
		if (atomic_load_explicit(&walker->walk->stop, memory_order_relaxed)) {
			result = -ECANCELED;
			break;
		}
		struct ac_item item = { .node = node,
			.directory_fd = fd,
			.name = listed->name,
			.label = listed->name,
			.label_length = strlen(listed->name) };

		result = ac_walk_item(walker, &item, listed->type, previous, &children);
		segment->count += result == AC_ITEM_WRITTEN;
		ac_walk_progress(walker);
	}
	ac_walk_push(walker->walk, children);
	segment->length = walker->shard.length - segment->offset;
	if (result >= 0 && segment->count && ac_shard_segment(&walker->shard, segment))
		result = ac_walk_fail(walker->walk, ENOMEM, node, NULL, "note");
	return result < 0 ? result : 0;
}

static uint32_t count_listed(const char *bytes, size_t length)
{
	uint32_t count = 0;

	for (size_t at = 0; at < length; count++)
		at += ((const struct listed *)(const void *)(bytes + at))->length;
	return count;
}

int ac_walk_batch(struct ac_walker *walker, struct ac_walk_batch *batch)
{
	struct ac_node *node = batch->node;
	struct ac_previous previous;
	struct ac_segment segment = { .directory = node->number,
		.sequence = batch->sequence,
		.offset = walker->shard.length };

	ac_previous_init(&previous, node->root->previous, node->previous, batch->position);
	/* The pin that came with the batch keeps node->fd. */
	int result = walk_listing(
		walker, node, node->fd, batch->bytes, batch->length, &previous, &segment);

	ac_previous_fini(&previous);
	return result;
}

static int list_all(
	struct ac_walker *walker, struct ac_node *node, int fd, struct ac_segment *segment)
{
	_Alignas(8) char bytes[LISTING_ROOM];
	struct ac_previous previous;
	uint32_t position = 1; /* "." is entry 0 */
	int result = 0;

	ac_previous_init(&previous, node->root->previous, node->previous, position);
	while (!result) {
		long length = syscall(SYS_getdents64, fd, bytes, sizeof bytes);

		if (length < 0 && errno == ENOENT && walker->walk->request->is_tolerant)
			break;
		if (length < 0)
			result = ac_walk_fail(walker->walk, errno, node, NULL, "list");
		if (length <= 0)
			break;
		if ((size_t)length > sizeof bytes / 2 &&
			ac_walk_hand_over(walker->walk, node, bytes, (size_t)length,
				++segment->sequence, position)) {
			position += count_listed(bytes, (size_t)length);
			continue;
		}
		position += count_listed(bytes, (size_t)length);
		result = walk_listing(walker, node, fd, bytes, (size_t)length, &previous, segment);
		*segment = (struct ac_segment){ .directory = node->number,
			.sequence = segment->sequence + 1,
			.offset = walker->shard.length };
	}
	ac_previous_fini(&previous);
	return result;
}

/* The "." entry; its attributes are read only when the directory itself has changed. */
static int note_self(
	struct ac_walker *walker, struct ac_node *node, int fd, struct statx *st, unsigned flags)
{
	struct ac_item item = { .node = node,
		.directory_fd = fd,
		.name = ".",
		.label = ".",
		.label_length = 1,
		.st = *st };
	const struct ac_manifest *before = node->root->previous;
	const struct ac_entry *self = before && node->previous != AC_NONE
					      ? ac_manifest_self(before, node->previous)
					      : NULL;
	size_t offset;
	int result = ac_walk_note(walker, &item, flags, &offset);

	if (result || fd < 0)
		return result;
	if (self && self->inode == st->stx_ino && self->ctime_s == st->stx_ctime.tv_sec &&
		self->ctime_ns == st->stx_ctime.tv_nsec && !self->flags &&
		ac_walk_trusts(node->root, self)) {
		const struct ac_side *side = NULL;

		while ((side = ac_entry_side(self, side)))
			if (ac_shard_side(&walker->shard, offset, (enum ac_side_kind)side->kind,
				    ac_side_bytes(side), side->length, NULL, 0))
				return -ENOMEM;
		return 0;
	}
	result = ac_walk_xattrs(walker, offset, fd, NULL);
	return result ? ac_walk_fail(walker->walk, -result, node, NULL, "read the attributes of")
		      : 0;
}

/* What cannot be entered is written down as that. */
static int note_closed(
	struct ac_walker *walker, struct ac_node *node, struct statx *st, enum ac_entry_flags flag)
{
	struct ac_segment segment = {
		.directory = node->number, .count = 1, .offset = walker->shard.length
	};

	/* Another mount is not in the session's view, so nothing of it can be lost. */
	if (flag != AC_ENTRY_MOUNT)
		ac_walk_unreadable(walker->walk, node, NULL);
	int result = note_self(walker, node, -1, st, (unsigned)flag);

	segment.length = walker->shard.length - segment.offset;
	return result ? result : ac_shard_segment(&walker->shard, &segment);
}

static int open_node(struct ac_walker *walker, struct ac_node *node, struct statx *st)
{
	struct ac_walk *walk = walker->walk;
	int forced_mode, parent_fd = ac_node_pin(&walk->cache, node->parent);

	if (parent_fd < 0)
		return ac_walk_fail(walk, -parent_fd, node, NULL, "find the way back to");
	const struct ac_place_to_open place = { .parent_fd = parent_fd,
		.name = node->name,
		.node = node->parent,
		.force = walk->cache.force };
	int fd = ac_open_directory(&place, st, &forced_mode);

	if (fd == -EACCES &&
		statx(parent_fd, node->name, AT_SYMLINK_NOFOLLOW, AC_STATX_MASK, st) < 0) {
		fd = -errno;
		/* In a directory that may be listed and not searched: its kind is all that is known. */
		memset(st, 0, sizeof *st);
		st->stx_mode = S_IFDIR;
	}
	ac_node_unpin(&walk->cache, node->parent);
	if (fd < 0)
		return fd;
	node->inode = st->stx_ino;
	node->device = ac_statx_device(st);
	ac_node_adopt(&walk->cache, node, fd, forced_mode);
	return fd;
}

static int enter(struct ac_walker *walker, struct ac_node *node, int fd, struct statx *st)
{
	struct ac_segment segment = {
		.directory = node->number, .count = 1, .offset = walker->shard.length
	};
	unsigned flags = node->is_excluded ? AC_ENTRY_EXCLUDED : 0;

	pthread_mutex_lock(&walker->walk->lock);
	walker->walk->directories[node->number].device = node->device;
	pthread_mutex_unlock(&walker->walk->lock);
	atomic_fetch_add_explicit(&walker->walk->folders, 1, memory_order_relaxed);
	int result = note_self(walker, node, fd, st, flags);

	if (result)
		return result;
	/* Alone in a segment, so that an empty directory has one, and the first. */
	segment.length = walker->shard.length - segment.offset;
	if (ac_shard_segment(&walker->shard, &segment))
		return ac_walk_fail(walker->walk, ENOMEM, node, NULL, "note");
	segment = (struct ac_segment){
		.directory = node->number, .sequence = 1, .offset = walker->shard.length
	};
	return list_all(walker, node, fd, &segment);
}

int ac_walk_directory(struct ac_walker *walker, struct ac_node *node)
{
	struct ac_walk *walk = walker->walk;
	struct statx st = { .stx_mode = 0 };
	int fd, result;

	if (node->parent) {
		fd = open_node(walker, node, &st);
	} else {
		fd = ac_node_pin(&walk->cache, node);
		if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, &st) < 0)
			return ac_walk_fail(walk, errno, node, NULL, "stat");
	}
	if (fd == -EACCES)
		return note_closed(walker, node, &st, AC_ENTRY_UNREADABLE);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return walk->request->is_tolerant ? 0
						  : ac_walk_fail(walk, ENOENT, node, NULL,
							    "something removed the directory");
	if (fd < 0)
		return walk->err.code ? fd : ac_walk_fail(walk, -fd, node, NULL, "open");
	if (st.stx_mnt_id != node->root->mount_id)
		result = note_closed(walker, node, &st, AC_ENTRY_MOUNT);
	else
		result = enter(walker, node, fd, &st);
	ac_node_unpin(&walk->cache, node);
	return result;
}

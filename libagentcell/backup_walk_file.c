/* SPDX-License-Identifier: ISC */
/*
 * One regular file: taken over unread, or read, hashed and packed, and read again when it changed
 * meanwhile.
 */
#include "backup_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

#define TRIES 4 /* the first and three more */
#define SMALL_MAX (256 << 10)

static bool is_same(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_size == b->stx_size &&
	       a->stx_ctime.tv_sec == b->stx_ctime.tv_sec &&
	       a->stx_ctime.tv_nsec == b->stx_ctime.tv_nsec &&
	       a->stx_mtime.tv_sec == b->stx_mtime.tv_sec &&
	       a->stx_mtime.tv_nsec == b->stx_mtime.tv_nsec && S_ISREG(b->stx_mode);
}

/* Reads want bytes unless the file ends before. */
static ssize_t read_fully(int fd, unsigned char *to, size_t want, uint64_t offset)
{
	size_t done = 0;

	while (done < want) {
		ssize_t got = pread(fd, to + done, want - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* *done: how much of the range there was to read; less than length means that the file shrank. */
static int read_range(struct ac_walker *walker, int fd, uint64_t offset, uint64_t length,
	uint64_t *done, struct ac_err *err)
{
	*done = 0;
	while (*done < length) {
		uint64_t left = length - *done;
		size_t want = left < AC_CHUNK_MAX ? (size_t)left : AC_CHUNK_MAX;
		unsigned char *space;
		struct ac_hash hash;
		struct ac_place place;
		int result = ac_lane_space(&walker->lane, &space, err);
		ssize_t got = result ? 0 : read_fully(fd, space, want, offset + *done);

		if (!result && got < 0)
			result = ac_fail_errno(err, (int)-got, "read");
		if (result || !got)
			return result;
		result = ac_lane_take(&walker->lane, (size_t)got, &hash, &place, err);
		if (!result && ac_shard_reference(&walker->shard, &hash, &place))
			result = ac_fail_errno(err, ENOMEM, "note");
		if (result)
			return result;
		*done += (uint64_t)got;
		ac_walk_progress(walker);
		if ((size_t)got < want)
			break;
	}
	return 0;
}

struct extents {
	struct ac_extent *list;
	size_t count, room;
};

static int add_extent(struct extents *extents, uint64_t offset, uint64_t length)
{
	if (extents->count == extents->room) {
		size_t room = extents->room ? extents->room * 2 : 16;
		void *grown = reallocarray(extents->list, room, sizeof extents->list[0]);

		if (!grown)
			return -ENOMEM;
		extents->list = grown;
		extents->room = room;
	}
	extents->list[extents->count++] = (struct ac_extent){ .offset = offset, .length = length };
	return 0;
}

static int read_extents(struct ac_walker *walker, int fd, uint64_t size, struct extents *extents,
	struct ac_err *err)
{
	uint64_t at = 0;

	while (at < size) {
		off_t start = lseek(fd, (off_t)at, SEEK_DATA);
		off_t end = start < 0 ? -1 : lseek(fd, start, SEEK_HOLE);
		uint64_t length, done;

		if (start < 0 && errno == ENXIO)
			return 0;
		if (start < 0 || end < 0)
			return ac_fail_errno(err, errno, "look for holes");
		if ((uint64_t)start >= size)
			return 0;
		length = ((uint64_t)end < size ? (uint64_t)end : size) - (uint64_t)start;
		int result = read_range(walker, fd, (uint64_t)start, length, &done, err);

		if (!result && done && add_extent(extents, (uint64_t)start, done))
			result = ac_fail_errno(err, ENOMEM, "note");
		if (result || done < length)
			return result;
		at = (uint64_t)end;
	}
	return 0;
}

static int read_sparse(struct ac_walker *walker, int fd, size_t offset, struct ac_err *err)
{
	struct extents extents = { NULL, 0, 0 };
	struct ac_entry *entry = (void *)(walker->shard.entries + offset);
	int result = read_extents(walker, fd, entry->size, &extents, err);

	entry->flags |= AC_ENTRY_SPARSE;
	if (!result && ac_shard_side(&walker->shard, offset, AC_SIDE_EXTENTS, extents.list,
			       extents.count * sizeof extents.list[0], NULL, 0))
		result = ac_fail_errno(err, ENOMEM, "note");
	free(extents.list);
	return result;
}

/* The open file's content, behind the entry at offset. */
static int read_content(struct ac_walker *walker, const struct ac_item *item, int fd, size_t offset)
{
	struct ac_shard *shard = &walker->shard;
	const uint32_t first = shard->reference_count;
	const struct statx *st = &item->st;
	struct ac_err err = { 0, "" };
	uint64_t done;
	int result;

	if (st->stx_size && st->stx_blocks * 512 < st->stx_size) {
		result = read_sparse(walker, fd, offset, &err);
	} else {
		result = read_range(walker, fd, 0, st->stx_size, &done, &err);
		if (!result) /* a file that shrank is as long as what was read */
			((struct ac_entry *)(void *)(shard->entries + offset))->size = done;
	}
	if (result)
		return ac_walk_fail_with(walker->walk, &err, item->node, item->name);
	struct ac_entry *entry = (void *)(shard->entries + offset);

	entry->first = first;
	entry->count = shard->reference_count - first;
	return 0;
}

static int note_unreadable(struct ac_walker *walker, const struct ac_item *item)
{
	size_t offset;

	ac_walk_unreadable(walker->walk, item->node, item->name);
	return ac_walk_note(walker, item, AC_ENTRY_UNREADABLE, &offset);
}

static int not_opened(struct ac_walker *walker, const struct ac_item *item, int code)
{
	switch (code) {
	case ENOENT:
		return AC_ITEM_GONE;
	case ELOOP:
	case ENXIO:
	case ENODEV:
	case ENOTDIR:
	case EISDIR:
		return AC_ITEM_OTHER;
	case EACCES:
	case EPERM:
	case EAGAIN: /* leased, and the holder does not let go */
		return note_unreadable(walker, item);
	default:
		return ac_walk_fail(walker->walk, code, item->node, item->name, "open");
	}
}

/* READ_AGAIN: it changed meanwhile, and item->st is what it is now. */
enum { READ_AGAIN = AC_ITEM_OTHER + 1 };

static int read_once(
	struct ac_walker *walker, struct ac_item *item, int fd, int *forced_mode, bool is_last)
{
	struct statx after;
	size_t offset;
	const bool was_forced = *forced_mode >= 0;
	int result = ac_walk_note(walker, item, 0, &offset);

	if (!result && was_forced)
		result = ac_walk_give_mode_back(walker, item, fd, offset, forced_mode);
	if (!result)
		result = read_content(walker, item, fd, offset);
	if (!result && !was_forced)
		result = ac_walk_attributes(walker, item, fd, offset);
	if (result)
		return result;
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, &after) < 0)
		return ac_walk_fail(walker->walk, errno, item->node, item->name, "stat");
	if (is_same(&item->st, &after))
		return AC_ITEM_WRITTEN;
	if (!S_ISREG(after.stx_mode))
		return AC_ITEM_OTHER;
	item->st = after;
	if (!is_last)
		return READ_AGAIN;
	((struct ac_entry *)(void *)(walker->shard.entries + offset))->flags |= AC_ENTRY_TORN;
	ac_walk_torn(walker->walk, item->node, item->name);
	return AC_ITEM_WRITTEN;
}

int ac_walk_file(struct ac_walker *walker, struct ac_item *item)
{
	struct ac_shard *shard = &walker->shard;
	const struct ac_place_to_open place = { .parent_fd = item->directory_fd,
		.name = item->name,
		.node = item->node,
		.force = walker->walk->cache.force };

	for (unsigned tries = 1;; tries++) {
		const size_t length = shard->length;
		const uint32_t references = shard->reference_count;
		int forced_mode, fd = ac_open_file(&place, &item->st, &forced_mode);

		if (fd < 0)
			return not_opened(walker, item, -fd);
		int result = read_once(walker, item, fd, &forced_mode, tries == TRIES);

		ac_close_opened(fd, forced_mode);
		if (result != AC_ITEM_OTHER && result != READ_AGAIN)
			return result;
		shard->length = length;
		shard->reference_count = references;
		if (result == AC_ITEM_OTHER)
			return result;
	}
}

static int take_small(
	struct ac_walker *walker, const struct ac_item *item, int fd, size_t length, size_t offset)
{
	struct ac_shard *shard = &walker->shard;
	struct ac_entry *entry = (void *)(shard->entries + offset);
	struct ac_walk *walk = walker->walk;
	struct ac_hash hash;
	struct ac_place place;
	struct ac_err err;
	int result = 0;

	entry->first = shard->reference_count;
	entry->count = length ? 1 : 0;
	if (length)
		result = ac_lane_take(&walker->lane, length, &hash, &place, &err);
	if (!result && length && ac_shard_reference(shard, &hash, &place))
		result = ac_fail_errno(&err, ENOMEM, "note");
	if (result)
		return ac_walk_fail_with(walk, &err, item->node, item->name);
	result = ac_walk_xattrs(walker, offset, fd, NULL);
	if (result)
		return ac_walk_fail(
			walk, -result, item->node, item->name, "read the attributes of");
	atomic_fetch_add_explicit(&walk->bytes, length, memory_order_relaxed);
	atomic_fetch_add_explicit(&walk->files, 1, memory_order_relaxed);
	return AC_ITEM_WRITTEN;
}

/*
 * Content first and one stat after it: when the file's ctime is older than the moment before the open
 * by more than any clock's grain, nothing can have changed it while it was read.
 */
int ac_walk_small_file(struct ac_walker *walker, struct ac_item *item)
{
	struct statx *st = &item->st;
	struct timespec now;
	unsigned char *space;
	size_t offset;
	struct ac_err err;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ac_autoclose int fd = openat(item->directory_fd, item->name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_NOATIME | O_CLOEXEC);

	if (fd < 0)
		return AC_ITEM_OTHER;
	/* What a failed write was to hold is indexed already: the backup is over, nothing else. */
	if (ac_lane_space(&walker->lane, &space, &err))
		return ac_walk_fail_with(walker->walk, &err, item->node, item->name);
	ssize_t got = pread(fd, space, SMALL_MAX, 0);

	if (got < 0 || statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0 ||
		!S_ISREG(st->stx_mode) || (uint64_t)got != st->stx_size || got == SMALL_MAX ||
		st->stx_blocks * 512 < st->stx_size || st->stx_nlink != 1 ||
		st->stx_ctime.tv_sec >= now.tv_sec - 2 ||
		st->stx_mnt_id != item->node->root->mount_id)
		return AC_ITEM_OTHER;
	int result = ac_walk_note(walker, item, 0, &offset);

	if (!result)
		result = take_small(walker, item, fd, (size_t)got, offset);
	return result;
}

static int map_packs(struct ac_walker *walker, const struct ac_manifest *previous)
{
	const struct ac_shelf *shelf = walker->walk->request->shelf;

	if (walker->pack_map_of == previous)
		return 0;
	free(walker->pack_map);
	walker->pack_map_of = NULL;
	walker->pack_map = ac_manifest_map_packs(previous, shelf);
	if (!walker->pack_map)
		return -ENOMEM;
	walker->pack_map_of = previous;
	return 0;
}

/* The references of an unchanged file, as long as the store still has what they mean. */
static int take_references(
	struct ac_walker *walker, const struct ac_manifest *from, const struct ac_entry *previous)
{
	const struct ac_shelf *shelf = walker->walk->request->shelf;
	const uint32_t references = walker->shard.reference_count;

	if (shelf && map_packs(walker, from))
		return -ENOMEM;
	for (uint32_t i = 0; i < previous->count; i++) {
		const struct ac_hash *hash = &from->hashes[previous->first + i];
		struct ac_place place = from->places[previous->first + i];

		if (shelf) {
			place.pack = place.pack < from->pack_count ? walker->pack_map[place.pack]
								   : AC_NONE;
			if (!ac_shelf_has(shelf, &place, hash) &&
				!ac_shelf_find(shelf, hash, &place)) {
				walker->shard.reference_count = references;
				return 0;
			}
		}
		if (ac_shard_reference(&walker->shard, hash, &place))
			return -ENOMEM;
	}
	return 1;
}

int ac_walk_unchanged(
	struct ac_walker *walker, const struct ac_item *item, const struct ac_entry *previous)
{
	const struct statx *st = &item->st;
	const uint32_t first = walker->shard.reference_count;

	if (!previous || previous->type == AC_ENTRY_DIRECTORY || previous->inode != st->stx_ino ||
		previous->size != st->stx_size || previous->mode != (st->stx_mode & 07777u) ||
		previous->ctime_s != st->stx_ctime.tv_sec ||
		previous->ctime_ns != st->stx_ctime.tv_nsec ||
		(previous->flags & ~AC_ENTRY_SPARSE) || !ac_walk_trusts(item->node->root, previous))
		return 0;
	if (previous->type == AC_ENTRY_REGULAR) {
		int result = take_references(walker, item->node->root->previous, previous);

		if (result <= 0)
			return result;
	}
	size_t offset = walker->shard.length;

	if (ac_shard_copy(&walker->shard, previous, previous->length))
		return -ENOMEM;
	struct ac_entry *entry = (void *)(walker->shard.entries + offset);

	entry->first = previous->type == AC_ENTRY_REGULAR ? first : previous->first;
	entry->links = st->stx_nlink;
	return 1;
}

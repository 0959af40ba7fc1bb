/* SPDX-License-Identifier: ISC */
/*
 * Lanes and the pack they write.  The lock is held for table updates only; reading, hashing,
 * compressing and writing run beside each other.  Blocks may land in any order, and do.
 */
#include "backup_packer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "safefile.h"

#define CONTENT_LEVEL 1

int ac_packer_init(
	struct ac_packer *packer, struct ac_shelf *shelf, bool is_dry, struct ac_err *err)
{
	memset(packer, 0, sizeof *packer);
	packer->shelf = shelf;
	packer->fd = -1;
	packer->is_dry = is_dry;
	pthread_mutex_init(&packer->lock, NULL);
	packer->slot_mask = (1u << 12) - 1;
	packer->slots = malloc((packer->slot_mask + 1) * sizeof packer->slots[0]);
	if (!packer->slots)
		return ac_fail_errno(err, ENOMEM, "prepare a pack");
	memset(packer->slots, 0xff, (packer->slot_mask + 1) * sizeof packer->slots[0]);
	return ac_store_random(packer->id.byte, sizeof packer->id.byte, err);
}

void ac_packer_fini(struct ac_packer *packer)
{
	if (packer->fd >= 0) {
		close(packer->fd);
		if (packer->temporary[0])
			unlinkat(packer->shelf->store_fd, packer->temporary, 0);
	}
	free(packer->blocks);
	free(packer->rows);
	free(packer->slots);
	pthread_mutex_destroy(&packer->lock);
	memset(packer, 0, sizeof *packer);
	packer->fd = -1;
}

int ac_lane_init(struct ac_lane *lane, struct ac_packer *packer, struct ac_err *err)
{
	memset(lane, 0, sizeof *lane);
	lane->packer = packer;
	lane->block = AC_NONE;
	lane->packed_room = ZSTD_compressBound(AC_LANE_ROOM);
	lane->buffer = malloc(AC_LANE_ROOM + 1);
	lane->packed = packer->is_dry ? NULL : malloc(lane->packed_room);
	lane->scratch = packer->is_dry ? NULL : malloc(AC_SCRATCH);
	lane->context = packer->is_dry ? NULL : ZSTD_createCCtx();
	int result = ac_hasher_init(&lane->hasher, err);

	if (!result && (!lane->buffer || (!packer->is_dry && (!lane->packed || !lane->scratch ||
								     !lane->context))))
		result = ac_fail_errno(err, ENOMEM, "prepare to compress");
	if (result)
		ac_lane_fini(lane);
	return result;
}

void ac_lane_fini(struct ac_lane *lane)
{
	ac_hasher_fini(&lane->hasher);
	ZSTD_freeCCtx(lane->context);
	free(lane->buffer);
	free(lane->packed);
	free(lane->scratch);
	memset(lane, 0, sizeof *lane);
}

static int grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return 0;
	uint32_t more = *room ? *room * 2 : 256;
	void *grown = more > *room ? reallocarray(*array, more, size) : NULL;

	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = more;
	return 0;
}

/* Under the lock: the first flush makes the file, so that a backup without news writes no pack. */
static int open_file(struct ac_packer *packer, struct ac_err *err)
{
	static const char magic[] = AC_PACK_MAGIC;

	if (packer->fd >= 0)
		return 0;
	int fd = ac_store_temporary(packer->shelf->store_fd, packer->temporary, err);

	if (fd < 0)
		return fd;
	packer->fd = fd;
	packer->offset = sizeof magic - 1;
	if (pwrite(fd, magic, sizeof magic - 1, 0) != (ssize_t)sizeof magic - 1)
		return ac_fail_errno(err, errno, "write a pack");
	return 0;
}

int ac_pack_write_block(int fd, const unsigned char *bytes, size_t length, uint64_t offset,
	unsigned char *scratch, struct ac_err *err)
{
	int result = ac_store_write(fd, bytes, length, offset);

	for (size_t at = 0; !result && at < length;) {
		size_t want = length - at < AC_SCRATCH ? length - at : AC_SCRATCH;
		ssize_t got = pread(fd, scratch, want, (off_t)(offset + at));

		if (got < 0)
			result = -errno;
		else if (!got || memcmp(scratch, bytes + at, (size_t)got) != 0)
			result = -EBADMSG;
		else
			at += (size_t)got;
	}
	return result ? ac_fail_errno(err, -result, "write %zu bytes to the backup store", length)
		      : 0;
}

static int write_block(struct ac_lane *lane, size_t stored, struct ac_err *err)
{
	struct ac_packer *packer = lane->packer;
	struct ac_pack_block block = { .stored = (uint32_t)stored, .raw = (uint32_t)lane->used };

	pthread_mutex_lock(&packer->lock);
	int result = open_file(packer, err);

	block.offset = packer->offset;
	if (!result) {
		packer->offset += stored;
		packer->blocks[lane->block] = block;
	}
	pthread_mutex_unlock(&packer->lock);
	if (result)
		return result;
	result = ac_pack_write_block(
		packer->fd, lane->packed, stored, block.offset, lane->scratch, err);
	if (result)
		return result;
	/* Start the disk now, so that the fdatasync at the end finds little left to do. */
	sync_file_range(packer->fd, (off_t)block.offset, (off_t)stored, SYNC_FILE_RANGE_WRITE);
	return 0;
}

int ac_lane_flush(struct ac_lane *lane, struct ac_err *err)
{
	if (!lane->used || lane->packer->is_dry) {
		lane->used = 0;
		return 0;
	}
	size_t stored = ZSTD_compressCCtx(lane->context, lane->packed, lane->packed_room,
		lane->buffer, lane->used, CONTENT_LEVEL);

	if (ZSTD_isError(stored))
		return ac_fail(err, EIO, "compress: %s", ZSTD_getErrorName(stored));
	int result = write_block(lane, stored, err);

	if (result)
		atomic_store(&lane->packer->is_broken, true);
	lane->used = 0;
	lane->block = AC_NONE;
	return result;
}

int ac_lane_space(struct ac_lane *lane, unsigned char **space, struct ac_err *err)
{
	if (lane->used >= AC_LANE_TARGET) {
		int result = ac_lane_flush(lane, err);

		if (result)
			return result;
	}
	*space = lane->buffer + lane->used;
	return 0;
}

static uint64_t slot_of(const struct ac_hash *hash)
{
	uint64_t key;

	memcpy(&key, hash->byte, sizeof key);
	return key;
}

static void add_slot(uint32_t *slots, uint64_t mask, const struct ac_hash *hash, uint32_t row)
{
	uint64_t slot = slot_of(hash) & mask;

	while (slots[slot] != AC_NONE)
		slot = (slot + 1) & mask;
	slots[slot] = row;
}

static int grow_slots(struct ac_packer *packer)
{
	if ((uint64_t)packer->row_count * 2 < packer->slot_mask)
		return 0;
	uint64_t count = (packer->slot_mask + 1) * 4;
	uint32_t *slots = malloc(count * sizeof slots[0]);

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, count * sizeof slots[0]);
	for (uint32_t row = 0; row < packer->row_count; row++)
		add_slot(slots, count - 1, &packer->rows[row].hash, row);
	free(packer->slots);
	packer->slots = slots;
	packer->slot_mask = count - 1;
	return 0;
}

static uint32_t find_slot(const struct ac_packer *packer, const struct ac_hash *hash)
{
	uint64_t slot = slot_of(hash) & packer->slot_mask;

	for (; packer->slots[slot] != AC_NONE; slot = (slot + 1) & packer->slot_mask)
		if (ac_hash_equals(&packer->rows[packer->slots[slot]].hash, hash))
			return packer->slots[slot];
	return AC_NONE;
}

/* GCC 12's analyzer loses track of what packer->slots holds after grow_slots and calls it leaked. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif
/* Under the lock.  1: new, the lane keeps the bytes; 0: known. */
static int enter_row(struct ac_lane *lane, size_t length, const struct ac_hash *hash, uint32_t *row)
{
	struct ac_packer *packer = lane->packer;
	void *blocks = packer->blocks, *rows = packer->rows;

	*row = find_slot(packer, hash);
	if (*row != AC_NONE)
		return 0;
	if (packer->row_count == AC_NONE - 1 ||
		grow(&rows, packer->row_count, &packer->row_room, sizeof packer->rows[0]))
		return -ENOMEM;
	packer->rows = rows;
	if (lane->block == AC_NONE) {
		if (grow(&blocks, packer->block_count, &packer->block_room,
			    sizeof packer->blocks[0]))
			return -ENOMEM;
		packer->blocks = blocks;
		lane->block = packer->block_count++;
	}
	if (grow_slots(packer))
		return -ENOMEM;
	*row = packer->row_count++;
	packer->rows[*row] = (struct ac_pack_row){ .hash = *hash,
		.block = lane->block,
		.offset = (uint32_t)lane->used,
		.length = (uint32_t)length };
	add_slot(packer->slots, packer->slot_mask, hash, *row);
	return 1;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

int ac_lane_take(struct ac_lane *lane, size_t length, struct ac_hash *hash, struct ac_place *place,
	struct ac_err *err)
{
	struct ac_packer *packer = lane->packer;

	ac_hasher_hash(&lane->hasher, lane->buffer + lane->used, length, hash);
	*place = (struct ac_place){ .pack = AC_NONE, .row = AC_NONE };
	if (packer->is_dry || ac_shelf_find(packer->shelf, hash, place))
		return 0;
	pthread_mutex_lock(&packer->lock);
	place->pack = packer->shelf->count;
	int result = enter_row(lane, length, hash, &place->row);

	pthread_mutex_unlock(&packer->lock);
	if (result < 0)
		return ac_fail_errno(err, ENOMEM, "index a pack");
	if (result) {
		lane->used += length;
		atomic_fetch_add_explicit(&packer->new_bytes, length, memory_order_relaxed);
	}
	return 0;
}

int ac_pack_write_tables(int fd, struct ac_pack_trailer *trailer,
	const struct ac_pack_block *blocks, const struct ac_pack_row *rows, struct ac_err *err)
{
	const size_t block_bytes = trailer->blocks * sizeof blocks[0];
	const size_t row_bytes = trailer->rows * sizeof rows[0];
	struct ac_hasher hasher;
	int result = ac_hasher_init(&hasher, err);

	if (result)
		return result;
	trailer->version = AC_FORMAT_VERSION;
	memcpy(trailer->magic, AC_PACK_MAGIC, sizeof trailer->magic);
	ac_hasher_start(&hasher);
	ac_hasher_add(&hasher, blocks, block_bytes);
	ac_hasher_add(&hasher, rows, row_bytes);
	ac_hasher_add(&hasher, trailer, offsetof(struct ac_pack_trailer, hash));
	ac_hasher_end(&hasher, &trailer->hash);
	result = hasher.failed ? -EIO : 0;
	ac_hasher_fini(&hasher);
	if (!result)
		result = ac_store_write(
			fd, (const unsigned char *)blocks, block_bytes, trailer->tables);
	if (!result)
		result = ac_store_write(
			fd, (const unsigned char *)rows, row_bytes, trailer->tables + block_bytes);
	if (!result)
		result = ac_store_write(fd, (const unsigned char *)trailer, sizeof *trailer,
			trailer->tables + block_bytes + row_bytes);
	if (!result && fdatasync(fd) < 0)
		result = -errno;
	return result ? ac_fail_errno(err, -result, "write a pack to the backup store") : 0;
}

int ac_packer_finish(struct ac_packer *packer, struct ac_err *err)
{
	char name[AC_STORE_NAME_MAX];
	struct ac_shelf *shelf = packer->shelf;

	if (packer->is_dry || !packer->row_count)
		return 0;
	if (atomic_load(&packer->is_broken)) /* whoever forgot to say so: its tables would lie */
		return ac_fail(err, EIO, "a pack was not written whole");
	struct ac_pack_trailer trailer = { .tables = packer->offset,
		.blocks = packer->block_count,
		.rows = packer->row_count,
		.id = packer->id };
	int result = ac_pack_write_tables(packer->fd, &trailer, packer->blocks, packer->rows, err);

	if (result)
		return result;
	ac_store_pack_name(name, &packer->id);
	if (renameat(shelf->store_fd, packer->temporary, shelf->store_fd, name) < 0)
		return ac_fail_errno(err, errno, "name a pack");
	packer->temporary[0] = '\0';
	struct ac_pack pack;

	result = ac_pack_open(&pack, shelf->store_fd, &packer->id, err);
	if (result)
		return result;
	result = ac_pack_check_blocks(&pack, err);
	if (result) {
		free(pack.tables);
		return result;
	}
	ac_shelf_add(shelf, &pack);
	return 0;
}

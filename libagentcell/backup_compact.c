/* SPDX-License-Identifier: ISC */
/*
 * Writing a pack anew without the chunks that nobody needs.  Rows keep their numbers, dead ones lose
 * their place; the new file replaces the old one by rename under the same name, so every manifest
 * stays right at every moment.
 */
#include "backup_prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "backup_packer.h"
#include "safefile.h"
#include "util.h"

#define COMPACT_LEVEL 3 /* nobody waits */

struct compact {
	const struct ac_pack *old;
	struct ac_chunk_reader reader;
	int fd;
	struct ac_pack_block *blocks;
	struct ac_pack_row *rows;
	uint32_t block_count;
	uint64_t offset;
	unsigned char *buffer, *packed, *scratch;
	size_t used, room;
};

static int flush(struct compact *compact, struct ac_err *err)
{
	struct ac_pack_block *block = &compact->blocks[compact->block_count];

	if (!compact->used)
		return 0;
	size_t stored = ZSTD_compress(
		compact->packed, compact->room, compact->buffer, compact->used, COMPACT_LEVEL);

	if (ZSTD_isError(stored))
		return ac_fail(err, EIO, "compress: %s", ZSTD_getErrorName(stored));
	block->offset = compact->offset;
	block->stored = (uint32_t)stored;
	block->raw = (uint32_t)compact->used;
	int result = ac_pack_write_block(
		compact->fd, compact->packed, stored, compact->offset, compact->scratch, err);

	if (result)
		return result;
	compact->offset += stored;
	compact->block_count++;
	compact->used = 0;
	return 0;
}

/* Rows lie in the order of their blocks nearly everywhere, so each block is expanded about once. */
static int copy_rows(struct compact *compact, const uint32_t *counts, struct ac_err *err)
{
	const uint32_t pack = (uint32_t)(compact->old - compact->reader.shelf->packs);

	for (uint32_t i = 0; i < compact->old->row_count; i++) {
		struct ac_pack_row row = compact->old->rows[i];
		const struct ac_place place = { .pack = pack, .row = i };
		const unsigned char *bytes;
		uint32_t length;
		int result = 0;

		if (!counts[i] || row.block == AC_NONE) {
			row.block = AC_NONE;
			compact->rows[i] = row;
			continue;
		}
		if (compact->used + row.length > AC_LANE_ROOM)
			result = flush(compact, err);
		if (!result)
			result = ac_chunk_read(
				&compact->reader, &row.hash, &place, &bytes, &length, err);
		if (result)
			return result;
		memcpy(compact->buffer + compact->used, bytes, length);
		row.block = compact->block_count;
		row.offset = (uint32_t)compact->used;
		compact->used += length;
		compact->rows[i] = row;
	}
	return flush(compact, err);
}

static int write_pack(struct compact *compact, const uint32_t *counts, struct ac_err *err)
{
	static const char magic[] = AC_PACK_MAGIC;
	int result = ac_write_all(compact->fd, magic, sizeof magic - 1);

	if (result)
		return ac_fail_errno(err, -result, "write a pack to the backup store");
	compact->offset = sizeof magic - 1;
	result = copy_rows(compact, counts, err);
	if (result)
		return result;
	struct ac_pack_trailer trailer = { .tables = compact->offset,
		.blocks = compact->block_count,
		.rows = compact->old->row_count,
		.id = compact->old->id };

	return ac_pack_write_tables(compact->fd, &trailer, compact->blocks, compact->rows, err);
}

static int replace(struct compact *compact, const char *temporary, struct ac_err *err)
{
	const int store_fd = compact->reader.shelf->store_fd;
	const struct ac_pack written = { .blocks = compact->blocks,
		.block_count = compact->block_count,
		.row_count = compact->old->row_count,
		.file_length = compact->offset + sizeof(struct ac_pack_trailer) +
			       compact->block_count * sizeof(struct ac_pack_block) +
			       compact->old->row_count * sizeof(struct ac_pack_row) };
	char name[AC_STORE_NAME_MAX];
	int result = ac_pack_check_blocks(&written, err);

	if (result)
		return result;
	ac_store_pack_name(name, &compact->old->id);
	if (renameat(store_fd, temporary, store_fd, name) < 0)
		return ac_fail_errno(err, errno, "replace pack %s", name);
	return 0;
}

static int prepare(struct compact *compact)
{
	const size_t rows = compact->old->row_count;

	compact->blocks = calloc(rows + 1, sizeof compact->blocks[0]);
	compact->rows = calloc(rows + 1, sizeof compact->rows[0]);
	compact->buffer = malloc(AC_LANE_ROOM);
	compact->packed = malloc(compact->room);
	compact->scratch = malloc(AC_SCRATCH);
	return compact->blocks && compact->rows && compact->buffer && compact->packed &&
			       compact->scratch
		       ? 0
		       : -ENOMEM;
}

static void free_compact(struct compact *compact)
{
	if (compact->fd >= 0)
		close(compact->fd);
	free(compact->blocks);
	free(compact->rows);
	free(compact->buffer);
	free(compact->packed);
	free(compact->scratch);
	ac_chunk_reader_fini(&compact->reader);
}

int ac_pack_compact(
	const struct ac_shelf *shelf, uint32_t pack, const uint32_t *counts, struct ac_err *err)
{
	struct compact compact = {
		.old = &shelf->packs[pack], .fd = -1, .room = ZSTD_compressBound(AC_LANE_ROOM)
	};
	char temporary[AC_STORE_NAME_MAX] = "";
	int result = ac_chunk_reader_init(&compact.reader, shelf, err);

	if (result)
		return result;
	if (prepare(&compact))
		result = ac_fail_errno(err, ENOMEM, "rewrite a pack");
	if (!result) {
		compact.fd = ac_store_temporary(shelf->store_fd, temporary, err);
		result = compact.fd < 0 ? compact.fd : write_pack(&compact, counts, err);
	}
	if (!result)
		result = replace(&compact, temporary, err);
	if (result && compact.fd >= 0)
		unlinkat(shelf->store_fd, temporary, 0);
	free_compact(&compact);
	return result;
}

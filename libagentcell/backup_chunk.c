/* SPDX-License-Identifier: ISC */
/*
 * Reading content out of packs.  Every chunk's hash is checked before a byte of it is used, so a
 * damaged pack shows itself here and nowhere later.
 */
#include "backup_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "backup_store.h"
#include "util.h"

int ac_chunk_reader_init(
	struct ac_chunk_reader *reader, const struct ac_shelf *shelf, struct ac_err *err)
{
	memset(reader, 0, sizeof *reader);
	reader->shelf = shelf;
	reader->fd = -1;
	reader->fd_pack = reader->pack = reader->block = AC_NONE;
	reader->context = ZSTD_createDCtx();
	if (!reader->context)
		return ac_fail_errno(err, ENOMEM, "prepare to read packs");
	int result = ac_hasher_init(&reader->hasher, err);

	if (result)
		ZSTD_freeDCtx(reader->context);
	return result;
}

void ac_chunk_reader_fini(struct ac_chunk_reader *reader)
{
	ac_hasher_fini(&reader->hasher);
	ZSTD_freeDCtx(reader->context);
	free(reader->raw);
	free(reader->stored);
	if (reader->fd >= 0)
		close(reader->fd);
	memset(reader, 0, sizeof *reader);
	reader->fd = -1;
}

static int open_pack(struct ac_chunk_reader *reader, uint32_t pack)
{
	char name[AC_STORE_NAME_MAX];

	if (reader->fd_pack == pack)
		return 0;
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd_pack = AC_NONE;
	ac_store_pack_name(name, &reader->shelf->packs[pack].id);
	reader->fd = openat(reader->shelf->store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (reader->fd < 0)
		return -errno;
	reader->fd_pack = pack;
	return 0;
}

static int make_room(unsigned char **bytes, size_t *room, size_t needed)
{
	if (*room >= needed)
		return 0;
	free(*bytes);
	*room = 0;
	*bytes = malloc(needed);
	if (!*bytes)
		return -ENOMEM;
	*room = needed;
	return 0;
}

static int load_block(struct ac_chunk_reader *reader, uint32_t pack, uint32_t number)
{
	const struct ac_pack_block *block = &reader->shelf->packs[pack].blocks[number];

	if (reader->pack == pack && reader->block == number)
		return 0;
	reader->block = AC_NONE;
	int result = open_pack(reader, pack);

	if (!result)
		result = make_room(&reader->stored, &reader->stored_room, block->stored);
	if (!result)
		result = make_room(&reader->raw, &reader->raw_room, block->raw ? block->raw : 1);
	if (result)
		return result;
	ssize_t got = pread(reader->fd, reader->stored, block->stored, (off_t)block->offset);

	if (got < 0)
		return -errno;
	if ((size_t)got != block->stored)
		return -EBADMSG;
	size_t raw = ZSTD_decompressDCtx(
		reader->context, reader->raw, block->raw, reader->stored, block->stored);

	if (ZSTD_isError(raw) || raw != block->raw)
		return -EBADMSG;
	reader->pack = pack;
	reader->block = number;
	return 0;
}

int ac_chunk_read(struct ac_chunk_reader *reader, const struct ac_hash *hash,
	const struct ac_place *hint, const unsigned char **bytes, uint32_t *length,
	struct ac_err *err)
{
	struct ac_place place = *hint;
	struct ac_hash found;

	if (!ac_shelf_has(reader->shelf, &place, hash) &&
		!ac_shelf_find(reader->shelf, hash, &place))
		return ac_fail(err, ENODATA, "the store has lost content that a backup needs");
	const struct ac_pack_row *row = &reader->shelf->packs[place.pack].rows[place.row];
	int result = load_block(reader, place.pack, row->block);

	if (!result) {
		ac_hasher_hash(&reader->hasher, reader->raw + row->offset, row->length, &found);
		if (reader->hasher.failed || !ac_hash_equals(&found, hash))
			result = -EBADMSG;
	}
	if (result) {
		char name[AC_STORE_NAME_MAX];

		ac_store_pack_name(name, &reader->shelf->packs[place.pack].id);
		return ac_fail_errno(err, -result, "read block %u of pack %s", row->block, name);
	}
	*bytes = reader->raw + row->offset;
	*length = row->length;
	return 0;
}

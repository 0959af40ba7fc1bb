/* SPDX-License-Identifier: ISC */
/*
 * Packs: reading them, and the shelf of all packs of a store with its index by hash.
 *
 * A pack's tables are read into memory and checked against their hash when it is opened; blocks are
 * read when they are asked for.  A pack that does not check is left out of the shelf: what it
 * held is then missing, and is stored again or reported, never guessed.
 */
#ifndef AC_BACKUP_PACK_H
#define AC_BACKUP_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "backup_format.h"
#include "backup_hash.h"
#include "err.h"

struct ac_pack {
	struct ac_pack_id id;
	void *tables; /* owned; blocks and rows lie in it */
	const struct ac_pack_block *blocks;
	const struct ac_pack_row *rows;
	uint32_t block_count, row_count;
	uint64_t file_length;
};

struct ac_shelf {
	int store_fd; /* borrowed */
	struct ac_pack *packs;
	unsigned count, damaged;
	/* Index by hash over all rows: open addressing, made by ac_shelf_index. */
	struct ac_place *slots;
	uint64_t slot_mask;
};

/* Opens all packs of the store. */
int ac_shelf_init(struct ac_shelf *shelf, int store_fd, struct ac_err *err);
void ac_shelf_fini(struct ac_shelf *shelf);
int ac_shelf_index(struct ac_shelf *shelf, struct ac_err *err);
/* Takes the pack over; there must be room (ac_shelf_init leaves it for one).  The index may be gone
 * afterwards. */
void ac_shelf_add(struct ac_shelf *shelf, const struct ac_pack *pack);
uint32_t ac_shelf_pack(const struct ac_shelf *shelf, const struct ac_pack_id *id); /* or AC_NONE */

/* True when the place holds a live chunk of this hash. */
static inline bool ac_shelf_has(
	const struct ac_shelf *shelf, const struct ac_place *place, const struct ac_hash *hash)
{
	if (place->pack >= shelf->count || place->row >= shelf->packs[place->pack].row_count)
		return false;
	const struct ac_pack_row *row = &shelf->packs[place->pack].rows[place->row];

	return row->block != AC_NONE && ac_hash_equals(&row->hash, hash);
}

/* Looks a hash up in the index (ac_shelf_index must have run). */
bool ac_shelf_find(
	const struct ac_shelf *shelf, const struct ac_hash *hash, struct ac_place *place);

/* Reads chunks; one per thread.  Keeps the block that was read last. */
struct ac_chunk_reader {
	const struct ac_shelf *shelf; /* borrowed; indexed */
	struct ac_hasher hasher;
	void *context; /* ZSTD_DCtx */
	int fd;
	uint32_t fd_pack, pack, block; /* what fd and raw hold; AC_NONE: nothing */
	unsigned char *raw, *stored;
	size_t raw_room, stored_room;
};

int ac_chunk_reader_init(
	struct ac_chunk_reader *reader, const struct ac_shelf *shelf, struct ac_err *err);
void ac_chunk_reader_fini(struct ac_chunk_reader *reader);

/* The chunk of this hash, its hash checked; *bytes is valid until the next call.  hint may be wrong.
 * -ENODATA when no pack has it, -EBADMSG when what is there is damaged. */
int ac_chunk_read(struct ac_chunk_reader *reader, const struct ac_hash *hash,
	const struct ac_place *hint, const unsigned char **bytes, uint32_t *length,
	struct ac_err *err);

/* Opens one pack: tables read and checked. */
int ac_pack_open(
	struct ac_pack *pack, int store_fd, const struct ac_pack_id *id, struct ac_err *err);

/* The blocks must fill the file up to the tables, without gap or overlap. */
int ac_pack_check_blocks(const struct ac_pack *pack, struct ac_err *err);

#endif

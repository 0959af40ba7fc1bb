/* SPDX-License-Identifier: ISC */
/*
 * Writing one pack, from several threads.
 *
 * Each thread has a lane: a buffer into which content is read, chunk behind chunk, and which
 * becomes one compressed block when it is full.  A chunk whose hash is known already, from any pack
 * of the shelf or from this one, is dropped where it lies.
 */
#ifndef AC_BACKUP_PACKER_H
#define AC_BACKUP_PACKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "backup_pack.h"
#include "backup_store.h"

#define AC_LANE_TARGET (1u << 20) /* a block is flushed when it has at least so much */
#define AC_LANE_ROOM (AC_LANE_TARGET + AC_CHUNK_MAX)

struct ac_packer {
	struct ac_shelf *shelf; /* borrowed */
	int fd; /* -1 until the first block */
	bool is_dry; /* hash only; nothing is kept */
	atomic_bool is_broken; /* a block that the tables name is not on disk */
	char temporary[AC_STORE_NAME_MAX];
	struct ac_pack_id id;
	pthread_mutex_t lock; /* all below */
	uint64_t offset;
	struct ac_pack_block *blocks;
	struct ac_pack_row *rows;
	uint32_t block_count, block_room, row_count, row_room;
	uint32_t *slots; /* index of rows by hash */
	uint64_t slot_mask;
	_Atomic uint64_t new_bytes;
};

struct ac_lane {
	struct ac_packer *packer;
	struct ac_hasher hasher;
	void *context; /* ZSTD_CCtx */
	unsigned char *buffer, *packed, *scratch;
	size_t used, packed_room;
	uint32_t block; /* number of the block being filled, AC_NONE: none yet */
};

int ac_packer_init(
	struct ac_packer *packer, struct ac_shelf *shelf, bool is_dry, struct ac_err *err);
/* Without ac_packer_finish before it, removes what was written. */
void ac_packer_fini(struct ac_packer *packer);

/* Writes the tables, syncs, reads everything back, gives the pack its name and puts it on the
 * shelf.  Without a chunk there is no pack, and that is success. */
int ac_packer_finish(struct ac_packer *packer, struct ac_err *err);

/* Writes a block and reads it back, byte for byte; scratch is AC_SCRATCH bytes. */
#define AC_SCRATCH (128u << 10)
int ac_pack_write_block(int fd, const unsigned char *bytes, size_t length, uint64_t offset,
	unsigned char *scratch, struct ac_err *err);

/* Writes the tables of a pack behind its blocks and syncs it. */
int ac_pack_write_tables(int fd, struct ac_pack_trailer *trailer,
	const struct ac_pack_block *blocks, const struct ac_pack_row *rows, struct ac_err *err);

int ac_lane_init(struct ac_lane *lane, struct ac_packer *packer, struct ac_err *err);
void ac_lane_fini(struct ac_lane *lane);
int ac_lane_flush(struct ac_lane *lane, struct ac_err *err);

/* Where the next chunk may be read to: AC_CHUNK_MAX bytes and one more.  Flushes when needed. */
int ac_lane_space(struct ac_lane *lane, unsigned char **space, struct ac_err *err);

/* Takes the length bytes that were read there. */
int ac_lane_take(struct ac_lane *lane, size_t length, struct ac_hash *hash, struct ac_place *place,
	struct ac_err *err);

#endif

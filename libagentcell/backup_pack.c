/* SPDX-License-Identifier: ISC */
/* The shelf: all packs of a store, their tables checked and in memory, and the index by hash. */
#include "backup_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup_store.h"
#include "util.h"

#define TABLES_MAX (1ull << 36)

static int read_at(int fd, void *bytes, size_t length, uint64_t offset)
{
	unsigned char *to = bytes;

	while (length) {
		ssize_t got = pread(fd, to, length, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EBADMSG;
		to += got;
		length -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

static int check_rows(const struct ac_pack *pack, uint64_t tables)
{
	for (uint32_t i = 0; i < pack->block_count; i++) {
		const struct ac_pack_block *block = &pack->blocks[i];

		if (block->offset > tables || block->stored > tables - block->offset ||
			block->raw > 2 * AC_CHUNK_MAX)
			return -EBADMSG;
	}
	for (uint32_t i = 0; i < pack->row_count; i++) {
		const struct ac_pack_row *row = &pack->rows[i];

		if (row->block == AC_NONE)
			continue;
		if (row->block >= pack->block_count || row->length > AC_CHUNK_MAX ||
			row->offset > pack->blocks[row->block].raw ||
			row->length > pack->blocks[row->block].raw - row->offset)
			return -EBADMSG;
	}
	return 0;
}

/* Both tables as one heap block, when their hash agrees. */
static void *read_tables(int fd, const struct ac_pack_trailer *trailer, size_t length)
{
	struct ac_hasher hasher;
	struct ac_hash hash;
	void *tables = calloc(1, length ? length : 1);

	if (!tables || ac_hasher_init(&hasher, NULL)) {
		free(tables);
		errno = ENOMEM;
		return NULL;
	}
	int result = read_at(fd, tables, length, trailer->tables);

	ac_hasher_start(&hasher);
	ac_hasher_add(&hasher, tables, length);
	ac_hasher_add(&hasher, trailer, offsetof(struct ac_pack_trailer, hash));
	ac_hasher_end(&hasher, &hash);
	if (!result && (hasher.failed || !ac_hash_equals(&hash, &trailer->hash)))
		result = -EBADMSG;
	ac_hasher_fini(&hasher);
	if (!result)
		return tables;
	free(tables);
	errno = -result;
	return NULL;
}

static int take_tables(struct ac_pack *pack, int fd, const struct ac_pack_trailer *trailer)
{
	const size_t blocks = trailer->blocks * sizeof(struct ac_pack_block);
	const size_t length = blocks + trailer->rows * sizeof(struct ac_pack_row);

	if (length > TABLES_MAX || trailer->tables > pack->file_length ||
		trailer->tables + length + sizeof *trailer != pack->file_length)
		return -EBADMSG;
	pack->tables = read_tables(fd, trailer, length);
	if (!pack->tables)
		return -errno;
	pack->blocks = pack->tables;
	pack->rows = (const void *)((const unsigned char *)pack->tables + blocks);
	pack->block_count = trailer->blocks;
	pack->row_count = trailer->rows;
	return check_rows(pack, trailer->tables);
}

int ac_pack_open(
	struct ac_pack *pack, int store_fd, const struct ac_pack_id *id, struct ac_err *err)
{
	char name[AC_STORE_NAME_MAX];
	struct ac_pack_trailer trailer;
	struct stat st;

	ac_store_pack_name(name, id);
	ac_autoclose int fd = openat(store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	memset(pack, 0, sizeof *pack);
	pack->id = *id;
	if (fd < 0 || fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "open pack %s", name);
	pack->file_length = (uint64_t)st.st_size;
	int result = -EBADMSG;

	if (S_ISREG(st.st_mode) && pack->file_length >= sizeof trailer)
		result = read_at(fd, &trailer, sizeof trailer, pack->file_length - sizeof trailer);
	if (!result && (memcmp(trailer.magic, AC_PACK_MAGIC, sizeof trailer.magic) != 0 ||
			       trailer.version != AC_FORMAT_VERSION ||
			       memcmp(&trailer.id, id, sizeof *id) != 0))
		result = -EBADMSG;
	if (!result)
		result = take_tables(pack, fd, &trailer);
	if (!result)
		return 0;
	free(pack->tables);
	pack->tables = NULL;
	return ac_fail_errno(err, -result, "pack %s is damaged", name);
}

static int by_offset(const void *a, const void *b)
{
	const struct ac_pack_block *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

int ac_pack_check_blocks(const struct ac_pack *pack, struct ac_err *err)
{
	ac_autofree struct ac_pack_block *blocks = calloc(pack->block_count + 1u, sizeof *blocks);
	uint64_t at = sizeof AC_PACK_MAGIC - 1;
	uint64_t tables = pack->file_length - sizeof(struct ac_pack_trailer) -
			  pack->row_count * sizeof(struct ac_pack_row) -
			  pack->block_count * sizeof(struct ac_pack_block);
	uint32_t i = 0;

	if (!blocks)
		return ac_fail_errno(err, ENOMEM, "verify a pack");
	memcpy(blocks, pack->blocks, pack->block_count * sizeof *blocks);
	qsort(blocks, pack->block_count, sizeof *blocks, by_offset);
	for (; i < pack->block_count && blocks[i].offset == at; i++)
		at += blocks[i].stored;
	return i == pack->block_count && at == tables
		       ? 0
		       : ac_fail(err, EBADMSG,
				 "the new pack does not verify: its blocks do not meet");
}

int ac_shelf_init(struct ac_shelf *shelf, int store_fd, struct ac_err *err)
{
	ac_autofree struct ac_pack_id *ids = NULL;
	unsigned count = 0;
	int result = ac_store_packs(store_fd, &ids, &count, err);

	memset(shelf, 0, sizeof *shelf);
	shelf->store_fd = store_fd;
	if (result)
		return result;
	/* One more: the pack that a backup is about to write. */
	shelf->packs = calloc(count + 1, sizeof shelf->packs[0]);
	if (!shelf->packs)
		return ac_fail_errno(err, ENOMEM, "open the packs");
	for (unsigned i = 0; i < count; i++) {
		struct ac_pack pack;

		result = ac_pack_open(&pack, store_fd, &ids[i], err);
		if (result == -ENOMEM || result == -EMFILE || result == -ENFILE) {
			ac_shelf_fini(shelf);
			return result;
		}
		if (result)
			shelf->damaged++;
		else
			shelf->packs[shelf->count++] = pack;
	}
	return 0;
}

void ac_shelf_fini(struct ac_shelf *shelf)
{
	for (unsigned i = 0; i < shelf->count; i++)
		free(shelf->packs[i].tables);
	free(shelf->packs);
	free(shelf->slots);
	shelf->packs = NULL;
	shelf->slots = NULL;
	shelf->count = 0;
}

uint32_t ac_shelf_pack(const struct ac_shelf *shelf, const struct ac_pack_id *id)
{
	for (unsigned i = 0; i < shelf->count; i++)
		if (!memcmp(&shelf->packs[i].id, id, sizeof *id))
			return i;
	return AC_NONE;
}

static uint64_t slot_of(const struct ac_hash *hash)
{
	uint64_t key;

	memcpy(&key, hash->byte, sizeof key); /* SHA-256 is its own good hash */
	return key;
}

static void index_row(struct ac_shelf *shelf, uint32_t pack, uint32_t row)
{
	uint64_t slot = slot_of(&shelf->packs[pack].rows[row].hash) & shelf->slot_mask;

	while (shelf->slots[slot].pack != AC_NONE)
		slot = (slot + 1) & shelf->slot_mask;
	shelf->slots[slot] = (struct ac_place){ .pack = pack, .row = row };
}

static void index_pack(struct ac_shelf *shelf, uint32_t pack)
{
	for (uint32_t row = 0; row < shelf->packs[pack].row_count; row++)
		if (shelf->packs[pack].rows[row].block != AC_NONE)
			index_row(shelf, pack, row);
}

static uint64_t count_rows(const struct ac_shelf *shelf)
{
	uint64_t rows = 0;

	for (unsigned i = 0; i < shelf->count; i++)
		rows += shelf->packs[i].row_count;
	return rows;
}

void ac_shelf_add(struct ac_shelf *shelf, const struct ac_pack *pack)
{
	shelf->packs[shelf->count++] = *pack;
	if (!shelf->slots)
		return;
	if (count_rows(shelf) < shelf->slot_mask / 4 * 3) {
		index_pack(shelf, shelf->count - 1);
		return;
	}
	free(shelf->slots); /* too full: who needs it makes it anew */
	shelf->slots = NULL;
}

int ac_shelf_index(struct ac_shelf *shelf, struct ac_err *err)
{
	uint64_t slots = 16;

	if (shelf->slots)
		return 0;
	while (slots < count_rows(shelf) * 2)
		slots *= 2;
	shelf->slots = malloc(slots * sizeof shelf->slots[0]);
	if (!shelf->slots)
		return ac_fail_errno(err, ENOMEM, "index the packs");
	memset(shelf->slots, 0xff, slots * sizeof shelf->slots[0]);
	shelf->slot_mask = slots - 1;
	for (uint32_t i = 0; i < shelf->count; i++)
		index_pack(shelf, i);
	return 0;
}

bool ac_shelf_find(const struct ac_shelf *shelf, const struct ac_hash *hash, struct ac_place *place)
{
	uint64_t slot = slot_of(hash) & shelf->slot_mask;

	for (; shelf->slots[slot].pack != AC_NONE; slot = (slot + 1) & shelf->slot_mask)
		if (ac_shelf_has(shelf, &shelf->slots[slot], hash)) {
			*place = shelf->slots[slot];
			return true;
		}
	return false;
}

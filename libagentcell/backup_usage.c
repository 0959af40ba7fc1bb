/* SPDX-License-Identifier: ISC */
/* Which rows of which packs are used, by how many backups, and what each backup costs. */
#include "backup_prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backup_manifest.h"
#include "util.h"

struct pass {
	struct ac_usage *usage;
	uint32_t **last; /* [pack][row]: the backup that counted it last, plus one */
	uint32_t backup;
};

static uint64_t stored_bytes(const struct ac_pack *pack, const struct ac_pack_row *row)
{
	const struct ac_pack_block *block = &pack->blocks[row->block];

	return block->raw ? (uint64_t)row->length * block->stored / block->raw : 0;
}

/* Finds the row of each reference; map: the manifest's pack numbers to the shelf's. */
static bool locate(const struct ac_usage *usage, const struct ac_manifest *manifest,
	const uint32_t *map, uint32_t reference, struct ac_place *place)
{
	const struct ac_hash *hash = &manifest->hashes[reference];

	*place = manifest->places[reference];
	place->pack = map[place->pack];
	return ac_shelf_has(&usage->shelf, place, hash) ||
	       ac_shelf_find(&usage->shelf, hash, place);
}

static int count_manifest(struct pass *pass, const struct ac_manifest *manifest)
{
	struct ac_usage *usage = pass->usage;
	ac_autofree uint32_t *map = ac_manifest_map_packs(manifest, &usage->shelf);

	if (!map)
		return -ENOMEM;
	for (uint32_t i = 0; i < manifest->reference_count; i++) {
		struct ac_place place;

		if (!locate(usage, manifest, map, i, &place)) {
			usage->backups[pass->backup].is_damaged = true;
			continue;
		}
		if (pass->last[place.pack][place.row] == pass->backup + 1)
			continue;
		pass->last[place.pack][place.row] = pass->backup + 1;
		usage->counts[place.pack][place.row]++;
	}
	return 0;
}

/* After all are counted: a row that one backup uses belongs to the one that counted it last. */
static void share_out(struct pass *pass)
{
	struct ac_usage *usage = pass->usage;

	for (unsigned p = 0; p < usage->shelf.count; p++) {
		const struct ac_pack *pack = &usage->shelf.packs[p];

		for (uint32_t row = 0; row < pack->row_count; row++)
			if (usage->counts[p][row] == 1)
				usage->backups[pass->last[p][row] - 1].own_bytes += stored_bytes(
					pack, &pack->rows[row]);
	}
}

/* One block for the rows of all packs, and where in it each pack's begin. */
static uint32_t **make_counters(const struct ac_shelf *shelf)
{
	size_t packs = shelf->count, rows = 0;

	for (size_t i = 0; i < packs; i++)
		rows += shelf->packs[i].row_count;
	uint32_t **counters = calloc(1, (packs + 1) * sizeof *counters + rows * sizeof **counters);

	if (!counters)
		return NULL;
	uint32_t *row = (void *)(counters + packs + 1);

	for (size_t i = 0; i < packs; i++) {
		counters[i] = row;
		row += shelf->packs[i].row_count;
	}
	return counters;
}

static int prepare(struct ac_usage *usage, struct pass *pass)
{
	usage->counts = make_counters(&usage->shelf);
	pass->last = make_counters(&usage->shelf);
	return usage->counts && pass->last ? 0 : -ENOMEM;
}

/* The bytes of everything that a manifest refers to, each row once. */
static uint64_t all_bytes(const struct pass *pass)
{
	const struct ac_shelf *shelf = &pass->usage->shelf;
	uint64_t total = 0;

	for (unsigned p = 0; p < shelf->count; p++)
		for (uint32_t row = 0; row < shelf->packs[p].row_count; row++)
			if (pass->last[p][row] == pass->backup + 1)
				total += stored_bytes(&shelf->packs[p], &shelf->packs[p].rows[row]);
	return total;
}

static int count_all(struct pass *pass, int store_fd, const struct ac_store_id *ids)
{
	struct ac_usage *usage = pass->usage;

	for (unsigned i = 0; i < usage->backup_count; i++) {
		struct ac_usage_backup *backup = &usage->backups[i];
		struct ac_manifest manifest;

		memcpy(backup->id, ids[i].text, sizeof backup->id);
		pass->backup = i;
		if (ac_manifest_load(&manifest, store_fd, backup->id, NULL)) {
			backup->is_damaged = true;
			usage->damaged++;
			continue;
		}
		backup->manifest_bytes = manifest.header.file_length;
		int result = count_manifest(pass, &manifest);

		backup->shared_bytes = all_bytes(pass);
		ac_manifest_fini(&manifest);
		if (result)
			return result;
	}
	share_out(pass);
	for (unsigned i = 0; i < usage->backup_count; i++)
		usage->backups[i].shared_bytes -= usage->backups[i].own_bytes;
	return 0;
}

int ac_usage_init(struct ac_usage *usage, int store_fd, struct ac_err *err)
{
	ac_autofree struct ac_store_id *ids = NULL;
	struct pass pass = { .usage = usage };

	memset(usage, 0, sizeof *usage);
	int result = ac_shelf_init(&usage->shelf, store_fd, err);

	if (!result)
		result = ac_shelf_index(&usage->shelf, err);
	if (!result)
		result = ac_store_ids(store_fd, &ids, &usage->backup_count, err);
	if (!result) {
		usage->backups = calloc(usage->backup_count + 1u, sizeof usage->backups[0]);
		result = usage->backups ? prepare(usage, &pass) : -ENOMEM;
		if (!result)
			result = count_all(&pass, store_fd, ids);
		if (result)
			ac_fail_errno(err, -result, "count what the backups use");
	}
	free(pass.last);
	if (result)
		ac_usage_fini(usage);
	return result;
}

void ac_usage_fini(struct ac_usage *usage)
{
	free(usage->counts);
	free(usage->backups);
	ac_shelf_fini(&usage->shelf);
	memset(usage, 0, sizeof *usage);
}

/* SPDX-License-Identifier: ISC */
/* Garbage of a store: what a killed process left, and packs that no manifest lists any more. */
#include "backup_prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_manifest.h"

static uint32_t find(const struct ac_pack_id *ids, unsigned count, const struct ac_pack_id *id)
{
	for (unsigned i = 0; i < count; i++)
		if (!memcmp(&ids[i], id, sizeof *id))
			return i;
	return AC_NONE;
}

static int mark_used(int store_fd, const struct ac_store_id *backups, unsigned backup_count,
	const struct ac_pack_id *packs, unsigned pack_count, bool *used, struct ac_err *err)
{
	for (unsigned i = 0; i < backup_count; i++) {
		struct ac_manifest head;
		int result = ac_manifest_peek(&head, store_fd, backups[i].text, err);

		if (result) /* whose packs are unknown: then none is removed */
			return result;
		for (uint32_t k = 0; k < head.pack_count; k++) {
			uint32_t which = find(packs, pack_count, &head.packs[k]);

			if (which != AC_NONE)
				used[which] = true;
		}
		ac_manifest_fini(&head);
	}
	return 0;
}

struct inventory {
	struct ac_pack_id *packs;
	struct ac_store_id *backups;
	bool *used; /* packs that a backup lists */
	unsigned pack_count, backup_count;
};

static int remove_unused(int store_fd, const struct inventory *inventory, struct ac_err *err)
{
	for (unsigned i = 0; i < inventory->pack_count; i++) {
		char name[AC_STORE_NAME_MAX];

		ac_store_pack_name(name, &inventory->packs[i]);
		if (!inventory->used[i] && unlinkat(store_fd, name, 0) < 0 && errno != ENOENT)
			return ac_fail_errno(err, errno, "remove pack %s", name);
	}
	return 0;
}

static int sweep_packs(int store_fd, struct ac_err *err)
{
	struct inventory inventory = { NULL, NULL, NULL, 0, 0 };
	int result = ac_store_packs(store_fd, &inventory.packs, &inventory.pack_count, err);

	if (!result)
		result = ac_store_ids(store_fd, &inventory.backups, &inventory.backup_count, err);
	if (!result)
		inventory.used = calloc(inventory.pack_count + 1u, sizeof inventory.used[0]);
	if (!result && !inventory.used)
		result = ac_fail_errno(err, ENOMEM, "sweep the backup store");
	/* A damaged manifest: keep everything; `agentcell backups` shows it. */
	if (inventory.used && !mark_used(store_fd, inventory.backups, inventory.backup_count,
				      inventory.packs, inventory.pack_count, inventory.used, NULL))
		result = remove_unused(store_fd, &inventory, err);
	free(inventory.packs);
	free(inventory.backups);
	free(inventory.used);
	return result;
}

int ac_prune_sweep(int store_fd, struct ac_err *err)
{
	int result = ac_store_sweep(store_fd, err);

	return result ? result : sweep_packs(store_fd, err);
}

static bool is_sparse(const struct ac_usage *usage, uint32_t which, bool *is_dead)
{
	const struct ac_pack *pack = &usage->shelf.packs[which];
	uint64_t live = 0, total = 0;

	for (uint32_t row = 0; row < pack->row_count; row++)
		if (usage->counts[which][row])
			live += pack->rows[row].length;
	for (uint32_t block = 0; block < pack->block_count; block++)
		total += pack->blocks[block].raw;
	*is_dead = !live;
	return live < total / 2;
}

/* First what only frees space; then what needs some before it frees more, as far as there is any. */
static int collect_packs(const struct ac_usage *usage, struct ac_err *err)
{
	char name[AC_STORE_NAME_MAX];
	bool is_dead;

	for (uint32_t i = 0; i < usage->shelf.count; i++) {
		is_sparse(usage, i, &is_dead);
		ac_store_pack_name(name, &usage->shelf.packs[i].id);
		if (is_dead && unlinkat(usage->shelf.store_fd, name, 0) < 0 && errno != ENOENT)
			return ac_fail_errno(err, errno, "remove pack %s", name);
	}
	for (uint32_t i = 0; i < usage->shelf.count; i++) {
		if (!is_sparse(usage, i, &is_dead) || is_dead)
			continue;
		int result = ac_pack_compact(&usage->shelf, i, usage->counts[i], err);

		if (result == -ENOSPC || result == -EDQUOT)
			return 0;
		if (result)
			return result;
	}
	return 0;
}

int ac_prune_collect(int store_fd, struct ac_err *err)
{
	struct ac_usage usage;

	/* The names must be gone for good before the content goes. */
	if (fsync(store_fd) < 0)
		return ac_fail_errno(err, errno, "sync the backup store");
	int result = ac_usage_init(&usage, store_fd, err);

	if (result)
		return result;
	if (!usage.damaged) /* else somebody may still need what looks unused */
		result = collect_packs(&usage, err);
	ac_usage_fini(&usage);
	return result;
}

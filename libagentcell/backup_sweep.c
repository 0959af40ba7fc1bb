/* SPDX-License-Identifier: ISC */
/* Garbage of a store: what a killed process left, and packs that no manifest lists any more. */
#include "backup_prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_manifest.h"
#include "util.h"

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

static int sweep_packs(int store_fd, struct ac_err *err)
{
	ac_autofree struct ac_pack_id *packs = NULL;
	ac_autofree struct ac_store_id *backups = NULL;
	unsigned pack_count = 0, backup_count = 0;
	int result = ac_store_packs(store_fd, &packs, &pack_count, err);

	if (!result)
		result = ac_store_ids(store_fd, &backups, &backup_count, err);
	if (result || !pack_count)
		return result;
	ac_autofree bool *used = calloc(pack_count, sizeof *used);

	if (!used)
		return ac_fail_errno(err, ENOMEM, "sweep the backup store");
	if (mark_used(store_fd, backups, backup_count, packs, pack_count, used, NULL))
		return 0; /* a damaged manifest: keep everything; `agentcell backups` shows it */
	for (unsigned i = 0; i < pack_count; i++) {
		char name[AC_STORE_NAME_MAX];

		ac_store_pack_name(name, &packs[i]);
		if (!used[i] && unlinkat(store_fd, name, 0) < 0 && errno != ENOENT)
			return ac_fail_errno(err, errno, "remove pack %s", name);
	}
	return 0;
}

int ac_prune_sweep(int store_fd, struct ac_err *err)
{
	int result = ac_store_sweep(store_fd, err);

	return result ? result : sweep_packs(store_fd, err);
}

static int collect_pack(struct ac_usage *usage, uint32_t which, struct ac_err *err)
{
	const struct ac_pack *pack = &usage->shelf.packs[which];
	uint64_t live = 0, total = 0;
	char name[AC_STORE_NAME_MAX];

	for (uint32_t row = 0; row < pack->row_count; row++)
		if (usage->counts[which][row])
			live += pack->rows[row].length;
	for (uint32_t block = 0; block < pack->block_count; block++)
		total += pack->blocks[block].raw;
	ac_store_pack_name(name, &pack->id);
	if (!live) {
		if (unlinkat(usage->shelf.store_fd, name, 0) < 0 && errno != ENOENT)
			return ac_fail_errno(err, errno, "remove pack %s", name);
		return 0;
	}
	return live < total / 2 ? ac_pack_compact(&usage->shelf, which, usage->counts[which], err)
				: 0;
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
		for (uint32_t i = 0; !result && i < usage.shelf.count; i++)
			result = collect_pack(&usage, i, err);
	ac_usage_fini(&usage);
	return result;
}

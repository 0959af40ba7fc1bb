/* SPDX-License-Identifier: ISC */
/*
 * What is removed from a store, and when.  All of it under the exclusive lock, so no backup is being
 * made, read or restored meanwhile.
 *
 * Manifests go first, then packs that nothing needs any more; a pack of which less than half is
 * needed is written anew under its own name and with the same row numbers, so that no manifest has to
 * change.  Killed in between, it has left garbage, never a backup without its content.
 */
#ifndef AC_BACKUP_PRUNE_H
#define AC_BACKUP_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "backup_pack.h"
#include "backup_store.h"
#include "err.h"

struct ac_prune_limits {
	/* Per set of paths: clean sessions; those that ended otherwise, 0: all. */
	uint64_t keep_clean, keep_escape;
	uint64_t max_age_s, max_bytes; /* 0: no limit */
	const char *protected_id; /* never removed, may be NULL */
};

struct ac_prune_outcome {
	unsigned removed, kept;
	uint64_t bytes; /* of the store afterwards */
};

/* Does nothing when the store is in use for long.  outcome may be NULL. */
int ac_prune(int store_fd, const struct ac_prune_limits *limits, struct ac_prune_outcome *outcome,
	struct ac_err *err);

/* Removes one backup that the user names; -EBUSY when its session is alive. */
int ac_prune_one(int store_fd, const char *id, struct ac_err *err);

/* Removes garbage: temporary files, orphaned states, packs that no manifest lists.  Locked. */
int ac_prune_sweep(int store_fd, struct ac_err *err);

/* Removes and rewrites packs after manifests have gone.  Locked. */
int ac_prune_collect(int store_fd, struct ac_err *err);

/* Writes a pack anew with the rows whose count is not 0, over its old self. */
int ac_pack_compact(
	const struct ac_shelf *shelf, uint32_t pack, const uint32_t *counts, struct ac_err *err);

/* --- Who uses what --- */

struct ac_usage_backup {
	char id[AC_BACKUP_ID_SIZE];
	uint64_t own_bytes, shared_bytes; /* of packs, as stored; own goes when the backup goes */
	uint64_t manifest_bytes;
	bool is_damaged; /* the manifest, or content of it is missing */
};

struct ac_usage {
	struct ac_shelf shelf;
	uint32_t **counts; /* [pack][row]: how many backups use it */
	struct ac_usage_backup *backups; /* newest first */
	unsigned backup_count, damaged;
};

/* Reads every manifest of the store. */
int ac_usage_init(struct ac_usage *usage, int store_fd, struct ac_err *err);
void ac_usage_fini(struct ac_usage *usage);

#endif

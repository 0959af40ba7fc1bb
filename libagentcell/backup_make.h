/* SPDX-License-Identifier: ISC */
/* Making one backup in an open store, with the caller's own credentials, in this process. */
#ifndef AC_BACKUP_MAKE_H
#define AC_BACKUP_MAKE_H

#include "backup.h"
#include "backup_walk.h"

enum ac_make_state {
	AC_MAKE_LIVE, /* for a session: marked live until ac_backup_finish */
	AC_MAKE_KEPT /* by hand, or before a restore */
};

/* What a backup needs to know about the one before. */
struct ac_before {
	struct ac_manifest *manifests; /* loaded, owned */
	unsigned count;
};

/* What a restore and the backup before it read only once. */
struct ac_make_share {
	const char *known_id; /* a backup ... */
	const struct ac_manifest *known; /* ... that is loaded already */
	/* Handed over (ac_manifest_fini, ac_shelf_fini): what the new backup holds, places being in
	 * the order of manifest.packs, and the shelf with its new pack. */
	struct ac_manifest manifest;
	struct ac_shelf shelf;
};

/* Makes the backup.  root_fds (NULL: none): for each path a descriptor of it to walk from, or -1.
 * share may be NULL. */
int ac_make(int store_fd, const struct ac_backup_request *request, const int *root_fds,
	enum ac_make_state state, struct ac_backup_totals *totals, struct ac_make_share *share,
	struct ac_err *err);

/* Looks at the same trees without storing anything, compared with one backup: content that is
 * unchanged since then is not read. */
int ac_make_look(int store_fd, const struct ac_manifest *since, const struct ac_strings *exclude,
	struct ac_opener *opener, struct ac_manifest *manifest, struct ac_err *err);

/* For each root the newest backup that has it: fills previous and previous_entry.  share may be
 * NULL. */
int ac_before_find(struct ac_before *before, int store_fd, const struct ac_make_share *share,
	struct ac_walk_root *roots, unsigned count, struct ac_err *err);
void ac_before_fini(struct ac_before *before);

/* The entry of a root by its path, or NULL. */
const struct ac_entry *ac_manifest_root(const struct ac_manifest *manifest, const char *path);

/* The JSON object of the META section.  Returns a heap block, or NULL. */
char *ac_make_meta(const struct ac_backup_request *request, const struct ac_manifest *manifest,
	const struct ac_backup_totals *totals, const struct ac_walk_notes *notes);

/* 20261130T044712Z-<session id or 12 random hex digits> for a moment. */
int ac_make_id(char id[AC_BACKUP_ID_SIZE], struct ac_err *err);

#endif

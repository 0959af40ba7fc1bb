/* SPDX-License-Identifier: ISC */
/* Which differences are meant, and how they are told. */
#ifndef AC_BACKUP_SELECT_H
#define AC_BACKUP_SELECT_H

#include "backup_compare.h"

#define AC_RESTORE_PREFIX ".agentcell-restore-" /* and 16 hex digits: files being written */

struct ac_selection {
	const char *const *paths; /* canonical */
	unsigned count; /* 0: everything */
};

bool ac_selection_has(const struct ac_selection *selection, const char *path);
/* A selected path lies below this one. */
bool ac_selection_is_below(const struct ac_selection *selection, const char *path);
/* Each selected path must be something that one of the manifests has. */
int ac_selection_check(const struct ac_selection *selection, const struct ac_manifest *before,
	const struct ac_manifest *after, struct ac_err *err);

/* The thing's whole path, a heap block; NULL: no memory. */
char *ac_difference_path_dup(const struct ac_difference *difference);
/* Fills *change; path is borrowed. */
void ac_difference_tell(
	const struct ac_difference *difference, const char *path, struct ac_backup_change *change);

/* A name that an interrupted restore has left. */
bool ac_is_restore_leftover(const char *path);

/* The exclude patterns that a backup was made with. */
int ac_manifest_exclude(
	const struct ac_manifest *manifest, struct ac_strings *exclude, struct ac_err *err);

#endif

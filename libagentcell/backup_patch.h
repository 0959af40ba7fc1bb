/* SPDX-License-Identifier: ISC */
/*
 * Changed text as a unified diff, by diff(1) on anonymous files.
 *
 * diff runs with an empty environment, no shell, three descriptors and what it compares; nothing of
 * the project is ever run or given a name.
 */
#ifndef AC_BACKUP_PATCH_H
#define AC_BACKUP_PATCH_H

#include "backup_pack.h"

#define AC_PATCH_MAX (8u << 20) /* larger files are only said to differ */

/* An anonymous file with the content; the fd. */
int ac_patch_extract(struct ac_chunk_reader *reader, const struct ac_hash *hashes,
	const struct ac_place *hints, uint32_t count, struct ac_err *err);
/* One from what a descriptor reads, up to AC_PATCH_MAX. */
int ac_patch_copy(int from, struct ac_err *err);
int ac_patch_empty(struct ac_err *err);

/* Compares two of them; the output goes to output_fd.  Labels are escaped names.  0, or -errno. */
int ac_patch_run(int old_fd, int new_fd, const char *old_label, const char *new_label,
	int output_fd, struct ac_err *err);

#endif

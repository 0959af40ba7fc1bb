/* SPDX-License-Identifier: ISC */
/*
 * What differs between two manifests.  Pure: it reads two blocks of memory, nothing else.
 *
 * A directory comes before what is in it.  A directory that only one side has is reported with
 * everything below it.
 */
#ifndef AC_BACKUP_COMPARE_H
#define AC_BACKUP_COMPARE_H

#include "backup.h"
#include "backup_manifest.h"

struct ac_difference {
	unsigned change;
	const struct ac_manifest *before, *after;
	const struct ac_entry *old, *new; /* as named in the parent; NULL where there is none */
	uint32_t old_directory, new_directory; /* the parent, AC_NONE where there is none */
};

/* Calls each; stops and returns what it returned when that is not 0.  -ENOMEM. */
int ac_compare(const struct ac_manifest *before, const struct ac_manifest *after,
	int (*each)(void *context, const struct ac_difference *difference), void *context);

/* The entry with the metadata: the "." of a directory, else the entry itself. */
static inline const struct ac_entry *ac_entry_full(
	const struct ac_manifest *manifest, const struct ac_entry *entry)
{
	return entry->type == AC_ENTRY_DIRECTORY ? ac_manifest_self(manifest, entry->first) : entry;
}

static inline bool ac_entry_is_closed(const struct ac_entry *entry)
{
	return (entry->flags & (AC_ENTRY_UNREADABLE | AC_ENTRY_EXCLUDED | AC_ENTRY_MOUNT)) != 0;
}

/* --- Hard links: pairs of (device, inode) --- */

struct ac_file_id {
	uint64_t device, inode;
};

struct ac_link_map { /* one id to another */
	struct ac_link {
		struct ac_file_id key, value;
		bool is_used;
	} * slots;
	uint64_t count, mask;
};

/* Enters key -> value when key is new; *found is the value that key has.  -ENOMEM. */
int ac_link_map_enter(struct ac_link_map *map, const struct ac_file_id *key,
	const struct ac_file_id *value, struct ac_file_id *found);
void ac_link_map_fini(struct ac_link_map *map);

#endif

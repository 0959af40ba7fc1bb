/* SPDX-License-Identifier: ISC */
/*
 * A manifest in memory: what a tree looked like at one moment, whole and checked.
 *
 * Loaded from the store, or assembled from what the threads of a walk wrote down.  Entries are used
 * in place (backup_format.h).  All of it is heap that ac_manifest_fini frees.
 */
#ifndef AC_BACKUP_MANIFEST_H
#define AC_BACKUP_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup_format.h"
#include "backup_pack.h"
#include "backup_store.h"
#include "err.h"

struct ac_manifest {
	struct ac_manifest_header header;
	char *meta; /* NUL-terminated */
	char *roots; /* paths, each NUL-terminated */
	struct ac_pack_id *packs;
	struct ac_directory *directories;
	unsigned char *entries;
	struct ac_hash *hashes;
	struct ac_place
		*places; /* in a loaded one: index into packs; in a new one: into the shelf */
	uint32_t pack_count, directory_count, reference_count;
	uint64_t meta_length, roots_length, entries_length;
};

static inline const struct ac_entry *ac_entry_at(
	const struct ac_manifest *manifest, uint64_t offset)
{
	return (const void *)(manifest->entries + offset);
}

static inline const char *ac_entry_name(const struct ac_entry *entry)
{
	return (const char *)(entry + 1);
}

static inline const struct ac_entry *ac_entry_next(const struct ac_entry *entry)
{
	return (const void *)((const unsigned char *)entry + entry->length);
}

static inline size_t ac_align8(size_t length)
{
	return (length + 7) & ~(size_t)7;
}

/* The side records of an entry, one after the other: start with previous NULL; NULL at the end. */
const struct ac_side *ac_entry_side(const struct ac_entry *entry, const struct ac_side *previous);
const void *ac_side_bytes(const struct ac_side *side);
/* The first one of a kind, or NULL. */
const struct ac_side *ac_entry_find(const struct ac_entry *entry, enum ac_side_kind kind);
/* The extended attribute of that name, or NULL. */
const struct ac_side *ac_entry_xattr(const struct ac_entry *entry, const char *name);

/* The entry in directory (number) with this name and length, or NULL; linear. */
const struct ac_entry *ac_manifest_lookup(
	const struct ac_manifest *manifest, uint32_t directory, const char *name, size_t length);

/* The "." entry of a directory. */
static inline const struct ac_entry *ac_manifest_self(
	const struct ac_manifest *manifest, uint32_t directory)
{
	return ac_entry_at(manifest, manifest->directories[directory].first);
}

/* The path of an entry (NULL: of the directory itself), whole or from the root on.  Returns a heap
 * block: paths may be far longer than PATH_MAX.  NULL: no memory. */
char *ac_manifest_path_dup(const struct ac_manifest *manifest, uint32_t directory,
	const struct ac_entry *entry, bool with_root);

/* The manifest's pack numbers in the shelf's, AC_NONE for one that is not there.  For free(). */
uint32_t *ac_manifest_map_packs(const struct ac_manifest *manifest, const struct ac_shelf *shelf);

void ac_manifest_fini(struct ac_manifest *manifest);

/* Reads a whole manifest, compares its hash, checks every length and index in it. */
int ac_manifest_load(
	struct ac_manifest *manifest, int store_fd, const char *id, struct ac_err *err);
/* The same of a whole file in memory, hostile or not.  0, -EBADMSG, -ENOTSUP (version), -ENOMEM. */
int ac_manifest_parse(struct ac_manifest *manifest, const unsigned char *file, size_t length);
/* Only header and the sections META, ROOTS and PACKS; no hash compared. */
int ac_manifest_peek(
	struct ac_manifest *manifest, int store_fd, const char *id, struct ac_err *err);
/* Pure: the checks of ac_manifest_load on what is in memory.  0 or -EBADMSG. */
int ac_manifest_check(const struct ac_manifest *manifest);

/* Writes it under a temporary name, synced, read back and compared.  header.section and file_length
 * are filled in. */
int ac_manifest_save(struct ac_manifest *manifest, int store_fd, char temporary[AC_STORE_NAME_MAX],
	struct ac_err *err);

/* --- Writing down a walk --- */

struct ac_segment { /* consecutive entries of one directory */
	uint32_t directory, sequence, count, shard;
	uint64_t offset, length;
};

struct ac_shard { /* one thread's notes */
	unsigned char *entries;
	size_t length, room;
	struct ac_hash *hashes;
	struct ac_place *places;
	uint32_t reference_count, reference_room;
	struct ac_segment *segments;
	size_t segment_count, segment_room;
};

void ac_shard_fini(struct ac_shard *shard);
/* Room in advance for so much; without it the shard grows as it must. */
void ac_shard_expect(struct ac_shard *shard, size_t length, uint32_t references);
/* Room for an entry with a name; the caller adds side records and ends it.  NULL: no memory.  The
 * pointer is good until the next call that adds to the shard: afterwards use the offset. */
struct ac_entry *ac_shard_entry(struct ac_shard *shard, const char *name, size_t length);
int ac_shard_side(struct ac_shard *shard, size_t entry, enum ac_side_kind kind, const void *a,
	size_t a_length, const void *b, size_t b_length);
int ac_shard_reference(
	struct ac_shard *shard, const struct ac_hash *hash, const struct ac_place *place);
int ac_shard_copy(struct ac_shard *shard, const void *bytes, size_t length);
int ac_shard_segment(struct ac_shard *shard, const struct ac_segment *segment);

/* Puts the shards' notes together: directories, entries, references.  directories has parent and
 * device filled; one of which no segment exists was gone when it was opened, and is left out. */
int ac_manifest_assemble(
	struct ac_manifest *manifest, struct ac_shard *shards, unsigned count, struct ac_err *err);

#endif

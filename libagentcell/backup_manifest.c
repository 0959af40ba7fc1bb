/* SPDX-License-Identifier: ISC */
/* A manifest in memory: looking at it, and checking that everything in it is what it says. */
#include "backup_manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ac_manifest_fini(struct ac_manifest *manifest)
{
	free(manifest->meta);
	free(manifest->roots);
	free(manifest->packs);
	free(manifest->directories);
	free(manifest->entries);
	free(manifest->hashes);
	free(manifest->places);
	memset(manifest, 0, sizeof *manifest);
}

uint32_t *ac_manifest_map_packs(const struct ac_manifest *manifest, const struct ac_shelf *shelf)
{
	uint32_t *map = calloc(manifest->pack_count + 1u, sizeof *map);

	for (uint32_t i = 0; map && i < manifest->pack_count; i++)
		map[i] = ac_shelf_pack(shelf, &manifest->packs[i]);
	return map;
}

static size_t fixed_length(const struct ac_entry *entry)
{
	return sizeof *entry + ac_align8((size_t)entry->name_length + 1);
}

const struct ac_side *ac_entry_side(const struct ac_entry *entry, const struct ac_side *previous)
{
	const unsigned char *start = (const unsigned char *)entry;
	const unsigned char *at = previous ? (const unsigned char *)(previous + 1) +
						     ac_align8(previous->length)
					   : start + fixed_length(entry);

	return at < start + entry->length ? (const void *)at : NULL;
}

const void *ac_side_bytes(const struct ac_side *side)
{
	return side + 1;
}

const struct ac_side *ac_entry_find(const struct ac_entry *entry, enum ac_side_kind kind)
{
	const struct ac_side *side = NULL;

	while ((side = ac_entry_side(entry, side)))
		if (side->kind == (uint32_t)kind)
			return side;
	return NULL;
}

const struct ac_side *ac_entry_xattr(const struct ac_entry *entry, const char *name)
{
	const struct ac_side *side = NULL;

	while ((side = ac_entry_side(entry, side)))
		if (side->kind == AC_SIDE_XATTR && !strcmp(ac_side_bytes(side), name))
			return side;
	return NULL;
}

const struct ac_entry *ac_manifest_lookup(
	const struct ac_manifest *manifest, uint32_t directory, const char *name, size_t length)
{
	const struct ac_directory *row = &manifest->directories[directory];
	const struct ac_entry *entry = ac_entry_at(manifest, row->first);

	for (uint32_t i = 0; i < row->count; i++, entry = ac_entry_next(entry))
		if (entry->name_length == length && !memcmp(ac_entry_name(entry), name, length))
			return entry;
	return NULL;
}

static bool is_self(const struct ac_entry *entry)
{
	return entry->name_length == 1 && ac_entry_name(entry)[0] == '.';
}

/* From a named entry in *directory to the one that names that directory; NULL above the root. */
static const struct ac_entry *climb(const struct ac_manifest *manifest, uint32_t *directory)
{
	const struct ac_directory *row = &manifest->directories[*directory];

	if (!*directory)
		return NULL;
	*directory = row->parent;
	return ac_entry_at(manifest, row->entry);
}

char *ac_manifest_path_dup(const struct ac_manifest *manifest, uint32_t directory,
	const struct ac_entry *entry, bool with_root)
{
	size_t length = 0;

	if (!entry || is_self(entry))
		entry = climb(manifest, &directory);
	const struct ac_entry *name = entry;
	uint32_t above = directory;

	for (; name && (above || with_root); name = climb(manifest, &above))
		length += name->name_length + 1u;
	char *path = malloc(length + 2);

	if (!path)
		return NULL;
	if (!length)
		return memcpy(path, ".", 2);
	char *end = path + length - 1; /* the last separator becomes the NUL */

	*end = '\0';
	for (name = entry, above = directory; name && (above || with_root);
		name = climb(manifest, &above)) {
		end -= name->name_length;
		memcpy(end, ac_entry_name(name), name->name_length);
		if (end > path)
			*--end = '/';
	}
	return path;
}

static int check_sides(const struct ac_manifest *manifest, const struct ac_entry *entry)
{
	const unsigned char *end = (const unsigned char *)entry + entry->length;
	const struct ac_side *side = NULL;
	uint64_t extents = 0;
	bool has_target = false;

	while ((side = ac_entry_side(entry, side))) {
		size_t left = (size_t)(end - (const unsigned char *)side);

		if (left < sizeof *side || left - sizeof *side < ac_align8(side->length))
			return -EBADMSG;
		const char *bytes = ac_side_bytes(side);

		if (side->kind == AC_SIDE_XATTR && !memchr(bytes, '\0', side->length))
			return -EBADMSG;
		if (side->kind == AC_SIDE_TARGET)
			has_target = side->length > 1 &&
				     memchr(bytes, '\0', side->length) == bytes + side->length - 1;
		if (side->kind == AC_SIDE_EXTENTS) {
			const struct ac_extent *extent = ac_side_bytes(side);

			for (uint32_t i = 0; i < side->length / sizeof *extent; i++) {
				if (extent[i].offset > entry->size ||
					extent[i].length > entry->size - extent[i].offset)
					return -EBADMSG;
				extents += (extent[i].length + AC_CHUNK_MAX - 1) / AC_CHUNK_MAX;
			}
		}
	}
	if (entry->type == AC_ENTRY_SYMLINK)
		return has_target || (entry->flags & AC_ENTRY_EXCLUDED) ? 0 : -EBADMSG;
	if (entry->type != AC_ENTRY_REGULAR)
		return 0;
	if (entry->first > manifest->reference_count ||
		entry->count > manifest->reference_count - entry->first)
		return -EBADMSG;
	if (!(entry->flags & AC_ENTRY_SPARSE))
		extents = (entry->size + AC_CHUNK_MAX - 1) / AC_CHUNK_MAX;
	if (entry->flags & (AC_ENTRY_UNREADABLE | AC_ENTRY_EXCLUDED | AC_ENTRY_MOUNT))
		extents = 0;
	return entry->count == extents ? 0 : -EBADMSG;
}

static bool name_is_fit(const struct ac_entry *entry, uint32_t directory)
{
	const char *name = ac_entry_name(entry);
	size_t length = entry->name_length;

	if (!length || memchr(name, '\0', length) || name[length])
		return false;
	if (!directory)
		return name[0] == '/';
	return !memchr(name, '/', length) && !(length == 2 && name[0] == '.' && name[1] == '.');
}

static int check_entry(
	const struct ac_manifest *manifest, uint32_t directory, uint64_t offset, bool is_first)
{
	const struct ac_entry *entry = ac_entry_at(manifest, offset);
	uint64_t left = manifest->entries_length - offset;

	if (left < sizeof *entry || entry->length > left || entry->length % 8 ||
		entry->length < fixed_length(entry) || !name_is_fit(entry, directory))
		return -EBADMSG;
	if (is_self(entry) != (is_first && directory) || entry->type < AC_ENTRY_REGULAR ||
		entry->type > AC_ENTRY_BLOCK)
		return -EBADMSG;
	if (is_self(entry) && entry->type != AC_ENTRY_DIRECTORY)
		return -EBADMSG;
	if (entry->type == AC_ENTRY_DIRECTORY && !is_self(entry)) {
		/* Numbers grow downwards in the tree: no cycle can be written. */
		if (entry->first <= directory || entry->first >= manifest->directory_count)
			return -EBADMSG;
		const struct ac_directory *child = &manifest->directories[entry->first];

		if (child->parent != directory || child->entry != offset || !child->count)
			return -EBADMSG;
	}
	return check_sides(manifest, entry);
}

int ac_manifest_check(const struct ac_manifest *manifest)
{
	if (!manifest->directory_count)
		return -EBADMSG;
	for (uint32_t d = 0; d < manifest->directory_count; d++) {
		const struct ac_directory *row = &manifest->directories[d];
		uint64_t offset = row->first;

		if (row->parent > d || (d && row->parent == d))
			return -EBADMSG;
		for (uint32_t i = 0; i < row->count; i++) {
			if (offset >= manifest->entries_length || offset % 8 ||
				check_entry(manifest, d, offset, !i))
				return -EBADMSG;
			offset += ac_entry_at(manifest, offset)->length;
		}
	}
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * Looking names up in one directory of the previous manifest.  A file system lists a directory that
 * nobody touched in the same order again, so the next entry is tried first; only when that fails
 * an index is made.
 */
#include "backup_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_FROM 8 /* entries; fewer are searched one by one */

void ac_previous_init(struct ac_previous *previous, const struct ac_manifest *manifest,
	uint32_t directory, uint32_t position)
{
	memset(previous, 0, sizeof *previous);
	if (!manifest || directory == AC_NONE)
		return;
	const struct ac_directory *row = &manifest->directories[directory];

	previous->manifest = manifest;
	previous->count = row->count;
	previous->first = previous->next = ac_entry_at(manifest, row->first);
	while (previous->position < position && previous->position < row->count) {
		previous->next = ac_entry_next(previous->next);
		previous->position++;
	}
}

void ac_previous_fini(struct ac_previous *previous)
{
	free(previous->slots);
	previous->slots = NULL;
}

static uint32_t name_hash(const char *name, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static bool has_name(const struct ac_entry *entry, const char *name, size_t length)
{
	return entry->name_length == length && !memcmp(ac_entry_name(entry), name, length);
}

static void make_index(struct ac_previous *previous)
{
	uint32_t size = 16;
	const struct ac_entry *entry = previous->first;

	while (size < previous->count * 2u && size < 1u << 30)
		size *= 2;
	previous->slots = calloc(size, sizeof(void *));
	if (!previous->slots)
		return; /* slower, not wrong */
	previous->slot_mask = size - 1;
	for (uint32_t i = 0; i < previous->count; i++, entry = ac_entry_next(entry)) {
		uint32_t slot = name_hash(ac_entry_name(entry), entry->name_length) & (size - 1);

		while (previous->slots[slot])
			slot = (slot + 1) & (size - 1);
		previous->slots[slot] = entry;
	}
}

static const struct ac_entry *search(struct ac_previous *previous, const char *name, size_t length)
{
	const struct ac_entry *entry = previous->first;

	if (!previous->slots && previous->count >= INDEX_FROM)
		make_index(previous);
	if (!previous->slots) {
		for (uint32_t i = 0; i < previous->count; i++, entry = ac_entry_next(entry))
			if (has_name(entry, name, length))
				return entry;
		return NULL;
	}
	uint32_t slot = name_hash(name, length) & previous->slot_mask;

	for (; previous->slots[slot]; slot = (slot + 1) & previous->slot_mask)
		if (has_name(previous->slots[slot], name, length))
			return previous->slots[slot];
	return NULL;
}

const struct ac_entry *ac_previous_find(
	struct ac_previous *previous, const char *name, size_t length)
{
	if (!previous->manifest)
		return NULL;
	if (previous->position < previous->count && has_name(previous->next, name, length)) {
		const struct ac_entry *found = previous->next;

		previous->next = ac_entry_next(found);
		previous->position++;
		return found;
	}
	const struct ac_entry *found = search(previous, name, length);

	if (found) { /* after an insertion or removal the order is the old one again */
		previous->next = ac_entry_next(found);
		previous->position = 0;
		const unsigned char *end = previous->manifest->entries +
					   previous->manifest->entries_length;

		if ((const unsigned char *)previous->next >= end)
			previous->position = previous->count;
	}
	return found;
}

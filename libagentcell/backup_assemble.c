/* SPDX-License-Identifier: ISC */
/*
 * What the threads of a walk wrote down, put together into one manifest.
 *
 * Each thread notes entries and content references in a shard of its own and no lock is taken; only
 * here the numbers of references become global and each directory's pieces come together.
 */
#include "backup_manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ac_shard_fini(struct ac_shard *shard)
{
	free(shard->entries);
	free(shard->hashes);
	free(shard->places);
	free(shard->segments);
	memset(shard, 0, sizeof *shard);
}

void ac_shard_expect(struct ac_shard *shard, size_t length, uint32_t references)
{
	shard->entries = malloc(length + 1);
	shard->hashes = malloc(references * sizeof shard->hashes[0] + 1);
	shard->places = malloc(references * sizeof shard->places[0] + 1);
	shard->room = shard->entries ? length : 0;
	shard->reference_room = shard->hashes && shard->places ? references : 0;
}

/* The next length bytes of the entries. */
static void *extend(struct ac_shard *shard, size_t length)
{
	if (shard->room - shard->length < length) {
		size_t room = shard->room ? shard->room * 2 : 1u << 16;

		while (room - shard->length < length)
			room *= 2;
		void *grown = realloc(shard->entries, room);

		if (!grown)
			return NULL;
		shard->entries = grown;
		shard->room = room;
	}
	void *start = shard->entries + shard->length;

	shard->length += length;
	return start;
}

struct ac_entry *ac_shard_entry(struct ac_shard *shard, const char *name, size_t length)
{
	size_t total = sizeof(struct ac_entry) + ac_align8(length + 1);
	struct ac_entry *entry = length <= UINT16_MAX ? extend(shard, total) : NULL;

	if (!entry)
		return NULL;
	memset(entry, 0, total);
	entry->length = (uint32_t)total;
	entry->name_length = (uint16_t)length;
	memcpy(entry + 1, name, length);
	return entry;
}

int ac_shard_side(struct ac_shard *shard, size_t offset, enum ac_side_kind kind, const void *a,
	size_t a_length, const void *b, size_t b_length)
{
	size_t total = sizeof(struct ac_side) + ac_align8(a_length + b_length);
	struct ac_side *side = total < INT32_MAX ? extend(shard, total) : NULL;

	if (!side)
		return -ENOMEM;
	memset(side, 0, total);
	struct ac_entry *entry = (void *)(shard->entries + offset);

	side->kind = (uint32_t)kind;
	side->length = (uint32_t)(a_length + b_length);
	if (a_length)
		memcpy(side + 1, a, a_length);
	if (b_length)
		memcpy((unsigned char *)(side + 1) + a_length, b, b_length);
	entry->length += (uint32_t)total;
	return 0;
}

int ac_shard_copy(struct ac_shard *shard, const void *bytes, size_t length)
{
	void *to = extend(shard, length);

	if (!to)
		return -ENOMEM;
	memcpy(to, bytes, length);
	return 0;
}

int ac_shard_reference(
	struct ac_shard *shard, const struct ac_hash *hash, const struct ac_place *place)
{
	if (shard->reference_count == shard->reference_room) {
		uint32_t room = shard->reference_room ? shard->reference_room * 2 : 1024;
		void *hashes = room ? reallocarray(shard->hashes, room, sizeof shard->hashes[0])
				    : NULL;

		if (!hashes)
			return -ENOMEM;
		shard->hashes = hashes;
		void *places = reallocarray(shard->places, room, sizeof shard->places[0]);

		if (!places)
			return -ENOMEM;
		shard->places = places;
		shard->reference_room = room;
	}
	shard->hashes[shard->reference_count] = *hash;
	shard->places[shard->reference_count++] = *place;
	return 0;
}

int ac_shard_segment(struct ac_shard *shard, const struct ac_segment *segment)
{
	if (shard->segment_count == shard->segment_room) {
		size_t room = shard->segment_room ? shard->segment_room * 2 : 256;
		void *grown = reallocarray(shard->segments, room, sizeof shard->segments[0]);

		if (!grown)
			return -ENOMEM;
		shard->segments = grown;
		shard->segment_room = room;
	}
	shard->segments[shard->segment_count++] = *segment;
	return 0;
}

static int in_order(const void *a, const void *b)
{
	const struct ac_segment *left = a, *right = b;

	if (left->directory != right->directory)
		return left->directory < right->directory ? -1 : 1;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static int join_references(struct ac_manifest *manifest, struct ac_shard *shards, unsigned count)
{
	uint64_t total = 0, at = 0;

	for (unsigned i = 0; i < count; i++)
		total += shards[i].reference_count;
	if (total >= AC_NONE)
		return -EFBIG;
	manifest->hashes = malloc(total * sizeof manifest->hashes[0] + 1);
	manifest->places = malloc(total * sizeof manifest->places[0] + 1);
	if (!manifest->hashes || !manifest->places)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		size_t n = shards[i].reference_count;

		if (!n)
			continue;
		memcpy(manifest->hashes + at, shards[i].hashes, n * sizeof manifest->hashes[0]);
		memcpy(manifest->places + at, shards[i].places, n * sizeof manifest->places[0]);
		at += n;
	}
	manifest->reference_count = (uint32_t)total;
	return 0;
}

/* All segments of all shards, by directory; *marks gets one byte per directory that has any. */
static struct ac_segment *sort_segments(struct ac_shard *shards, unsigned count,
	uint32_t directories, unsigned char *marks, size_t *total)
{
	size_t at = 0;

	*total = 0;
	for (unsigned i = 0; i < count; i++)
		*total += shards[i].segment_count;
	struct ac_segment *segments = calloc(*total + 1, sizeof *segments);

	if (!segments)
		return NULL;
	for (unsigned i = 0; i < count; i++)
		for (size_t k = 0; k < shards[i].segment_count; k++) {
			segments[at] = shards[i].segments[k];
			segments[at++].shard = i;
		}
	qsort(segments, *total, sizeof *segments, in_order);
	for (size_t k = 0; k < *total; k++)
		if (segments[k].directory < directories)
			marks[segments[k].directory] = 1;
	return segments;
}

struct joint {
	struct ac_manifest *manifest;
	const struct ac_shard *shard;
	const unsigned char *marks; /* directories that exist */
	uint32_t base; /* number of the shard's first reference */
};

static void copy_segment(const struct joint *joint, const struct ac_segment *segment)
{
	struct ac_manifest *manifest = joint->manifest;
	struct ac_directory *row = &manifest->directories[segment->directory];
	const unsigned char *from = joint->shard->entries + segment->offset;

	for (uint32_t i = 0; i < segment->count; i++) {
		struct ac_entry *entry = (void *)(manifest->entries + manifest->entries_length);

		memcpy(entry, from, ((const struct ac_entry *)(const void *)from)->length);
		from += entry->length;
		bool is_self = entry->name_length == 1 && ac_entry_name(entry)[0] == '.';

		if (entry->type == AC_ENTRY_DIRECTORY && !is_self) {
			if (!joint->marks[entry->first])
				continue; /* gone before it was opened */
			manifest->directories[entry->first].entry = manifest->entries_length;
		} else if (entry->type == AC_ENTRY_REGULAR) {
			entry->first += joint->base;
		}
		manifest->entries_length += entry->length;
		row->count++;
	}
}

/* Copies every segment to its directory; bases: number of each shard's first reference. */
static int copy_segments(struct ac_manifest *manifest, struct ac_shard *shards, unsigned count,
	unsigned char *marks, uint32_t *bases)
{
	size_t total = 0;
	struct ac_segment *segments = sort_segments(
		shards, count, manifest->directory_count, marks, &total);

	if (!segments)
		return -ENOMEM;
	for (unsigned i = 1; i < count; i++)
		bases[i] = bases[i - 1] + shards[i - 1].reference_count;
	for (size_t k = 0; k < total; k++) {
		struct joint joint = { .manifest = manifest,
			.shard = &shards[segments[k].shard],
			.marks = marks,
			.base = bases[segments[k].shard] };

		if (!k || segments[k].directory != segments[k - 1].directory)
			manifest->directories[segments[k].directory].first =
				manifest->entries_length;
		copy_segment(&joint, &segments[k]);
	}
	free(segments);
	return 0;
}

static int join_entries(struct ac_manifest *manifest, struct ac_shard *shards, unsigned count)
{
	unsigned char *marks = calloc(manifest->directory_count, 1);
	uint32_t *bases = calloc(count + 1, sizeof *bases);
	size_t length = 0;

	for (unsigned i = 0; i < count; i++)
		length += shards[i].length;
	manifest->entries = malloc(length + 1);
	int result = marks && bases && manifest->entries
			     ? copy_segments(manifest, shards, count, marks, bases)
			     : -ENOMEM;

	free(marks);
	free(bases);
	return result;
}

int ac_manifest_assemble(
	struct ac_manifest *manifest, struct ac_shard *shards, unsigned count, struct ac_err *err)
{
	int result = join_references(manifest, shards, count);

	if (!result)
		result = join_entries(manifest, shards, count);
	if (!result)
		result = ac_manifest_check(manifest);
	return result ? ac_fail_errno(err, -result, "put the manifest together") : 0;
}

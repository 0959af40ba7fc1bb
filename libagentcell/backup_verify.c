/* SPDX-License-Identifier: ISC */
/* Reading a whole backup back: every chunk that it needs, each by its hash. */
#include "backup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backup_compare.h"
#include "backup_make.h"
#include "util.h"

static int count_entry(const struct ac_entry *entry, struct ac_backup_totals *totals)
{
	bool is_self = entry->name_length == 1 && ac_entry_name(entry)[0] == '.';

	switch (entry->type) {
	case AC_ENTRY_REGULAR:
		totals->files++;
		totals->bytes += entry->size;
		break;
	case AC_ENTRY_DIRECTORY:
		totals->directories += is_self;
		break;
	default:
		totals->others++;
	}
	totals->torn += !!(entry->flags & AC_ENTRY_TORN);
	totals->unreadable += !!(entry->flags & AC_ENTRY_UNREADABLE);
	return 0;
}

static int check_file(struct ac_chunk_reader *reader, const struct ac_manifest *manifest,
	const uint32_t *map, const struct ac_entry *entry, struct ac_err *err)
{
	uint64_t bytes = 0, expected = entry->size;
	const struct ac_side *extents = ac_entry_find(entry, AC_SIDE_EXTENTS);

	if (ac_entry_is_closed(entry))
		return 0;
	if (extents) {
		const struct ac_extent *extent = ac_side_bytes(extents);

		expected = 0;
		for (uint32_t i = 0; i < extents->length / sizeof *extent; i++)
			expected += extent[i].length;
	}
	for (uint32_t i = 0; i < entry->count; i++) {
		const struct ac_place *place = &manifest->places[entry->first + i];
		const struct ac_place hint = { .pack = map[place->pack], .row = place->row };
		const unsigned char *content;
		uint32_t length;
		int result = ac_chunk_read(
			reader, &manifest->hashes[entry->first + i], &hint, &content, &length, err);

		if (result)
			return result;
		bytes += length;
	}
	return bytes == expected ? 0 : ac_fail(err, EBADMSG, "content has the wrong length");
}

static int check_all(struct ac_chunk_reader *reader, const struct ac_manifest *manifest,
	const uint32_t *map, struct ac_backup_totals *totals, struct ac_err *err)
{
	for (uint32_t d = 0; d < manifest->directory_count; d++) {
		const struct ac_directory *row = &manifest->directories[d];
		const struct ac_entry *entry = ac_entry_at(manifest, row->first);

		for (uint32_t i = 0; i < row->count; i++, entry = ac_entry_next(entry)) {
			int result = count_entry(entry, totals);

			if (!result && entry->type == AC_ENTRY_REGULAR)
				result = check_file(reader, manifest, map, entry, err);
			if (!result)
				continue;
			ac_autofree char *path = ac_manifest_path_dup(manifest, d, entry, true);

			return ac_fail_within(err, "%s", path ? path : "?");
		}
	}
	return 0;
}

int ac_backup_verify(
	int store_fd, const char *id, struct ac_backup_totals *totals, struct ac_err *err)
{
	struct ac_manifest manifest;
	struct ac_shelf shelf;
	struct ac_chunk_reader reader;
	struct ac_backup_totals own;
	ac_autoclose int lock = ac_store_lock(store_fd, false, 20, err);
	int result = lock < 0 ? lock : ac_manifest_load(&manifest, store_fd, id, err);

	memset(&own, 0, sizeof own);
	if (result)
		return result;
	result = ac_shelf_init(&shelf, store_fd, err);
	if (!result) {
		result = ac_shelf_index(&shelf, err);
		if (!result)
			result = ac_chunk_reader_init(&reader, &shelf, err);
		uint32_t *map = result ? NULL : ac_manifest_map_packs(&manifest, &shelf);

		if (!result && !map)
			result = ac_fail_errno(err, ENOMEM, "verify");
		if (map)
			result = check_all(&reader, &manifest, map, &own, err);
		if (map)
			ac_chunk_reader_fini(&reader);
		free(map);
		ac_shelf_fini(&shelf);
	}
	ac_manifest_fini(&manifest);
	if (!result && totals)
		*totals = own;
	return result;
}

/* SPDX-License-Identifier: ISC */
/*
 * diff: a backup against another one, or against the tree as it is.  The tree is walked and read
 * where metadata moved; nothing is stored and nothing of the project is run.
 */
#include "backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_make.h"
#include "backup_patch.h"
#include "backup_select.h"
#include "backup_tree.h"
#include "escape.h"
#include "util.h"

struct side { /* one manifest and the way to its content */
	struct ac_manifest manifest;
	uint32_t *map; /* NULL: it is the tree */
	struct ac_tree tree;
	bool has_tree;
};

struct diff {
	const struct ac_backup_compare *request;
	struct ac_selection selection;
	struct side old, new;
	struct ac_shelf shelf;
	struct ac_chunk_reader reader;
	bool has_reader;
	struct ac_err err;
};

/* An anonymous file with what the entry holds; entry NULL: empty. */
static int extract_stored(struct diff *diff, struct side *side, const struct ac_entry *entry)
{
	struct ac_place *hints = calloc(entry->count + 1u, sizeof *hints);

	if (!hints)
		return ac_fail_errno(&diff->err, ENOMEM, "compare");
	for (uint32_t i = 0; i < entry->count; i++) {
		hints[i] = side->manifest.places[entry->first + i];
		hints[i].pack = side->map[hints[i].pack];
	}
	int result = ac_patch_extract(&diff->reader, &side->manifest.hashes[entry->first], hints,
		entry->count, &diff->err);

	free(hints);
	return result;
}

static int extract_present(
	struct diff *diff, struct side *side, uint32_t directory, const struct ac_entry *entry)
{
	struct ac_spot spot = { .fd = -1 };
	struct statx st;
	int forced_mode, result;

	/* Never ac_tree_go: that is for writing. */
	spot.name = ac_entry_name(entry);
	if (!directory)
		return ac_patch_empty(&diff->err);
	spot.fd = ac_tree_pin(&side->tree, directory);
	if (spot.fd < 0)
		return ac_fail_errno(&diff->err, -spot.fd, "open a directory");
	const struct ac_place_to_open place = { .parent_fd = spot.fd,
		.name = spot.name,
		.node = side->tree.nodes[directory],
		.force = NULL };
	int fd = ac_open_file(&place, &st, &forced_mode);

	if (fd < 0) {
		result = ac_fail_errno(&diff->err, -fd, "open %s", spot.name);
	} else {
		result = ac_patch_copy(fd, &diff->err);
		ac_close_opened(fd, forced_mode);
	}
	ac_tree_unpin(&side->tree, directory);
	return result;
}

static int extract(
	struct diff *diff, struct side *side, uint32_t directory, const struct ac_entry *entry)
{
	if (!entry || entry->type != AC_ENTRY_REGULAR)
		return ac_patch_empty(&diff->err);
	return side->map ? extract_stored(diff, side, entry)
			 : extract_present(diff, side, directory, entry);
}

static bool is_patchable(const struct ac_entry *entry)
{
	return !entry || (entry->type == AC_ENTRY_REGULAR && !ac_entry_is_closed(entry) &&
				 !(entry->flags & AC_ENTRY_SPARSE) && entry->size <= AC_PATCH_MAX);
}

static int patch(struct diff *diff, const struct ac_difference *difference, const char *path)
{
	const struct ac_entry *old = difference->old, *new = difference->new;
	const unsigned wanted = AC_CHANGE_ADDED | AC_CHANGE_REMOVED | AC_CHANGE_CONTENT;
	char old_label[4096] = "a", new_label[4096] = "b";

	if (diff->request->patch_fd < 0 || !(difference->change & wanted) || !is_patchable(old) ||
		!is_patchable(new))
		return 0;
	ac_escape(old_label + 1, sizeof old_label - 1, path, strlen(path));
	ac_escape(new_label + 1, sizeof new_label - 1, path, strlen(path));
	ac_autoclose int old_fd = extract(diff, &diff->old, difference->old_directory, old);
	ac_autoclose int new_fd = extract(diff, &diff->new, difference->new_directory, new);

	if (old_fd < 0 || new_fd < 0)
		return -diff->err.code;
	return ac_patch_run(old_fd, new_fd, old ? old_label : "/dev/null",
		new ? new_label : "/dev/null", diff->request->patch_fd, &diff->err);
}

static int tell(void *context, const struct ac_difference *difference)
{
	struct diff *diff = context;
	ac_autofree char *path = ac_difference_path_dup(difference);
	struct ac_backup_change change;

	if (!path)
		return ac_fail_errno(&diff->err, ENOMEM, "compare");
	if (!ac_selection_has(&diff->selection, path))
		return 0;
	ac_difference_tell(difference, path, &change);
	int result = diff->request->each(diff->request->context, &change);

	return result ? ac_fail_errno(&diff->err, -result, "report a difference")
		      : patch(diff, difference, path);
}

static int prepare_content(struct diff *diff, struct ac_err *err)
{
	int result = ac_shelf_init(&diff->shelf, diff->request->store_fd, err);

	if (!result)
		result = ac_shelf_index(&diff->shelf, err);
	if (!result)
		result = ac_chunk_reader_init(&diff->reader, &diff->shelf, err);
	if (result)
		return result;
	diff->has_reader = true;
	diff->old.map = ac_manifest_map_packs(&diff->old.manifest, &diff->shelf);
	if (diff->request->other_id)
		diff->new.map = ac_manifest_map_packs(&diff->new.manifest, &diff->shelf);
	else
		result = ac_tree_init(&diff->new.tree, &diff->new.manifest, err);
	if (result)
		return result;
	diff->new.has_tree = !diff->request->other_id;
	diff->new.tree.cache.is_writing = false; /* modes are put back */
	return diff->old.map && (diff->new.map || diff->new.has_tree)
		       ? 0
		       : ac_fail_errno(err, ENOMEM, "compare");
}

static int load(struct diff *diff, struct ac_err *err)
{
	const struct ac_backup_compare *request = diff->request;
	int result = ac_manifest_load(&diff->old.manifest, request->store_fd, request->id, err);

	if (result)
		return result;
	if (request->other_id)
		return ac_manifest_load(
			&diff->new.manifest, request->store_fd, request->other_id, err);
	ac_autofree struct ac_strings *exclude = calloc(1, sizeof *exclude);

	if (!exclude)
		return ac_fail_errno(err, ENOMEM, "compare");
	result = ac_manifest_exclude(&diff->old.manifest, exclude, err);
	return result ? result
		      : ac_make_look(request->store_fd, &diff->old.manifest, exclude,
				request->opener, &diff->new.manifest, err);
}

static void free_diff(struct diff *diff)
{
	if (diff->new.has_tree)
		ac_tree_fini(&diff->new.tree);
	if (diff->has_reader)
		ac_chunk_reader_fini(&diff->reader);
	if (diff->shelf.packs)
		ac_shelf_fini(&diff->shelf);
	free(diff->old.map);
	free(diff->new.map);
	ac_manifest_fini(&diff->old.manifest);
	ac_manifest_fini(&diff->new.manifest);
	free(diff);
}

int ac_backup_diff(const struct ac_backup_compare *request, struct ac_err *err)
{
	ac_autoclose int lock = ac_store_lock(request->store_fd, false, 20, err);
	struct diff *diff = lock < 0 ? NULL : calloc(1, sizeof *diff);

	if (lock < 0)
		return lock;
	if (!diff)
		return ac_fail_errno(err, ENOMEM, "compare");
	diff->request = request;
	diff->selection = (struct ac_selection){ .paths = request->paths,
		.count = request->path_count };
	int result = load(diff, err);

	if (!result)
		result = ac_selection_check(
			&diff->selection, &diff->old.manifest, &diff->new.manifest, err);
	if (!result && request->patch_fd >= 0)
		result = prepare_content(diff, err);
	if (!result) {
		result = ac_compare(&diff->old.manifest, &diff->new.manifest, tell, diff);
		if (result && diff->err.code)
			*err = diff->err;
		else if (result)
			ac_fail_errno(err, -result, "compare");
	}
	free_diff(diff);
	return result;
}

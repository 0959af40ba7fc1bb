/* SPDX-License-Identifier: ISC */
/*
 * Which backup a new one is compared with: for each root, the newest that has it.  One that cannot be
 * read is passed over; the worst that comes of it is that more is read again.
 */
#include "backup_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

const struct ac_entry *ac_manifest_root(const struct ac_manifest *manifest, const char *path)
{
	return ac_manifest_lookup(manifest, 0, path, strlen(path));
}

static bool names_root(const struct ac_manifest *head, const char *path)
{
	for (uint64_t at = 0; at < head->roots_length; at += strlen(head->roots + at) + 1)
		if (!strcmp(head->roots + at, path))
			return true;
	return false;
}

static void use(const struct ac_manifest *manifest, struct ac_walk_root *roots, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (roots[i].previous)
			continue;
		roots[i].previous_entry = ac_manifest_root(manifest, roots[i].path);
		if (roots[i].previous_entry)
			roots[i].previous = manifest;
	}
}

static bool is_wanted(
	int store_fd, const char *id, const struct ac_walk_root *roots, unsigned count)
{
	struct ac_manifest head;
	bool wanted = false;

	if (ac_manifest_peek(&head, store_fd, id, NULL))
		return false;
	for (unsigned i = 0; i < count; i++)
		wanted |= !roots[i].previous && names_root(&head, roots[i].path);
	ac_manifest_fini(&head);
	return wanted;
}

static bool is_complete(const struct ac_walk_root *roots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!roots[i].previous)
			return false;
	return true;
}

int ac_before_find(struct ac_before *before, int store_fd, const struct ac_make_share *share,
	struct ac_walk_root *roots, unsigned count, struct ac_err *err)
{
	ac_autofree struct ac_store_id *ids = NULL;
	unsigned id_count = 0;
	int result = ac_store_ids(store_fd, &ids, &id_count, err);

	memset(before, 0, sizeof *before);
	if (result)
		return result;
	/* Never more than one manifest for each root. */
	before->manifests = calloc(count + 1u, sizeof before->manifests[0]);
	if (!before->manifests)
		return ac_fail_errno(err, ENOMEM, "read the last backup");
	for (unsigned i = 0; i < id_count && !is_complete(roots, count); i++) {
		struct ac_manifest *manifest = &before->manifests[before->count];

		if (share && share->known && !strcmp(ids[i].text, share->known_id)) {
			use(share->known, roots, count);
			continue;
		}
		if (!is_wanted(store_fd, ids[i].text, roots, count) ||
			ac_manifest_load(manifest, store_fd, ids[i].text, NULL))
			continue;
		before->count++;
		use(manifest, roots, count);
	}
	return 0;
}

void ac_before_fini(struct ac_before *before)
{
	for (unsigned i = 0; i < before->count; i++)
		ac_manifest_fini(&before->manifests[i]);
	free(before->manifests);
	memset(before, 0, sizeof *before);
}

/* SPDX-License-Identifier: ISC */
/*
 * Manifests of backups, hostile: whatever the bytes are, they are refused or every entry, name, side
 * record and reference in them can be used.  The hash at the end is put right first, or nothing
 * would ever get past it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backup_compare.h"
#include "backup_hash.h"
#include "backup_manifest.h"
#include "backup_select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int use(void *context, const struct ac_difference *difference)
{
	struct ac_backup_change change;
	char *path = ac_difference_path_dup(difference);

	if (path) {
		ac_difference_tell(difference, path, &change);
		*(size_t *)context += strlen(change.path) +
				      (change.old_target ? strlen(change.old_target) : 0);
	}
	free(path);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ac_directory none = { .count = 0 };
	unsigned char nothing[8] = { 0 };
	const struct ac_manifest empty = {
		.directories = &none, .directory_count = 1, .entries = nothing
	};
	struct ac_manifest manifest;
	struct ac_hasher hasher;
	struct ac_hash hash;
	uint8_t *file = malloc(size + sizeof hash);
	size_t used = 0;

	if (!file || size < sizeof manifest.header || ac_hasher_init(&hasher, NULL)) {
		free(file);
		return 0;
	}
	memcpy(file, data, size);
	((struct ac_manifest_header *)(void *)file)->file_length = size + sizeof hash;
	ac_hasher_hash(&hasher, file, size, &hash);
	ac_hasher_fini(&hasher);
	memcpy(file + size, &hash, sizeof hash);
	if (!ac_manifest_parse(&manifest, file, size + sizeof hash)) {
		ac_compare(&manifest, &empty, use, &used);
		ac_compare(&empty, &manifest, use, &used);
		ac_compare(&manifest, &manifest, use, &used);
		ac_manifest_fini(&manifest);
	}
	free(file);
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * Writing a manifest: sections, each compressed where that pays, then the hash of everything; synced
 * and read back before anybody may give it its name.
 */
#include "backup_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

struct output {
	int fd;
	struct ac_hasher hasher;
	uint64_t offset;
};

static int put(struct output *output, const void *bytes, size_t length)
{
	ac_hasher_add(&output->hasher, bytes, length);
	output->offset += length;
	return ac_write_all(output->fd, bytes, length);
}

static int prepare(struct ac_manifest *manifest, enum ac_section section, const void *raw,
	uint64_t length, void **packed)
{
	struct ac_section_place *place = &manifest->header.section[section];
	size_t stored = length;
	/* Hashes do not compress. */
	int result = section == AC_SECTION_HASHES
			     ? 0
			     : ac_section_compress(raw, length, packed, &stored);

	place->raw = length;
	place->stored = stored;
	return result;
}

static int prepare_all(struct ac_manifest *manifest, const void *raw[AC_SECTION_COUNT],
	void *packed[AC_SECTION_COUNT])
{
	const uint64_t length[AC_SECTION_COUNT] = { manifest->meta_length, manifest->roots_length,
		manifest->pack_count * sizeof manifest->packs[0],
		manifest->directory_count * sizeof manifest->directories[0],
		manifest->entries_length, manifest->reference_count * sizeof manifest->hashes[0],
		manifest->reference_count * sizeof manifest->places[0] };
	uint64_t offset = sizeof manifest->header;
	int result = 0;

	raw[AC_SECTION_META] = manifest->meta;
	raw[AC_SECTION_ROOTS] = manifest->roots;
	raw[AC_SECTION_PACKS] = manifest->packs;
	raw[AC_SECTION_DIRECTORIES] = manifest->directories;
	raw[AC_SECTION_ENTRIES] = manifest->entries;
	raw[AC_SECTION_HASHES] = manifest->hashes;
	raw[AC_SECTION_PLACES] = manifest->places;
	for (unsigned i = 0; !result && i < AC_SECTION_COUNT; i++) {
		result = prepare(manifest, (enum ac_section)i, raw[i], length[i], &packed[i]);
		manifest->header.section[i].offset = offset;
		offset += manifest->header.section[i].stored;
	}
	manifest->header.file_length = offset + sizeof(struct ac_hash);
	return result;
}

static int write_file(struct ac_manifest *manifest, int fd, struct ac_hash *hash)
{
	const void *raw[AC_SECTION_COUNT];
	void *packed[AC_SECTION_COUNT] = { NULL };
	struct output output = { .fd = fd };
	int result = ac_hasher_init(&output.hasher, NULL);

	if (result)
		return result;
	memcpy(manifest->header.magic, AC_MANIFEST_MAGIC, sizeof manifest->header.magic);
	manifest->header.version = AC_FORMAT_VERSION;
	manifest->header.header_length = sizeof manifest->header;
	result = prepare_all(manifest, raw, packed);
	ac_hasher_start(&output.hasher);
	if (!result)
		result = put(&output, &manifest->header, sizeof manifest->header);
	for (unsigned i = 0; !result && i < AC_SECTION_COUNT; i++)
		result = put(&output, packed[i] ? packed[i] : raw[i],
			manifest->header.section[i].stored);
	ac_hasher_end(&output.hasher, hash);
	if (!result)
		result = output.hasher.failed ? -EIO : ac_write_all(fd, hash, sizeof *hash);
	for (unsigned i = 0; i < AC_SECTION_COUNT; i++)
		free(packed[i]);
	ac_hasher_fini(&output.hasher);
	return result;
}

static uint64_t hash_file(int fd, uint64_t length, unsigned char *buffer, struct ac_hasher *hasher)
{
	uint64_t done = 0;

	while (done < length) {
		size_t want = length - done < AC_CHUNK_MAX ? length - done : AC_CHUNK_MAX;
		ssize_t got = pread(fd, buffer, want, (off_t)done);

		if (got <= 0)
			break;
		ac_hasher_add(hasher, buffer, (size_t)got);
		done += (uint64_t)got;
	}
	return done;
}

/* What the file holds now must have the hash of what was meant. */
static int read_back(int fd, uint64_t length, const struct ac_hash *meant)
{
	unsigned char *buffer = malloc(AC_CHUNK_MAX);
	struct ac_hasher hasher;
	struct ac_hash hash;
	struct stat st;

	if (!buffer || ac_hasher_init(&hasher, NULL)) {
		free(buffer);
		return -ENOMEM;
	}
	ac_hasher_start(&hasher);
	bool is_whole = hash_file(fd, length, buffer, &hasher) == length;

	ac_hasher_end(&hasher, &hash);
	bool is_good = is_whole && !hasher.failed && ac_hash_equals(&hash, meant) &&
		       !fstat(fd, &st) && (uint64_t)st.st_size == length + sizeof hash;

	ac_hasher_fini(&hasher);
	free(buffer);
	return is_good ? 0 : -EBADMSG;
}

int ac_manifest_save(struct ac_manifest *manifest, int store_fd, char temporary[AC_STORE_NAME_MAX],
	struct ac_err *err)
{
	struct ac_hash hash;
	ac_autoclose int fd = ac_store_temporary(store_fd, temporary, err);

	if (fd < 0)
		return fd;
	int result = write_file(manifest, fd, &hash);

	if (!result && fdatasync(fd) < 0)
		result = -errno;
	if (!result)
		result = read_back(fd, manifest->header.file_length - sizeof hash, &hash);
	if (!result)
		return 0;
	unlinkat(store_fd, temporary, 0);
	temporary[0] = '\0';
	return ac_fail_errno(err, -result, "write the manifest to the backup store");
}

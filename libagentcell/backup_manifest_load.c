/* SPDX-License-Identifier: ISC */
/*
 * Reading manifests.  The file is read into memory, never mapped: a file that shrinks meanwhile is
 * an error, not a signal.
 */
#include "backup_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup_section.h"
#include "util.h"

#define EXPANSION_MAX 65536

static int read_exactly(int fd, void *bytes, size_t length, uint64_t offset)
{
	unsigned char *to = bytes;

	while (length) {
		ssize_t got = pread(fd, to, length, (off_t)offset);

		if (got <= 0 && errno == EINTR && got < 0)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		to += got;
		length -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

static int check_header(const struct ac_manifest_header *header, uint64_t length)
{
	if (memcmp(header->magic, AC_MANIFEST_MAGIC, sizeof header->magic) != 0)
		return -EBADMSG;
	if (header->version != AC_FORMAT_VERSION)
		return -ENOTSUP;
	if (header->header_length != sizeof *header || header->file_length != length)
		return -EBADMSG;
	for (unsigned i = 0; i < AC_SECTION_COUNT; i++) {
		const struct ac_section_place *place = &header->section[i];

		/* zstd makes at most about 22000 times as much of a frame. */
		if (place->offset > length || place->stored > length - place->offset ||
			place->raw / EXPANSION_MAX > place->stored)
			return -EBADMSG;
	}
	return 0;
}

static int open_manifest(
	int store_fd, const char *id, struct ac_manifest_header *header, struct ac_err *err)
{
	char name[AC_STORE_NAME_MAX];
	struct stat st;

	if (!ac_store_id_is_valid(id))
		return ac_fail(err, EINVAL, "%s is not the name of a backup", id);
	snprintf(name, sizeof name, "%s" AC_STORE_MANIFEST, id);
	ac_autoclose int fd = openat(store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return ac_fail(
			err, ENOENT, "there is no backup %s; `agentcell backups` lists them", id);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "open backup %s", id);
	int result = read_exactly(fd, header, sizeof *header, 0);

	if (!result)
		result = check_header(header, (uint64_t)st.st_size);
	if (result == -ENOTSUP)
		return ac_fail(err, ENOTSUP,
			"backup %s has format version %u; this agentcell reads %d", id,
			header->version, AC_FORMAT_VERSION);
	return result ? ac_fail_errno(err, -result, "backup %s is damaged", id) : ac_take_fd(&fd);
}

/* One section as a heap block with a NUL behind it, from the file or from what was read of it. */
static int take_section(const struct ac_manifest_header *header, enum ac_section which, int fd,
	const unsigned char *file, size_t unit, void **bytes)
{
	const struct ac_section_place *place = &header->section[which];
	ac_autofree unsigned char *packed = NULL;
	char *raw = malloc(place->raw + 1);

	*bytes = raw; /* the caller frees it with the manifest */
	if (!raw)
		return -ENOMEM;
	raw[place->raw] = '\0';
	if (place->raw % unit)
		return -EBADMSG;
	if (file)
		return ac_section_expand(file + place->offset, place->stored, raw, place->raw);
	packed = malloc(place->stored + 1);
	if (!packed)
		return -ENOMEM;
	int result = read_exactly(fd, packed, place->stored, place->offset);

	return result ? result : ac_section_expand(packed, place->stored, raw, place->raw);
}

static int take_head(struct ac_manifest *manifest, int fd, const unsigned char *file)
{
	const struct ac_manifest_header *header = &manifest->header;
	void *bytes[3] = { NULL, NULL, NULL };
	int result = take_section(header, AC_SECTION_META, fd, file, 1, &bytes[0]);

	if (!result)
		result = take_section(header, AC_SECTION_ROOTS, fd, file, 1, &bytes[1]);
	if (!result)
		result = take_section(
			header, AC_SECTION_PACKS, fd, file, sizeof(struct ac_pack_id), &bytes[2]);
	manifest->meta = bytes[0];
	manifest->roots = bytes[1];
	manifest->packs = bytes[2];
	manifest->meta_length = header->section[AC_SECTION_META].raw;
	manifest->roots_length = header->section[AC_SECTION_ROOTS].raw;
	manifest->pack_count = (uint32_t)(header->section[AC_SECTION_PACKS].raw /
					  sizeof manifest->packs[0]);
	if (!result && manifest->roots_length && manifest->roots[manifest->roots_length - 1])
		result = -EBADMSG;
	return result;
}

static int take_body(struct ac_manifest *manifest, const unsigned char *file)
{
	const struct ac_manifest_header *header = &manifest->header;
	void *bytes[4] = { NULL, NULL, NULL, NULL };
	static const struct {
		enum ac_section section;
		size_t unit;
	} part[4] = { { AC_SECTION_DIRECTORIES, sizeof(struct ac_directory) },
		{ AC_SECTION_ENTRIES, 8 }, { AC_SECTION_HASHES, sizeof(struct ac_hash) },
		{ AC_SECTION_PLACES, sizeof(struct ac_place) } };
	int result = 0;

	for (unsigned i = 0; i < 4 && !result; i++)
		result = take_section(header, part[i].section, -1, file, part[i].unit, &bytes[i]);
	manifest->directories = bytes[0];
	manifest->entries = bytes[1];
	manifest->hashes = bytes[2];
	manifest->places = bytes[3];
	if (result)
		return result;
	uint64_t directories = header->section[AC_SECTION_DIRECTORIES].raw / part[0].unit;
	uint64_t references = header->section[AC_SECTION_HASHES].raw / part[2].unit;

	if (directories >= AC_NONE || references >= AC_NONE ||
		references != header->section[AC_SECTION_PLACES].raw / part[3].unit)
		return -EBADMSG;
	manifest->directory_count = (uint32_t)directories;
	manifest->reference_count = (uint32_t)references;
	manifest->entries_length = header->section[AC_SECTION_ENTRIES].raw;
	for (uint32_t i = 0; i < manifest->reference_count; i++)
		if (manifest->places[i].pack >= manifest->pack_count)
			return -EBADMSG;
	return ac_manifest_check(manifest);
}

static int check_hash(const unsigned char *file, uint64_t length)
{
	struct ac_hasher hasher;
	struct ac_hash hash;

	if (length < sizeof hash || ac_hasher_init(&hasher, NULL))
		return -EBADMSG;
	ac_hasher_hash(&hasher, file, length - sizeof hash, &hash);
	bool is_good = !hasher.failed && !memcmp(&hash, file + length - sizeof hash, sizeof hash);

	ac_hasher_fini(&hasher);
	return is_good ? 0 : -EBADMSG;
}

int ac_manifest_parse(struct ac_manifest *manifest, const unsigned char *file, size_t length)
{
	memset(manifest, 0, sizeof *manifest);
	if (length < sizeof manifest->header)
		return -EBADMSG;
	memcpy(&manifest->header, file, sizeof manifest->header);
	int result = check_header(&manifest->header, length);

	if (!result)
		result = check_hash(file, length);
	if (!result)
		result = take_head(manifest, -1, file);
	if (!result)
		result = take_body(manifest, file);
	if (result)
		ac_manifest_fini(manifest);
	return result;
}

int ac_manifest_load(struct ac_manifest *manifest, int store_fd, const char *id, struct ac_err *err)
{
	ac_autofree unsigned char *file = NULL;
	struct ac_manifest_header header = { .file_length = 0 };

	memset(manifest, 0, sizeof *manifest);
	ac_autoclose int fd = open_manifest(store_fd, id, &header, err);

	if (fd < 0)
		return fd;
	file = malloc(header.file_length + 1);
	int result = file ? read_exactly(fd, file, header.file_length, 0) : -ENOMEM;

	if (!result)
		result = ac_manifest_parse(manifest, file, header.file_length);
	return result ? ac_fail_errno(err, -result, "read backup %s", id) : 0;
}

int ac_manifest_peek(struct ac_manifest *manifest, int store_fd, const char *id, struct ac_err *err)
{
	memset(manifest, 0, sizeof *manifest);
	ac_autoclose int fd = open_manifest(store_fd, id, &manifest->header, err);

	if (fd < 0)
		return fd;
	int result = take_head(manifest, fd, NULL);

	if (!result)
		return 0;
	ac_manifest_fini(manifest);
	return ac_fail_errno(err, -result, "read backup %s", id);
}

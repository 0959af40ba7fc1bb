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
#include <zstd.h>

#include "backup_section.h"
#include "safefile.h"
#include "util.h"

#define SCRATCH (128u << 10)

struct output { /* the file, piece by piece */
	struct {
		const void *bytes;
		size_t length;
	} piece[AC_SECTION_COUNT + 2];
	void *packed[AC_SECTION_COUNT]; /* owned; what some pieces are */
	struct ac_hash hash; /* the last piece */
};

static void add(struct output *output, unsigned which, const void *bytes, size_t length)
{
	output->piece[which].bytes = bytes;
	output->piece[which].length = length;
}

static int prepare(struct ac_manifest *manifest, struct output *output, void *context)
{
	const struct {
		const void *raw;
		uint64_t length;
	} part[AC_SECTION_COUNT] = {
		[AC_SECTION_META] = { manifest->meta, manifest->meta_length },
		[AC_SECTION_ROOTS] = { manifest->roots, manifest->roots_length },
		[AC_SECTION_PACKS] = { manifest->packs,
			manifest->pack_count * sizeof manifest->packs[0] },
		[AC_SECTION_DIRECTORIES] = { manifest->directories,
			manifest->directory_count * sizeof manifest->directories[0] },
		[AC_SECTION_ENTRIES] = { manifest->entries, manifest->entries_length },
		[AC_SECTION_HASHES] = { manifest->hashes,
			manifest->reference_count * sizeof manifest->hashes[0] },
		[AC_SECTION_PLACES] = { manifest->places,
			manifest->reference_count * sizeof manifest->places[0] },
	};
	uint64_t offset = sizeof manifest->header;

	for (unsigned i = 0; i < AC_SECTION_COUNT; i++) {
		size_t stored = part[i].length;
		/* Hashes do not compress. */
		int result = i == AC_SECTION_HASHES
				     ? 0
				     : ac_section_compress(context, part[i].raw, part[i].length,
					       &output->packed[i], &stored);

		if (result)
			return result;
		add(output, 1 + i, output->packed[i] ? output->packed[i] : part[i].raw, stored);
		manifest->header.section[i] = (struct ac_section_place){
			.offset = offset, .stored = stored, .raw = part[i].length
		};
		offset += stored;
	}
	manifest->header.file_length = offset + sizeof output->hash;
	return 0;
}

static int prepare_all(struct ac_manifest *manifest, struct output *output)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct ac_hasher hasher;
	int result = context ? prepare(manifest, output, context) : -ENOMEM;

	ZSTD_freeCCtx(context);
	if (!result)
		result = ac_hasher_init(&hasher, NULL);
	if (result)
		return result;
	memcpy(manifest->header.magic, AC_MANIFEST_MAGIC, sizeof manifest->header.magic);
	manifest->header.version = AC_FORMAT_VERSION;
	manifest->header.header_length = sizeof manifest->header;
	add(output, 0, &manifest->header, sizeof manifest->header);
	ac_hasher_start(&hasher);
	for (unsigned i = 0; i <= AC_SECTION_COUNT; i++)
		ac_hasher_add(&hasher, output->piece[i].bytes, output->piece[i].length);
	ac_hasher_end(&hasher, &output->hash);
	add(output, AC_SECTION_COUNT + 1, &output->hash, sizeof output->hash);
	result = hasher.failed ? -EIO : 0;
	ac_hasher_fini(&hasher);
	return result;
}

/* What the file holds now must be what was meant, to the last byte. */
static int read_back(int fd, const struct output *output)
{
	ac_autofree unsigned char *scratch = malloc(SCRATCH);
	off_t offset = 0;
	struct stat st;

	if (!scratch)
		return -ENOMEM;
	for (unsigned i = 0; i < AC_COUNT(output->piece); i++) {
		const unsigned char *meant = output->piece[i].bytes;

		for (size_t at = 0; at < output->piece[i].length;) {
			size_t left = output->piece[i].length - at;
			ssize_t got = pread(fd, scratch, left < SCRATCH ? left : SCRATCH, offset);

			if (got <= 0 || memcmp(scratch, meant + at, (size_t)got) != 0)
				return -EBADMSG;
			at += (size_t)got;
			offset += got;
		}
	}
	return !fstat(fd, &st) && st.st_size == offset ? 0 : -EBADMSG;
}

static int write_out(int fd, const struct output *output)
{
	int result = 0;

	for (unsigned i = 0; !result && i < AC_COUNT(output->piece); i++)
		result = ac_write_all(fd, output->piece[i].bytes, output->piece[i].length);
	if (!result && fdatasync(fd) < 0)
		result = -errno;
	return result ? result : read_back(fd, output);
}

int ac_manifest_save(struct ac_manifest *manifest, int store_fd, char temporary[AC_STORE_NAME_MAX],
	struct ac_err *err)
{
	struct output output = { .packed = { NULL } };
	ac_autoclose int fd = ac_store_temporary(store_fd, temporary, err);

	if (fd < 0)
		return fd;
	int result = prepare_all(manifest, &output);

	if (!result)
		result = write_out(fd, &output);
	for (unsigned i = 0; i < AC_SECTION_COUNT; i++)
		free(output.packed[i]);
	if (!result)
		return 0;
	unlinkat(store_fd, temporary, 0);
	temporary[0] = '\0';
	return ac_fail_errno(err, -result, "write the manifest to the backup store");
}

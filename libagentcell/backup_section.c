/* SPDX-License-Identifier: ISC */
/*
 * Sections through zstd.  The frames of a long one are made by two threads, each of which does half
 * of them: every session waits for the manifest of its backup.
 */
#include "backup_section.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "beside.h"

#define SECTION_LEVEL 1
#define FRAME ((size_t)1 << 20)

struct half {
	void *context;
	const unsigned char *raw;
	unsigned char *packed;
	size_t length, room, stored; /* stored: SIZE_MAX when libzstd failed */
};

static size_t room_for(size_t length)
{
	return length / FRAME * ZSTD_compressBound(FRAME) + ZSTD_compressBound(length % FRAME);
}

static int compress_half(void *context, struct ac_err *err)
{
	struct half *half = context;

	(void)err;
	for (size_t at = 0; at < half->length; at += FRAME) {
		size_t left = half->length - at;
		size_t result = ZSTD_compressCCtx(half->context, half->packed + half->stored,
			half->room - half->stored, half->raw + at, left < FRAME ? left : FRAME,
			SECTION_LEVEL);

		if (ZSTD_isError(result)) {
			half->stored = SIZE_MAX;
			break;
		}
		half->stored += result;
	}
	return 0;
}

/* Both halves, then the second one moved behind the first. */
static size_t compress_both(struct half *first, struct half *second)
{
	struct ac_beside beside;

	second->context = ZSTD_createCCtx();
	if (!second->context)
		return SIZE_MAX;
	ac_beside_start(&beside, compress_half, second);
	compress_half(first, NULL);
	ac_beside_join(&beside, NULL);
	ZSTD_freeCCtx(second->context);
	if (first->stored == SIZE_MAX || second->stored == SIZE_MAX)
		return SIZE_MAX;
	memmove(first->packed + first->stored, second->packed, second->stored);
	return first->stored + second->stored;
}

static size_t compress(void *context, const void *raw, size_t length, unsigned char *packed)
{
	size_t frames = length / FRAME, middle = frames < 2 ? length : (frames + 1) / 2 * FRAME;
	struct half first = { .context = context,
		.raw = raw,
		.packed = packed,
		.length = middle,
		.room = room_for(middle) };
	struct half second = { .raw = first.raw + middle,
		.packed = packed + first.room,
		.length = length - middle,
		.room = room_for(length - middle) };

	if (second.length)
		return compress_both(&first, &second);
	compress_half(&first, NULL);
	return first.stored;
}

int ac_section_compress(
	void *context, const void *raw, size_t length, void **packed, size_t *stored)
{
	unsigned char *block = malloc(room_for(length));

	if (!block)
		return -ENOMEM;
	size_t result = length ? compress(context, raw, length, block) : 0;

	if (result >= length) {
		if (length)
			memcpy(block, raw, length);
		result = length;
	}
	*packed = block;
	*stored = result;
	return 0;
}

int ac_section_expand(const void *packed, size_t stored, void *raw, size_t length)
{
	if (stored == length) {
		if (length)
			memcpy(raw, packed, length);
		return 0;
	}
	size_t result = ZSTD_decompress(raw, length, packed, stored);

	return ZSTD_isError(result) || result != length ? -EBADMSG : 0;
}

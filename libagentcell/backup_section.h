/* SPDX-License-Identifier: ISC */
/* Whole sections of a manifest through libzstd: one frame for each MiB. */
#ifndef AC_BACKUP_SECTION_H
#define AC_BACKUP_SECTION_H

#include <stddef.h>

/* Compresses raw into a fresh heap block; *stored == length when it was not worth it.  context is a
 * ZSTD_CCtx. */
int ac_section_compress(
	void *context, const void *raw, size_t length, void **packed, size_t *stored);

/* Expands concatenated frames into exactly length bytes at raw. */
int ac_section_expand(const void *packed, size_t stored, void *raw, size_t length);

#endif

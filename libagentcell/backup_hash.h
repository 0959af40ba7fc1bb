/* SPDX-License-Identifier: ISC */
/*
 * SHA-256 from libcrypto.
 *
 * One hasher per thread.  libcrypto is used without its configuration file: nothing that an
 * environment names is loaded.
 */
#ifndef AC_BACKUP_HASH_H
#define AC_BACKUP_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backup_format.h"
#include "err.h"

struct ac_hasher {
	void *context; /* EVP_MD_CTX */
	void *digest; /* EVP_MD */
	bool failed; /* libcrypto failed once: no hash of this hasher may be believed */
};

int ac_hasher_init(struct ac_hasher *hasher, struct ac_err *err);
void ac_hasher_fini(struct ac_hasher *hasher);
void ac_hasher_start(struct ac_hasher *hasher);
void ac_hasher_add(struct ac_hasher *hasher, const void *bytes, size_t length);
void ac_hasher_end(struct ac_hasher *hasher, struct ac_hash *hash);
void ac_hasher_hash(
	struct ac_hasher *hasher, const void *bytes, size_t length, struct ac_hash *hash);

static inline bool ac_hash_equals(const struct ac_hash *a, const struct ac_hash *b)
{
	return !memcmp(a, b, sizeof *a);
}

#endif

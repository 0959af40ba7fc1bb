/* SPDX-License-Identifier: ISC */
/* SHA-256, as far as a backup needs it. */
#include "backup_hash.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

int ac_hasher_init(struct ac_hasher *hasher, struct ac_err *err)
{
	hasher->digest = NULL;
	hasher->context = NULL;
	hasher->failed = false;
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL)) {
		hasher->digest = EVP_MD_fetch(NULL, "SHA256", NULL);
		hasher->context = EVP_MD_CTX_new();
	}
	if (hasher->digest && hasher->context)
		return 0;
	ac_hasher_fini(hasher);
	return ac_fail(err, ENOMEM, "libcrypto offers no SHA-256");
}

void ac_hasher_fini(struct ac_hasher *hasher)
{
	EVP_MD_CTX_free(hasher->context);
	EVP_MD_free(hasher->digest);
	hasher->context = NULL;
	hasher->digest = NULL;
}

void ac_hasher_start(struct ac_hasher *hasher)
{
	if (!EVP_DigestInit_ex2(hasher->context, hasher->digest, NULL))
		hasher->failed = true;
}

void ac_hasher_add(struct ac_hasher *hasher, const void *bytes, size_t length)
{
	if (!EVP_DigestUpdate(hasher->context, bytes, length))
		hasher->failed = true;
}

void ac_hasher_end(struct ac_hasher *hasher, struct ac_hash *hash)
{
	unsigned length = 0;

	if (!EVP_DigestFinal_ex(hasher->context, hash->byte, &length) ||
		length != sizeof hash->byte) {
		hasher->failed = true;
		memset(hash, 0, sizeof *hash);
	}
}

void ac_hasher_hash(
	struct ac_hasher *hasher, const void *bytes, size_t length, struct ac_hash *hash)
{
	ac_hasher_start(hasher);
	ac_hasher_add(hasher, bytes, length);
	ac_hasher_end(hasher, hash);
}

/* SPDX-License-Identifier: ISC */
/*
 * libnftables, for the few who load a table: it and the libraries behind it would be a good part of what
 * every sudo, su and login pays for the guard in its PAM stack, so nothing is linked with it.
 */
#ifndef AC_NFT_H
#define AC_NFT_H

#include "err.h"

struct ac_nft; /* opaque, heap: the library and one socket of its own */

int ac_nft_open(struct ac_nft **nft, struct ac_err *err);

/* All or nothing, as nft -f does it; -EPROTO, and nft's first line, when it was refused. */
int ac_nft_run(struct ac_nft *nft, const char *text, struct ac_err *err);

void ac_nft_close(struct ac_nft *nft); /* may be NULL */

#endif

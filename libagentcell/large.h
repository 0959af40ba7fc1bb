/* SPDX-License-Identifier: ISC */
/*
 * Large blocks that will be used from end to end.
 *
 * The page faults of a fresh block cost more than filling it; huge pages need one for every 2 MiB.
 * Only for what is written whole: a huge page that is touched once is cleared whole.
 */
#ifndef AC_LARGE_H
#define AC_LARGE_H

#include <stddef.h>

/* A block for free(), its content undefined.  NULL: no memory. */
void *ac_large_alloc(size_t size);

#endif

/* SPDX-License-Identifier: ISC */
/* Large blocks, in huge pages where the system gives them. */
#include "large.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *ac_large_alloc(size_t size)
{
	void *block;

	if (size < HUGE_PAGE)
		return malloc(size ? size : 1);
	if (posix_memalign(&block, HUGE_PAGE, size))
		return NULL;
	/* Not the rest behind the last whole one.  Where this fails the pages are small ones. */
	(void)madvise(block, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
	return block;
}

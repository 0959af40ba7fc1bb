/* SPDX-License-Identifier: ISC */
/* What a clock shows, in milliseconds: clock_gettime(2), which cannot fail for the clocks of this program. */
#ifndef AC_CLOCK_H
#define AC_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ac_clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif

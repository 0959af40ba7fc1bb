/* SPDX-License-Identifier: ISC */
/*
 * Which serial numbers of the audit stream were seen: finds lost records exactly.  Pure.
 *
 * The kernel gives every event a number and leaves none out; concurrent events arrive up to some
 * 1600 numbers out of order.  So a number counts as missing when 8192 newer ones were seen, or when
 * it is older than two ticks.
 */
#ifndef AC_SERIALS_H
#define AC_SERIALS_H

#include <stdbool.h>
#include <stdint.h>

#define AC_SERIALS_WINDOW 16384u
#define AC_SERIALS_PATIENCE 8192u

struct ac_serials {
	bool started;
	uint64_t oldest; /* everything below is settled */
	uint64_t newest;
	uint64_t tick[2]; /* `newest` at the last two ticks */
	uint64_t seen[AC_SERIALS_WINDOW / 64];
};

void ac_serials_reset(struct ac_serials *serials);

/* Both return how many numbers were found missing by this call. */
uint64_t ac_serials_see(struct ac_serials *serials, uint64_t serial);
uint64_t ac_serials_tick(struct ac_serials *serials); /* once a second */

#endif

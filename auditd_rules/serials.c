/* SPDX-License-Identifier: ISC */
/*
 * A sliding window of bits over serial numbers.
 */
#include "serials.h"

#include <string.h>

static uint64_t *word_of(struct ac_serials *serials, uint64_t serial)
{
	return &serials->seen[serial % AC_SERIALS_WINDOW / 64];
}

static uint64_t bit_of(uint64_t serial)
{
	return 1ull << (serial % 64);
}

void ac_serials_reset(struct ac_serials *serials)
{
	memset(serials, 0, sizeof(*serials));
}

/* Settles everything below `limit`. */
static uint64_t settle(struct ac_serials *serials, uint64_t limit)
{
	uint64_t missing = 0;

	for (; serials->oldest < limit; serials->oldest++)
		missing += !(*word_of(serials, serials->oldest) & bit_of(serials->oldest));
	return missing;
}

static void start(struct ac_serials *serials, uint64_t serial)
{
	ac_serials_reset(serials);
	serials->started = true;
	/* What is older was under way before we listened. */
	serials->oldest = serials->newest = serials->tick[0] = serials->tick[1] = serial;
	*word_of(serials, serial) |= bit_of(serial);
}

uint64_t ac_serials_see(struct ac_serials *serials, uint64_t serial)
{
	uint64_t missing = 0;

	if (!serials->started) {
		start(serials, serial);
		return 0;
	}
	if (serial < serials->oldest)
		return 0;
	if (serial - serials->oldest >= AC_SERIALS_WINDOW / 2 + AC_SERIALS_PATIENCE) {
		/* A jump over more than the window: all of the hole is gone. */
		missing = settle(serials, serials->newest + 1);
		missing += serial - serials->newest - 1;
		start(serials, serial);
		return missing;
	}
	for (; serials->newest < serial; serials->newest++)
		*word_of(serials, serials->newest + 1) &= ~bit_of(serials->newest + 1);
	*word_of(serials, serial) |= bit_of(serial);
	if (serials->newest - serials->oldest > AC_SERIALS_PATIENCE)
		missing = settle(serials, serials->newest - AC_SERIALS_PATIENCE);
	return missing;
}

uint64_t ac_serials_tick(struct ac_serials *serials)
{
	uint64_t missing = 0;

	if (!serials->started)
		return 0;
	if (serials->tick[0] >= serials->oldest)
		missing = settle(serials, serials->tick[0] + 1);
	serials->tick[0] = serials->tick[1];
	serials->tick[1] = serials->newest;
	return missing;
}

/* SPDX-License-Identifier: ISC */
/*
 * Stops a process of agentcell right before the act of a state, so that a test can kill it there.
 * Only in a build made for that: make B=... CPPFLAGS='-include tests/lib/barrier.h'.
 *
 * While /run/agentcell-barrier/<state> is there, the process writes its pid to <state>.at and waits.
 */
#ifndef AC_TEST_BARRIER_H
#define AC_TEST_BARRIER_H

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define AC_BARRIER(state) ac_barrier(state)

const char *ac_state_name(unsigned state);

static inline void ac_barrier(unsigned state)
{
	char path[128], at[160], text[32];
	const struct timespec pause = { .tv_nsec = 5000000 };

	snprintf(path, sizeof path, "/run/agentcell-barrier/%s", ac_state_name(state));
	if (access(path, F_OK) != 0)
		return;
	snprintf(at, sizeof at, "%s.at", path);
	FILE *stream = fopen(at, "we");

	if (stream) {
		snprintf(text, sizeof text, "%d\n", (int)getpid());
		fputs(text, stream);
		fclose(stream);
	}
	for (int i = 0; i < 6000 && access(path, F_OK) == 0; i++)
		nanosleep(&pause, NULL);
}

#endif

/* SPDX-License-Identifier: ISC */
/*
 * A processor that stands still again and again, as one of a virtual machine does whose host has other
 * work: nothing runs there but this.  stall CPU FILE: begins when the file is there.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define STALL_MS 50
#define PAUSE_MS 50
#define WAIT_MS 10000
#define ALL_MS 5000
#define PRIORITY 90

static void rest(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&time, NULL);
}

static bool bind_to(unsigned long cpu)
{
	const struct sched_param parameters = { .sched_priority = PRIORITY };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set) &&
	       !sched_setscheduler(0, SCHED_FIFO, &parameters);
}

int main(int argc, char **argv)
{
	int64_t start = ac_clock_ms(CLOCK_MONOTONIC), now;

	if (argc != 3 || !bind_to(strtoul(argv[1], NULL, 10))) {
		perror("stall");
		return 2;
	}
	while (access(argv[2], F_OK)) {
		if (ac_clock_ms(CLOCK_MONOTONIC) - start > WAIT_MS)
			return 1;
		rest(1);
	}
	start = ac_clock_ms(CLOCK_MONOTONIC);
	do {
		int64_t since = ac_clock_ms(CLOCK_MONOTONIC);

		do
			now = ac_clock_ms(CLOCK_MONOTONIC);
		while (now - since < STALL_MS);
		rest(PAUSE_MS);
	} while (now - start < ALL_MS);
	return 0;
}

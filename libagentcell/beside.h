/* SPDX-License-Identifier: ISC */
/* One piece of work that a thread does beside the caller's own. */
#ifndef AC_BESIDE_H
#define AC_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "err.h"

struct ac_beside {
	int (*work)(void *context, struct ac_err *err);
	void *context;
	pthread_t thread;
	bool has_thread;
	int result;
	struct ac_err err;
};

/* Each start is followed by one join.  Where no thread can be had, join does the work. */
void ac_beside_start(
	struct ac_beside *beside, int (*work)(void *context, struct ac_err *err), void *context);
int ac_beside_join(struct ac_beside *beside, struct ac_err *err);

#endif

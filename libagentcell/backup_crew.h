/* SPDX-License-Identifier: ISC */
/* The restore's threads: each takes a run of items from a queue, until it is empty or one failed. */
#ifndef AC_BACKUP_CREW_H
#define AC_BACKUP_CREW_H

#include <stddef.h>
#include <stdint.h>

struct ac_restore;
struct ac_restorer;

struct ac_job {
	size_t *items;
	size_t count;
	/* Whatever has the same group and stands together is one thread's. */
	uint64_t (*group)(const struct ac_restore *restore, size_t item);
	/* 0, or -errno when the others shall stop; tells the error itself. */
	int (*act)(struct ac_restorer *restorer, size_t item);
};

/* Returns when all is done: 0 or -errno. */
int ac_crew_run(struct ac_restorer *first, const struct ac_job *job);

#endif

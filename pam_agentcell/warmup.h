/* SPDX-License-Identifier: ISC */
/*
 * Moving a process into a cgroup waits for a grace period of the kernel's (16 ms where this was measured,
 * a third of a session's whole start), but not when somebody else has just waited for one.  So a
 * helper moves itself to where it is while the backup is made, and the launcher's move costs nothing.
 */
#ifndef AC_WARMUP_H
#define AC_WARMUP_H

#include <stdbool.h>
#include <sys/types.h>

struct ac_warmup {
	pid_t pid; /* of the helper, 0: none */
	void *stack;
	int fd; /* of the cgroup.procs that this process is in */
};

/* Never fails: what cannot be hastened takes its time. */
void ac_warmup_start(struct ac_warmup *warmup);
/* Does nothing while the helper is still at work, unless the caller is willing to wait. */
void ac_warmup_end(struct ac_warmup *warmup, bool is_patient);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * A thread for what makes the kernel wait for a grace period of RCU (10 ms and more) and what nobody
 * should wait for: closing the sockets of nf_tables, and the first of several moves between cgroups.
 *
 * A move waits so, under the lock of all cgroups, unless another one was made just before.  So while a
 * session is being built, one that moves nothing is made again and again: the launcher's, which follows,
 * costs nothing then.  All of it is an attempt: what fails, or is not there, costs only time.
 */
#ifndef AC_ERRAND_H
#define AC_ERRAND_H

/* How long moves are kept quick: longer than a session takes from the announcement to its launcher. */
#define AC_ERRAND_MOVES_MS 80

struct ac_errands; /* opaque, heap */

/* NULL: everything is then done at once, by the caller. */
struct ac_errands *ac_errands_start(void);

/* Does what is left; errands may be NULL. */
void ac_errands_stop(struct ac_errands *errands);

/* Keeps moves quick for a moment from now on; returns at once. */
void ac_errands_expect_move(struct ac_errands *errands);

/* Closes the descriptor, which is the thread's from now on. */
void ac_errands_close(struct ac_errands *errands, int fd);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The start barrier: nothing is started before the listener watches.
 */
#ifndef LAUNCH_BARRIER_H
#define LAUNCH_BARRIER_H

#include "cell.h"

/* Tells the listener READY, waits for its GO (30 s at most), then checks that it has put this
 * process into the session's cgroup.  The socket stays open: it closes itself at exec, which is how the
 * listener learns of it. */
int launch_barrier(int socket, const struct ac_cell *cell, struct ac_err *err);

#endif

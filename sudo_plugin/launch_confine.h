/* SPDX-License-Identifier: ISC */
/*
 * What the launcher gives up, for good and for everything that it becomes.  Call in this order; the
 * last step leaves nothing that could still be undone.
 */
#ifndef LAUNCH_CONFINE_H
#define LAUNCH_CONFINE_H

#include "cell.h"

/* Limits, keyring, no_new_privs, not dumpable until exec, default signals. */
int launch_confine_process(const struct ac_cell *cell, struct ac_err *err);

/* Landlock: files by the cell (not where it allows nested sandboxes), abstract sockets and signals
 * within the session.  -EOPNOTSUPP on a kernel without it. */
int launch_confine_files(const struct ac_cell *cell, struct ac_err *err);

/* The seccomp filter that was made at build time. */
int launch_confine_calls(const struct ac_cell *cell, struct ac_err *err);

/* Tries acts that must fail now, and fails when one succeeds. */
int launch_try_forbidden(const struct ac_cell *cell, struct ac_err *err);

#endif

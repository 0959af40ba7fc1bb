/* SPDX-License-Identifier: ISC */
/*
 * What must be true before the launcher confines itself: it is in a view, as the account, with the
 * descriptors and in the directory that the cell file names.  Each proof changes nothing but what
 * it says, and a failure means that the session must not start.
 */
#ifndef LAUNCH_PROVE_H
#define LAUNCH_PROVE_H

#include "cell.h"

/* Reads the cell file, which only root can have put there: -ENOENT outside a session. */
int launch_prove_view(struct ac_cell *cell, struct ac_err *err);

/* Ids and groups are the session's, all of them; no capability in any set that a process has. */
int launch_prove_account(const struct ac_cell *cell, struct ac_err *err);

/* Standard descriptors are such as a program may have; *socket is the listener's socket and becomes
 * number 3, close-on-exec; everything above is closed. */
int launch_prove_descriptors(int *socket, struct ac_err *err);

/* Goes to the working directory through the view: what was inherited may lie outside it. */
int launch_enter_directory(const struct ac_cell *cell, struct ac_err *err);

#endif

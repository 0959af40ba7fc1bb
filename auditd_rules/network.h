/* SPDX-License-Identifier: ISC */
/*
 * The firewall while sessions run on it: for each network namespace that has a session (and for our own,
 * always) the guard's table and an ear for changes.  At a change that could concern a session it is frozen
 * at once and looked at: it goes on, or its end is asked for.
 */
#ifndef AC_NETWORK_H
#define AC_NETWORK_H

#include "guardian.h"

struct ac_network;

/* Our own namespace: loads the table, puts the guard up and listens. */
int ac_network_init(struct ac_guardian *guardian, struct ac_err *err);
void ac_network_fini(struct ac_guardian *guardian);

/* The namespace of the cell's session; nothing where the firewall is switched off. */
int ac_network_join(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err);
void ac_network_leave(struct ac_guardian *guardian, struct ac_cell *cell);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * What this listener changed in the kernel's auditing, kept in /run/agentcell/kernel: so that the one
 * that follows a crash puts back what the first one found.
 */
#ifndef AC_STATE_H
#define AC_STATE_H

#include "kernel.h"
#include "rules.h"

/* Takes over what a predecessor noted; without a note nothing changes. */
void ac_state_load(struct ac_kernel *kernel, struct ac_rules *rules);

/* Notes what was changed so far; no note when nothing was. */
int ac_state_save(const struct ac_kernel *kernel, const struct ac_rules *rules, struct ac_err *err);
void ac_state_clear(void);

#endif

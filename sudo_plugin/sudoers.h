/* SPDX-License-Identifier: ISC */
/*
 * The sudoers plugin behind ours: loaded once, never unloaded, asked first in everything.
 *
 * sudo loads every plugin before it knows the plugins' options and calls register_hooks before open,
 * so sudoers.so is loaded from register_hooks (sudo 1.9.13 load_plugins.c).  It is the same object
 * that the sudoers_audit and sudoers_io lines of sudo.conf load: one state.
 */
#ifndef AC_SUDOERS_H
#define AC_SUDOERS_H

#include <sudo_plugin.h>

#include "err.h"

/* Loads it on the first call.  NULL with *err filled when it cannot be; the answer is remembered. */
struct policy_plugin *ac_sudoers_policy(struct ac_err *err);

/* Names the first sudo.conf line that is missing beside ours, or NULL.  Without sudoers_audit sudo
 * logs no command at all, without sudoers_io it makes no I/O logs.  Valid from open() on, where sudo
 * has filled event_alloc of each plugin that a line names. */
const char *ac_sudoers_missing_line(void);

#endif

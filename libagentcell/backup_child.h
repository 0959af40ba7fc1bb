/* SPDX-License-Identifier: ISC */
/*
 * Root's side of a backup: a child that is the user for good does everything, root only waits.
 *
 * The store is the user's own directory, so root trusts nothing in it: it makes the directory,
 * opens it, checks who owns it, and never again looks inside.
 */
#ifndef AC_BACKUP_CHILD_H
#define AC_BACKUP_CHILD_H

#include "backup.h"

/* In the child: does the work as the user.  Fills totals or err. */
typedef int ac_backup_work(int store_fd, const struct ac_backup_request *request, void *context,
	struct ac_backup_totals *totals, struct ac_err *err);

/* The first of the kept descriptors in the child; the others follow. */
#define AC_BACKUP_KEPT_FD 5

/* For good: all ids and groups, no_new_privs, not dumpable.  0 or -errno. */
int ac_backup_drop(const struct ac_identity *who);

/* Forks, drops, runs work, waits.  Progress that work reports through request->progress is passed
 * on to the caller's.  kept: further descriptors for the child, kept_count of them. */
int ac_backup_as_user(const struct ac_backup_request *request, ac_backup_work *work, void *context,
	const int *kept, unsigned kept_count, struct ac_backup_totals *totals, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/* The restore's tasks, carried out.  restore->err and restore->conflicts say what went wrong. */
#ifndef AC_BACKUP_APPLY_H
#define AC_BACKUP_APPLY_H

#include "backup_restore.h"

int ac_restore_apply(struct ac_restore *restore);

/* Keeps the first error of any thread, with the path; a conflict is one too, but the others go on: 0. */
int ac_restore_settle(
	struct ac_restore *restore, const struct ac_task *task, int result, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/* The restore's tasks, carried out.  restore->err and restore->conflicts say what went wrong. */
#ifndef AC_BACKUP_APPLY_H
#define AC_BACKUP_APPLY_H

#include "backup_restore.h"

int ac_restore_apply(struct ac_restore *restore);

#endif

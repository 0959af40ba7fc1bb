/* SPDX-License-Identifier: ISC */
/* Directories of a restore, by several threads.  first is the caller's restorer. */
#ifndef AC_BACKUP_LEVELS_H
#define AC_BACKUP_LEVELS_H

#include "backup_restore.h"

/* Those that are missing; marks the others that the tasks name.  0 or -errno, told. */
int ac_restore_make_directories(struct ac_restorer *first);

/* Their own metadata, and their names unless something has failed before. */
int ac_restore_finish_directories(struct ac_restorer *first, bool has_failed);

#endif

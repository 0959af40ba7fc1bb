/* SPDX-License-Identifier: ISC */
/* Which Landlock the running kernel has. */
#ifndef AC_LANDLOCK_H
#define AC_LANDLOCK_H

#define AC_LANDLOCK_LOGS 7 /* the first ABI whose denials are audit records (Linux 6.15) */

int ac_landlock_abi(void); /* -errno where it has none */

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The canary: proof that what a session does under its uid reaches us.
 */
#ifndef AC_CANARY_H
#define AC_CANARY_H

#include <stdbool.h>
#include <sys/types.h>

/* Does this kernel report Landlock denials (ABI 7, Linux 6.15)? */
bool ac_canary_has_landlock(void);

/* In a child: takes the ids for good, is refused twice, and exits.  Returns the child's pid. */
pid_t ac_canary_fly(uid_t uid, gid_t gid);

#endif

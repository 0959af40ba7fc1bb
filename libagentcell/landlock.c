/* SPDX-License-Identifier: ISC */
/* Asked anew each time: one cheap call. */
#include "landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CREATE_RULESET_VERSION 1U

int ac_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return abi < 0 ? -errno : (int)abi;
}

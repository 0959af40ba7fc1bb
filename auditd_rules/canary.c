/* SPDX-License-Identifier: ISC */
/*
 * One refused open (a rule must record it) and one Landlock denial (the kernel must).  Constants of
 * Landlock ABI 7 stand here since distributions' headers are older than their kernels.
 */
#include "canary.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "landlock.h"
#include "names.h"

#define LOG_NEW_EXEC_ON 2u /* LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON */
#define LOG_SUBDOMAINS_OFF 4u /* LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF */

bool ac_canary_has_landlock(void)
{
	return ac_landlock_abi() >= AC_LANDLOCK_LOGS;
}

static bool be_refused(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 && errno == EACCES;
}

static bool confine(void)
{
	/* Only what ABI 1 had: the struct of newer headers may be longer than the kernel's. */
	uint64_t handled = LANDLOCK_ACCESS_FS_READ_DIR;
	long ruleset = syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);

	return ruleset >= 0 && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(SYS_landlock_restrict_self, (int)ruleset,
		       LOG_NEW_EXEC_ON | LOG_SUBDOMAINS_OFF);
}

static int fly(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return 1;
	if (!be_refused(AC_SESSIONS_DIRECTORY "/canary"))
		return 2;
	if (ac_canary_has_landlock() && (!confine() || !be_refused("/")))
		return 3;
	return 0;
}

pid_t ac_canary_fly(uid_t uid, gid_t gid)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(fly(uid, gid));
	return pid;
}

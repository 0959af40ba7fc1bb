// SPDX-License-Identifier: ISC
/*
 * The process's own state: limits, keyring, privileges that exec could bring, signals.
 */
#include "launch_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

/* Lowers both limits; what is lower already stays. */
static int limit(__rlimit_resource_t resource, const char *name, rlim_t most, struct ac_err *err)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		return ac_fail_errno(err, errno, "read the limit of %s", name);
	if (now.rlim_max > most)
		now.rlim_max = most;
	if (now.rlim_cur > now.rlim_max)
		now.rlim_cur = now.rlim_max;
	if (setrlimit(resource, &now))
		return ac_fail_errno(
			err, errno, "limit %s to %llu", name, (unsigned long long)most);
	return 0;
}

static int set_limits(const struct ac_cell *cell, struct ac_err *err)
{
	/* One byte is the kernel's word for: no core, not even to a program on the host (core(5)
	 * pipes ignore 0). */
	int code = limit(RLIMIT_CORE, "core dumps", 1, err);

	if (!code && cell->open_files)
		code = limit(RLIMIT_NOFILE, "open files", cell->open_files, err);
	if (!code && cell->processes)
		code = limit(RLIMIT_NPROC, "processes", cell->processes, err);
	if (!code && cell->file_bytes)
		code = limit(RLIMIT_FSIZE, "file size", cell->file_bytes, err);
	return code;
}

/* sudo's session keyring is the user's: the session gets one of its own.  Kernels may lack keys. */
static int leave_keyring(struct ac_err *err)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return ac_fail_errno(err, errno, "join a new session keyring");
	return 0;
}

/* sudo ignores some signals, and a user may have blocked or ignored any. */
static int reset_signals(struct ac_err *err)
{
	/* The kernel's own call: glibc keeps two signals to itself, which may be ignored all the same.
	 * All zeros is the default action, whatever the architecture's order of members. */
	static const unsigned long by_default[8];
	sigset_t none;

	for (int number = 1; number < _NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			(void)syscall(SYS_rt_sigaction, number, by_default, NULL, _NSIG / 8);
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL))
		return ac_fail_errno(err, errno, "unblock signals");
	return 0;
}

/*
 * Whoever has no login uid may set it, once, to anything (Linux, audit_set_loginuid): somebody else's
 * name would stand in the records.  A human's is kept: it says who asked.
 */
static int take_login_uid(const struct ac_cell *cell, struct ac_err *err)
{
	char text[16] = "";
	int length;
	ac_autoclose int fd = open("/proc/self/loginuid", O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0; /* a kernel without auditing: the listener refuses the session */
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return ac_fail_errno(err, errno, "read the login uid");
	if (strtoul(text, NULL, 10) != (uint32_t)-1)
		return 0;
	length = snprintf(text, sizeof(text), "%u", (unsigned)cell->uid);
	if (pwrite(fd, text, (size_t)length, 0) != length)
		return ac_fail_errno(err, errno, "set the login uid to %s", text);
	return 0;
}

int launch_confine_process(const struct ac_cell *cell, struct ac_err *err)
{
	int code = take_login_uid(cell, err);

	if (!code)
		code = set_limits(cell, err);
	if (!code)
		code = leave_keyring(err);
	if (!code)
		code = reset_signals(err);
	if (code)
		return code;
	/* Not dumpable: no process of the uid can trace it while it still holds the socket. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return ac_fail_errno(err, errno, "give up new privileges");
	return 0;
}

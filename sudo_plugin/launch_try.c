// SPDX-License-Identifier: ISC
/*
 * Trust is good: acts that would succeed for any ordinary process must fail now, each for the
 * reason that stops it.  The listener has not armed its judge yet, so their records end nothing.
 */
#include "launch_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

/* Each returns 0 when it succeeded, which must not be, or the error. */

static int write_system(void)
{
	static const char path[] = "/usr/.agentcell-forbidden";
	ac_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? errno : (unlink(path), 0);
}

/* Everybody may read it, by its mode: only Landlock forbids. */
static int read_outside(void)
{
	ac_autoclose int fd = open(AC_CELL_FILE, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

/* On a file of one's own in memory: only seccomp forbids. */
static int set_user_id_bit(void)
{
	ac_autoclose int fd = memfd_create("agentcell", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	return fchmod(fd, S_ISUID | 0700) ? errno : 0;
}

static int make_namespace(void)
{
	return unshare(CLONE_NEWUSER) ? errno : 0;
}

static int make_ring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL) < 0 ? errno : 0;
}

/* Of a family that is refused; one that leads past the firewall would be our death. */
static int use_crypto(void)
{
	ac_autoclose int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : 0;
}

struct act {
	const char *what;
	int (*try)(void);
	bool nested; /* also where nested sandboxes are allowed */
	int errors[3]; /* how it may fail */
};

static const struct act acts[] = {
	{ "create a file in /usr", write_system, true, { EROFS, EACCES, EPERM } },
	{ "read a file outside the declared paths", read_outside, false, { EACCES } },
	{ "make a file set-user-id", set_user_id_bit, true, { EPERM } },
	{ "make a user namespace", make_namespace, false, { EPERM } },
	{ "make an io_uring", make_ring, true, { ENOSYS } },
	{ "make a socket of the kernel's crypto", use_crypto, true, { EAFNOSUPPORT } },
};

static bool is_expected(const struct act *act, int error)
{
	for (unsigned i = 0; i < AC_COUNT(act->errors); i++)
		if (error && act->errors[i] == error)
			return true;
	return false;
}

/* The view covers what the user excluded with something that cannot be opened. */
static int try_excluded(const struct ac_cell *cell, struct ac_err *err)
{
	for (unsigned i = 0; i < cell->excluded_paths.count; i++) {
		const char *path = cell->excluded_paths.path[i];
		ac_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		if (fd >= 0)
			return ac_fail(err, ENOTRECOVERABLE,
				"the cell does not hold: the excluded path %s can be opened", path);
	}
	return 0;
}

int launch_try_forbidden(const struct ac_cell *cell, struct ac_err *err)
{
	for (unsigned i = 0; i < AC_COUNT(acts); i++) {
		int error;

		if (cell->nested_sandbox && !acts[i].nested)
			continue;
		error = acts[i].try();
		if (!is_expected(&acts[i], error))
			return ac_fail_errno(err, error ? error : ENOTRECOVERABLE,
				"the cell does not hold: trying to %s %s", acts[i].what,
				error ? "failed in an unexpected way" : "succeeded");
	}
	return try_excluded(cell, err);
}

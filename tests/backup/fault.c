/* SPDX-License-Identifier: ISC */
/*
 * LD_PRELOAD, test only: makes a process fail or die at a chosen call that changes the file system.
 * Only calls of a process that is not root count: the child that makes a backup, or agentcell.
 *
 *   FAULT_KILL_AT=n        SIGKILL at call n, before it
 *   FAULT_NOSPACE_EVERY=n  every nth call that needs space fails with ENOSPC
 *   FAULT_NOSPACE_AT=n     call n and all after it that need space
 *   FAULT_NOSPACE_ONLY=n   call n alone: somebody has made room meanwhile
 *   FAULT_CHANGE=path      that file is written to after each read of any
 *   FAULT_SYNCFS=1         syncfs fails with EIO
 *   FAULT_FSYNC=path       fsync of that file or directory does
 *   FAULT_REPORT=path      the number of calls, written when the process ends
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static _Atomic long calls, space_calls;

static long wish(const char *name)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : 0;
}

/* True: fail with ENOSPC. */
static int fault(int needs_space)
{
	long at = wish("FAULT_KILL_AT"), every = wish("FAULT_NOSPACE_EVERY");
	long from = wish("FAULT_NOSPACE_AT"), only = wish("FAULT_NOSPACE_ONLY");

	if (!geteuid())
		return 0;
	if (++calls == at)
		kill(getpid(), SIGKILL);
	if (!needs_space)
		return 0;
	long number = ++space_calls;

	return (every && number % every == 0) || (from && number >= from) || number == only;
}

static void report(void)
{
	const char *path = getenv("FAULT_REPORT");
	FILE *stream = path && geteuid() ? fopen(path, "w") : NULL;

	if (stream) {
		fprintf(stream, "%ld %ld\n", calls, space_calls);
		fclose(stream);
	}
}

__attribute__((destructor)) static void at_end(void)
{
	report();
}

void _exit(int status)
{
	report();
	((void (*)(int))dlsym(RTLD_NEXT, "_exit"))(status);
	__builtin_unreachable();
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
/* NOLINTBEGIN(bugprone-macro-parentheses): it defines a function */
#define WRAP(type, name, space, params, args) \
	type name params \
	{ \
		if (fault(space)) { \
			errno = ENOSPC; \
			return -1; \
		} \
		return REAL(name) args; \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* Pipes and terminals do not fill the disk. */
ssize_t write(int fd, const void *bytes, size_t length)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fault(1)) {
		errno = ENOSPC;
		return -1;
	}
	return REAL(write)(fd, bytes, length);
}

WRAP(ssize_t, pwrite, 1, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
WRAP(ssize_t, pwrite64, 1, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
WRAP(int, ftruncate, 1, (int fd, off_t n), (fd, n))
WRAP(int, fdatasync, 0, (int fd), (fd))
WRAP(int, mkdirat, 1, (int d, const char *p, mode_t m), (d, p, m))
WRAP(int, mknodat, 1, (int d, const char *p, mode_t m, dev_t v), (d, p, m, v))
WRAP(int, symlinkat, 1, (const char *t, int d, const char *p), (t, d, p))
WRAP(int, linkat, 1, (int a, const char *p, int b, const char *q, int f), (a, p, b, q, f))
WRAP(int, renameat, 1, (int a, const char *p, int b, const char *q), (a, p, b, q))
WRAP(int, renameat2, 1, (int a, const char *p, int b, const char *q, unsigned f), (a, p, b, q, f))
WRAP(int, unlinkat, 0, (int d, const char *p, int f), (d, p, f))
WRAP(int, fchmod, 0, (int fd, mode_t m), (fd, m))
WRAP(int, chmod, 0, (const char *p, mode_t m), (p, m))
WRAP(int, futimens, 0, (int fd, const struct timespec t[2]), (fd, t))
WRAP(int, setxattr, 1, (const char *p, const char *n, const void *v, size_t s, int f),
	(p, n, v, s, f))

/* Later than a tick of the clock that older kernels take ctimes from. */
static void change_file(void)
{
	const char *path = getenv("FAULT_CHANGE");
	const struct timespec pause = { .tv_nsec = 12 * 1000 * 1000 };
	int fd = path && geteuid() ? open(path, O_WRONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	nanosleep(&pause, NULL);
	if (REAL(pwrite)(fd, "x", 1, 5000) != 1)
		abort();
	close(fd);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset)
{
	ssize_t got = REAL(pread)(fd, bytes, length, offset);

	change_file();
	return got;
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset)
{
	ssize_t got = REAL(pread64)(fd, bytes, length, offset);

	change_file();
	return got;
}

int fsync(int fd)
{
	const char *wanted = getenv("FAULT_FSYNC");
	char link[64], path[4096];

	fault(0);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = wanted ? readlink(link, path, sizeof path) : -1;

	if (length > 0 && (size_t)length == strlen(wanted) &&
		!memcmp(path, wanted, (size_t)length)) {
		errno = EIO;
		return -1;
	}
	return REAL(fsync)(fd);
}

int syncfs(int fd)
{
	if (wish("FAULT_SYNCFS")) {
		errno = EIO;
		return -1;
	}
	return REAL(syncfs)(fd);
}

int openat(int directory, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list list;

	va_start(list, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(list, mode_t);
	va_end(list);
	if ((flags & O_CREAT) && fault(1)) {
		errno = ENOSPC;
		return -1;
	}
	return REAL(openat)(directory, path, flags, mode);
}

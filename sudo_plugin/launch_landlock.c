// SPDX-License-Identifier: ISC
/*
 * The Landlock domain.  The rules follow the view, so a denial means that somebody tried what the
 * view does not show or only shows as bait; the kernel reports it to audit (restrict_self flags 6,
 * Linux 6.15) without a rule and without cost for what is allowed.
 *
 * TCP ports are not restricted here: nft decides by address as well.  What an older kernel lacks is
 * left out; without any Landlock the session does not start.
 */
#include "launch_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

/* linux/landlock.h as of ABI 7; build hosts may have older headers. */
struct ruleset {
	uint64_t fs, net, scoped;
};
struct path_rule {
	uint64_t access;
	int fd;
} __attribute__((packed));

#define CREATE_VERSION 1U
#define RULE_PATH 1
#define LOG_NEW_EXEC_ON 2U
#define LOG_SUBDOMAINS_OFF 4U
#define SCOPE_ABSTRACT_UNIX 1U
#define SCOPE_SIGNAL 2U

#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIR (1ULL << 3)
#define REMOVE_DIR (1ULL << 4)
#define REMOVE_FILE (1ULL << 5)
#define MAKE_CHAR (1ULL << 6)
#define MAKE_BLOCK (1ULL << 11)
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)
#define IOCTL_DEV (1ULL << 15)

#define READ_TREE (EXECUTE | READ_FILE | READ_DIR)
#define WRITE_TREE (((1ULL << 15) - 1) & ~(MAKE_CHAR | MAKE_BLOCK))
#define USE_DEVICE (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)
#define OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV)

struct place {
	const char *path;
	uint64_t access;
};

/* The root shows names only: the view is an allowlist, and bait guards itself by its mode. */
static const struct place baseline[] = {
	{ "/", READ_DIR },
	{ "/usr", READ_TREE },
	{ "/opt", READ_TREE },
	{ "/bin", READ_TREE },
	{ "/sbin", READ_TREE },
	{ "/lib", READ_TREE },
	{ "/lib32", READ_TREE },
	{ "/lib64", READ_TREE },
	{ "/libx32", READ_TREE },
	{ "/etc", READ_TREE },
	{ "/proc", READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE },
	{ "/dev/null", USE_DEVICE },
	{ "/dev/zero", USE_DEVICE },
	{ "/dev/full", USE_DEVICE },
	{ "/dev/random", USE_DEVICE },
	{ "/dev/urandom", USE_DEVICE },
	{ "/dev/tty", USE_DEVICE },
	{ "/dev/console", USE_DEVICE },
	{ "/dev/pts", USE_DEVICE | READ_DIR },
	{ "/dev/shm", WRITE_TREE },
	{ "/tmp", WRITE_TREE },
	{ "/var/tmp", WRITE_TREE },
};

static uint64_t offered_files(int abi)
{
	static const uint64_t by_abi[] = { 0, (1ULL << 13) - 1, (1ULL << 14) - 1, (1ULL << 15) - 1,
		(1ULL << 15) - 1, (1ULL << 16) - 1 };

	return by_abi[abi < 5 ? abi : 5];
}

static int add_rule(int ruleset, int fd, uint64_t access)
{
	struct path_rule rule = { .access = access, .fd = fd };

	if (!access || !syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0))
		return 0;
	/* EBADFD: a pipe or socket, which Landlock never restricts. */
	return errno == EBADFD ? 0 : -errno;
}

/* What the view does not have need not be allowed. */
static int allow(int ruleset, uint64_t handled, const char *path, uint64_t access)
{
	ac_autoclose int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &status))
		return -errno;
	if (!S_ISDIR(status.st_mode))
		access &= OF_FILES;
	return add_rule(ruleset, fd, access & handled);
}

static int allow_paths(int ruleset, uint64_t handled, const struct ac_cell_paths *paths,
	uint64_t access, struct ac_err *err)
{
	for (unsigned i = 0; i < paths->count; i++) {
		int code = allow(ruleset, handled, paths->path[i], access);

		if (code)
			return ac_fail_errno(err, -code, "open %s in the view", paths->path[i]);
	}
	return 0;
}

/* What the session was given as 0-2 may be opened again by name (/dev/stdout, ttyname). */
static int allow_standard(int ruleset, uint64_t handled)
{
	for (int fd = 0; fd < 3; fd++) {
		int flags = fcntl(fd, F_GETFL), code;
		int mode = flags & O_ACCMODE;
		uint64_t access = 0;

		if (mode != O_WRONLY)
			access |= READ_FILE;
		if (mode != O_RDONLY)
			access |= WRITE_FILE | TRUNCATE;
		if (isatty(fd))
			access |= IOCTL_DEV;
		code = add_rule(ruleset, fd, access & handled);
		if (code)
			return code;
	}
	return 0;
}

static int allow_all(int ruleset, uint64_t handled, const struct ac_cell *cell, struct ac_err *err)
{
	int code;

	for (unsigned i = 0; i < AC_COUNT(baseline); i++) {
		code = allow(ruleset, handled, baseline[i].path, baseline[i].access);
		if (code)
			return ac_fail_errno(err, -code, "allow %s", baseline[i].path);
	}
	code = allow_standard(ruleset, handled);
	if (!code)
		code = allow(ruleset, handled, cell->home, WRITE_TREE);
	if (code)
		return ac_fail_errno(err, -code, "allow the home %s", cell->home);
	code = allow_paths(ruleset, handled, &cell->read_paths, READ_TREE, err);
	return code ? code : allow_paths(ruleset, handled, &cell->write_paths, WRITE_TREE, err);
}

int launch_confine_files(const struct ac_cell *cell, struct ac_err *err)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
	struct ruleset handled = { 0 };
	size_t size = abi >= 6 ? sizeof(handled) : sizeof(handled.fs);
	ac_autoclose int ruleset = -1;
	int code;

	if (abi < 1)
		return ac_fail(err, EOPNOTSUPP,
			"this kernel has no Landlock (Linux 5.13, and "
			"\"landlock\" in the kernel's lsm= list): no session can start");
	if (!cell->nested_sandbox)
		handled.fs = offered_files(abi);
	if (abi >= 6)
		handled.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	if (!handled.fs && !handled.scoped)
		return 0; /* nested sandboxes on a kernel without scopes: the view remains */
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
	if (ruleset < 0)
		return ac_fail_errno(err, errno, "make a Landlock ruleset");
	code = handled.fs ? allow_all(ruleset, handled.fs, cell, err) : 0;
	if (code)
		return code;
	if (syscall(SYS_landlock_restrict_self, ruleset,
		    abi >= 7 ? LOG_NEW_EXEC_ON | LOG_SUBDOMAINS_OFF : 0))
		return ac_fail_errno(err, errno, "enter the Landlock domain");
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * A child that does nothing but exist holds the namespace while its maps are written.  It shares our
 * memory (CLONE_VM: no page tables to copy in sudo) and touches none of it but its own stack.
 */
#include "idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

#define STACK_SIZE 65536
#define END_ID 4294967295u /* (uid_t)-1 is no id */

static int wait_for_kill(void *unused)
{
	(void)unused;
	for (;;)
		syscall(SYS_pause);
	return 0;
}

/* [first, end) maps to itself. */
static int put_identity(char *text, size_t size, unsigned first, unsigned end)
{
	return first < end ? snprintf(text, size, "%u %u %u\n", first, first, end - first) : 0;
}

int ac_idmap_format(char text[], size_t size, unsigned from, unsigned to)
{
	unsigned low = from < to ? from : to, high = from < to ? to : from;
	int used = snprintf(text, size, "%u %u 1\n", from, to);

	used += put_identity(text + used, size - (size_t)used, 0, low);
	used += put_identity(text + used, size - (size_t)used, low + 1, high);
	used += put_identity(text + used, size - (size_t)used, high + 1, END_ID);
	return used;
}

static int write_map(pid_t pid, const char *name, unsigned from, unsigned to, struct ac_err *err)
{
	char path[64], text[256];
	int length = ac_idmap_format(text, sizeof text, from, to);

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	ac_autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || ac_write_all(fd, text, (size_t)length) != 0)
		return ac_fail_errno(err, errno, "cannot map id %u to %u (%s)", from, to, name);
	return 0;
}

static int open_namespace(pid_t pid, struct ac_err *err)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? ac_fail_errno(err, errno, "cannot open the user namespace") : fd;
}

int ac_idmap_open(
	uid_t user_uid, uid_t session_uid, gid_t user_gid, gid_t session_gid, struct ac_err *err)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return ac_fail_errno(err, errno, "no memory for the id map");
	pid_t pid = clone(
		wait_for_kill, stack + STACK_SIZE, CLONE_NEWUSER | CLONE_VM | SIGCHLD, NULL);
	int result = pid < 0 ? ac_fail_errno(err, errno,
				       "cannot make a user namespace for the id map (see "
				       "user.max_user_namespaces)")
			     : 0;

	if (!result)
		result = write_map(pid, "uid_map", user_uid, session_uid, err);
	if (!result)
		result = write_map(pid, "gid_map", user_gid, session_gid, err);
	if (!result)
		result = open_namespace(pid, err);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	munmap(stack, STACK_SIZE);
	return result;
}

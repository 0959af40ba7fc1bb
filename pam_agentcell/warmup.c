/* SPDX-License-Identifier: ISC */
/*
 * The helper is a process that shares our memory (no page tables to copy) and makes two system calls.
 * It has no exit signal: sudo's own handling of children does not see it.
 */
#include "warmup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names.h"
#include "util.h"

#define STACK_SIZE 16384

/* The one of the unified hierarchy, which may be mounted in either place. */
static int open_own_cgroup(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char line[AC_PATH_MAX], path[2 * AC_PATH_MAX];
	ac_autofclose FILE *file = fopen("/proc/self/cgroup", "re");
	int fd = -1;

	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		for (size_t i = 0; fd < 0 && i < AC_COUNT(roots); i++) {
			snprintf(path, sizeof path, "%s%s/cgroup.procs", roots[i], line + 3);
			fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		}
	}
	return fd;
}

/* "0" is the writer itself. */
static int move_where_it_is(void *context)
{
	const struct ac_warmup *warmup = context;

	syscall(SYS_write, warmup->fd, "0", 1);
	syscall(SYS_exit_group, 0);
	return 0;
}

void ac_warmup_start(struct ac_warmup *warmup)
{
	*warmup = (struct ac_warmup){ 0, MAP_FAILED, open_own_cgroup() };
	if (warmup->fd < 0)
		return;
	warmup->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (warmup->stack == MAP_FAILED)
		return;
	pid_t pid = clone(move_where_it_is, (char *)warmup->stack + STACK_SIZE, CLONE_VM, warmup);

	warmup->pid = pid > 0 ? pid : 0;
}

void ac_warmup_end(struct ac_warmup *warmup, bool is_patient)
{
	int options = __WALL | (is_patient ? 0 : WNOHANG), result = 1;

	while (warmup->pid > 0 && (result = waitpid(warmup->pid, NULL, options)) < 0 &&
		errno == EINTR)
		;
	if (result == 0)
		return; /* it uses the stack */
	if (warmup->stack && warmup->stack != MAP_FAILED)
		munmap(warmup->stack, STACK_SIZE);
	if (warmup->fd > 0)
		close(warmup->fd);
	*warmup = (struct ac_warmup){ 0 };
}

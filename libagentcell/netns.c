// SPDX-License-Identifier: ISC
/*
 * Entering a network namespace for one act, and finding one again by its inode.  The inode of one that
 * is gone may be given to a new one: whoever looks for it must be able to live with that.
 */
#include "netns.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "names.h"
#include "util.h"

#define OWN "/proc/thread-self/ns/net"

int ac_netns_run(int fd, int (*function)(void *context), void *context, struct ac_err *err)
{
	ac_autoclose int own = -1;

	if (fd < 0)
		return function(context);
	own = open(OWN, O_RDONLY | O_CLOEXEC);
	if (own < 0 || setns(fd, CLONE_NEWNET) != 0)
		return ac_fail_errno(err, errno, "cannot enter the session's network");
	int result = function(context);

	/* A thread that stays in a user's network would act on the wrong tables from now on. */
	if (setns(own, CLONE_NEWNET) != 0)
		abort();
	return result;
}

/* A descriptor of the namespace at this path, if it is the one. */
static int try_path(const char *path, uint64_t inode)
{
	ac_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || status.st_ino != inode)
		return -ENOENT;
	return ac_take_fd(&fd);
}

static int try_processes(uint64_t inode)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int fd = -ENOENT;

	while (proc && fd < 0 && (entry = readdir(proc))) {
		char path[64];

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%.20s/ns/net", entry->d_name);
		fd = try_path(path, inode);
	}
	if (proc)
		closedir(proc);
	return fd;
}

/* mountinfo: id parent dev root path ...; the root of a namespace's mount is "net:[inode]". */
static int try_mounts(uint64_t inode)
{
	char wanted[48], root[48], path[AC_PATH_MAX], line[2 * AC_PATH_MAX];
	ac_autofclose FILE *mounts = fopen("/proc/thread-self/mountinfo", "re");
	int fd = -ENOENT;

	(void)snprintf(wanted, sizeof(wanted), "net:[%" PRIu64 "]", inode);
	while (mounts && fd < 0 && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %*s %*s %47s %4095s", root, path) == 2 &&
			!strcmp(root, wanted))
			fd = try_path(path, inode);
	return fd;
}

int ac_netns_find(uint64_t inode, struct ac_err *err)
{
	int fd = try_path(OWN, inode);

	if (fd < 0)
		fd = try_mounts(inode);
	if (fd < 0)
		fd = try_processes(inode);
	return fd < 0 ? ac_fail(err, ENOENT, "the network namespace %" PRIu64 " is gone", inode)
		      : fd;
}

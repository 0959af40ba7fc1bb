/* SPDX-License-Identifier: ISC */
/* Leaving the host's namespaces for a while, and coming back. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "util.h"

int ac_host_remember(struct ac_host *host, struct ac_err *err)
{
	host->mount_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	host->ipc_fd = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
	host->directory_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host->mount_fd < 0 || host->ipc_fd < 0)
		return ac_fail_errno(err, errno, "cannot open the host's namespaces");
	return 0;
}

void ac_host_return(const struct ac_host *host)
{
	if (setns(host->mount_fd, CLONE_NEWNS) != 0 || setns(host->ipc_fd, CLONE_NEWIPC) != 0)
		abort();
	if (host->directory_fd >= 0 && fchdir(host->directory_fd) != 0 && chdir("/") != 0)
		abort();
}

void ac_host_forget(struct ac_host *host)
{
	int *const fds[] = { &host->mount_fd, &host->ipc_fd, &host->directory_fd };

	for (unsigned i = 0; i < AC_COUNT(fds); i++)
		if (*fds[i] >= 0)
			close(ac_take_fd(fds[i]));
}

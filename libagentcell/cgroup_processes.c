// SPDX-License-Identifier: ISC
/* The processes of an open cgroup: who is in, entering, freezing, killing. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_parts.h"
#include "clock.h"
#include "util.h"

#define FREEZE_LIMIT_MS 2000

int ac_cgroup_put(int directory_fd, const char *name, const char *text)
{
	ac_autoclose int fd = openat(directory_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return -errno;
	do
		written = write(fd, text, strlen(text));
	while (written < 0 && errno == EINTR);
	return written < 0 ? -errno : 0;
}

int ac_cgroup_put_number(int directory_fd, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return ac_cgroup_put(directory_fd, name, text);
}

FILE *ac_cgroup_open_procs(int cgroup_fd)
{
	ac_autoclose int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *procs = fd < 0 ? NULL : fdopen(fd, "r");

	if (procs)
		(void)ac_take_fd(&fd);
	return procs;
}

int ac_cgroup_enter(int cgroup_fd, pid_t pid, struct ac_err *err)
{
	int code = ac_cgroup_put_number(cgroup_fd, "cgroup.procs", (uint64_t)pid);

	return code ? ac_fail_errno(err, -code, "move process %d into its cgroup", (int)pid) : 0;
}

/* Value of one "key 0|1" line of an open cgroup.events: 0, 1, or -errno. */
static int read_event(int events_fd, const char *key)
{
	char text[256];
	ssize_t length = pread(events_fd, text, sizeof(text) - 1, 0);
	size_t key_length = strlen(key);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, key_length) && line[key_length] == ' ')
			return line[key_length + 1] == '1';
	}
	return -ENODATA;
}

static int open_events(int cgroup_fd)
{
	int fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

/* Kernels before 5.14 have no cgroup.kill: signal what is frozen, until nothing is left. */
static int kill_listed(int cgroup_fd)
{
	ac_autofclose FILE *procs = ac_cgroup_open_procs(cgroup_fd);
	char line[16];

	if (!procs)
		return -errno;
	while (fgets(line, sizeof(line), procs)) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);

		if (pid > 1)
			(void)kill(pid, SIGKILL);
	}
	return 0;
}

/* Waits until key has the value; again (may be NULL) runs before each look. */
static int wait_event(
	int cgroup_fd, const char *key, int value, int timeout_ms, int (*again)(int cgroup_fd))
{
	ac_autoclose int fd = open_events(cgroup_fd);
	int64_t end = ac_clock_ms(CLOCK_MONOTONIC) + timeout_ms;

	if (fd < 0)
		return fd;
	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLPRI };
		int found = again ? again(cgroup_fd) : 0;
		int64_t left;

		if (!found)
			found = read_event(fd, key);
		if (found < 0 || found == value)
			return found < 0 ? found : 0;
		left = end - ac_clock_ms(CLOCK_MONOTONIC);
		if (left <= 0)
			return -ETIMEDOUT;
		if (again && left > 10)
			left = 10;
		if (poll(&poll_fd, 1, (int)left) < 0 && errno != EINTR)
			return -errno;
	}
}

int ac_cgroup_freeze(int cgroup_fd, bool frozen, struct ac_err *err)
{
	int code = ac_cgroup_put(cgroup_fd, "cgroup.freeze", frozen ? "1" : "0");

	if (!code)
		code = wait_event(cgroup_fd, "frozen", frozen, FREEZE_LIMIT_MS, NULL);
	return code ? ac_fail_errno(
			      err, -code, "%s the session's cgroup", frozen ? "freeze" : "thaw")
		    : 0;
}

int ac_cgroup_has(int cgroup_fd, pid_t pid)
{
	ac_autofclose FILE *procs = ac_cgroup_open_procs(cgroup_fd);
	char line[16];

	if (!procs)
		return -errno;
	while (fgets(line, sizeof(line), procs))
		if (strtol(line, NULL, 10) == pid)
			return 1;
	return ferror(procs) ? -EIO : 0;
}

int ac_cgroup_kill(int cgroup_fd, int timeout_ms, struct ac_err *err)
{
	int (*again)(int) = NULL;
	int code = ac_cgroup_put(cgroup_fd, "cgroup.kill", "1");

	if (code == -ENOENT) {
		again = kill_listed;
		code = ac_cgroup_put(cgroup_fd, "cgroup.freeze", "1");
	}
	if (!code)
		code = wait_event(cgroup_fd, "populated", 0, timeout_ms, again);
	if (code == -ETIMEDOUT)
		return ac_fail(err, ETIMEDOUT,
			"the session's cgroup is not empty %d ms after its kill: "
			"a process hangs in the kernel (ps shows state D)",
			timeout_ms);
	return code ? ac_fail_errno(err, -code, "kill the session's cgroup") : 0;
}

int ac_cgroup_is_populated(int cgroup_fd)
{
	ac_autoclose int fd = open_events(cgroup_fd);

	return fd < 0 ? fd : read_event(fd, "populated");
}

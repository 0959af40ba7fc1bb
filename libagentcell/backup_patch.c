/* SPDX-License-Identifier: ISC */
/* Running `diff -u` on two anonymous files. */
#include "backup_patch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

#define DIFF "/usr/bin/diff"

int ac_patch_empty(struct ac_err *err)
{
	int fd = memfd_create("agentcell-diff", MFD_CLOEXEC);

	return fd < 0 ? ac_fail_errno(err, errno, "make an anonymous file") : fd;
}

int ac_patch_extract(struct ac_chunk_reader *reader, const struct ac_hash *hashes,
	const struct ac_place *hints, uint32_t count, struct ac_err *err)
{
	ac_autoclose int fd = ac_patch_empty(err);
	int result = fd < 0 ? fd : 0;

	for (uint32_t i = 0; !result && i < count; i++) {
		const unsigned char *bytes;
		uint32_t length;

		result = ac_chunk_read(reader, &hashes[i], &hints[i], &bytes, &length, err);
		if (result)
			break;
		result = ac_write_all(fd, bytes, length);
		if (result)
			ac_fail_errno(err, -result, "write an anonymous file");
	}
	return result ? result : ac_take_fd(&fd);
}

int ac_patch_copy(int from, struct ac_err *err)
{
	ac_autoclose int fd = ac_patch_empty(err);

	if (fd < 0)
		return fd;
	ac_autofree char *buffer = malloc(AC_PATCH_MAX + 1);
	ssize_t length = buffer ? ac_read_all(from, buffer, AC_PATCH_MAX) : -ENOMEM;
	int result = length < 0 ? (int)length : ac_write_all(fd, buffer, (size_t)length);

	return result ? ac_fail_errno(err, -result, "read a file to compare") : ac_take_fd(&fd);
}

static int spawn(pid_t *pid, int old_fd, int new_fd, char *const argv[], int output_fd)
{
	char *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	int result = posix_spawn_file_actions_init(&actions);

	if (result)
		return -result;
	/* Away from 0..4 first, or one dup2 could overwrite what the next one needs. */
	int old = fcntl(old_fd, F_DUPFD_CLOEXEC, 16), new = fcntl(new_fd, F_DUPFD_CLOEXEC, 16);
	int output = fcntl(output_fd, F_DUPFD_CLOEXEC, 16);

	if (old < 0 || new < 0 || output < 0)
		result = errno;
	if (!result)
		result = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!result)
		result = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (!result)
		result = posix_spawn_file_actions_adddup2(&actions, old, 3);
	if (!result)
		result = posix_spawn_file_actions_adddup2(&actions, new, 4);
	if (!result)
		result = posix_spawn(pid, DIFF, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	if (old >= 0)
		close(old);
	if (new >= 0)
		close(new);
	if (output >= 0)
		close(output);
	return -result;
}

int ac_patch_run(int old_fd, int new_fd, const char *old_label, const char *new_label,
	int output_fd, struct ac_err *err)
{
	ac_autofree char *old_option = NULL;
	ac_autofree char *new_option = NULL;
	pid_t pid = -1;
	int status;

	if (asprintf(&old_option, "--label=%s", old_label) < 0 ||
		asprintf(&new_option, "--label=%s", new_label) < 0)
		return ac_fail_errno(err, ENOMEM, "compare");
	char *const argv[] = { (char[]){ "diff" }, (char[]){ "-u" }, old_option, new_option,
		(char[]){ "--" }, (char[]){ "/dev/fd/3" }, (char[]){ "/dev/fd/4" }, NULL };

	lseek(old_fd, 0, SEEK_SET);
	lseek(new_fd, 0, SEEK_SET);
	int result = spawn(&pid, old_fd, new_fd, argv, output_fd);

	if (result)
		return ac_fail_errno(err, -result, "run " DIFF);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ac_fail_errno(err, errno, "wait for " DIFF);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return ac_fail(err, EIO, DIFF " failed");
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * Opening what a user owns for reading.  A file of mode 0000 is as much part of a project as any
 * other, and an agent can make one: its owner may give itself the permission, and does so here for
 * the time of one open, by descriptor, so that no other file can be meant.
 */
#include "backup_node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "util.h"

#define GROUPS_MAX 1024

static bool is_in_group(gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	int count = getgroups(GROUPS_MAX, groups);

	if (gid == getegid())
		return true;
	for (int i = 0; i < count; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* chmod by a stranger to the group would lose the setgid bit for good: then the mode stays. */
static bool may_force(const struct statx *st, mode_t type)
{
	return (st->stx_mode & S_IFMT) == type && st->stx_uid == geteuid() &&
	       (!(st->stx_mode & S_ISGID) || is_in_group(st->stx_gid));
}

static int reopen_handle(int handle, int flags)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
	int fd = open(path, (flags & ~O_NOFOLLOW) | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int chmod_handle(int handle, mode_t mode)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
	return chmod(path, mode) < 0 ? -errno : 0;
}

static int open_handle(int parent_fd, const char *name, struct statx *st, mode_t type)
{
	ac_autoclose int handle = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (handle < 0)
		return -errno;
	if (statx(handle, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0)
		return -errno;
	return may_force(st, type) ? ac_take_fd(&handle) : -EACCES;
}

static int force_file(int parent_fd, const char *name, int flags)
{
	struct statx st;
	ac_autoclose int handle = open_handle(parent_fd, name, &st, S_IFREG);
	mode_t mode = handle < 0 ? 0 : st.stx_mode & 07777;

	if (handle < 0)
		return handle;
	int result = chmod_handle(handle, mode | S_IRUSR);

	if (result)
		return result;
	int fd = reopen_handle(handle, flags);

	result = chmod_handle(handle, mode);
	if (result && fd >= 0)
		close(fd);
	return result ? result : fd;
}

static int force_directory(int parent_fd, const char *name, int flags, int *forced_mode)
{
	struct statx st;
	ac_autoclose int handle = open_handle(parent_fd, name, &st, S_IFDIR);
	mode_t mode = handle < 0 ? 0 : st.stx_mode & 07777;

	if (handle < 0)
		return handle;
	int result = chmod_handle(handle, mode | S_IRUSR | S_IXUSR);

	if (result)
		return result;
	int fd = reopen_handle(handle, flags);

	if (fd < 0)
		chmod_handle(handle, mode);
	else
		*forced_mode = (int)mode;
	return fd;
}

static int open_reading(int parent_fd, const char *name, int flags)
{
	int fd = openat(parent_fd, name, flags | O_NOATIME | O_CLOEXEC);

	if (fd < 0 && errno == EPERM) /* somebody else's */
		fd = openat(parent_fd, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void ac_close_directory(int fd, int forced_mode)
{
	if (forced_mode >= 0 && fchmod(fd, (mode_t)forced_mode) < 0)
		(void)errno; /* it is the owner's: this fails when the directory is gone, only */
	close(fd);
}

int ac_open_directory(int parent_fd, const char *name, struct statx *st, int *forced_mode)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
	int fd = open_reading(parent_fd, name, flags);

	*forced_mode = -1;
	if (fd == -EACCES)
		fd = force_directory(parent_fd, name, flags, forced_mode);
	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0) {
		int result = -errno;

		ac_close_directory(fd, *forced_mode);
		return result;
	}
	if (*forced_mode >= 0) {
		st->stx_mode = (uint16_t)(S_IFDIR | *forced_mode);
	} else if (!(st->stx_mode & S_IXUSR) && geteuid() && may_force(st, S_IFDIR)) {
		/* Readable, but nothing in it can be looked up. */
		if (!fchmod(fd, (st->stx_mode & 07777) | S_IXUSR))
			*forced_mode = st->stx_mode & 07777;
	}
	return fd;
}

int ac_open_file(int parent_fd, const char *name, struct statx *st, bool *was_forced)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open_reading(parent_fd, name, flags);

	*was_forced = fd == -EACCES;
	if (!*was_forced)
		return fd;
	fd = force_file(parent_fd, name, flags);
	if (fd < 0)
		return fd;
	/* Two chmods have moved its ctime. */
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0) {
		int result = -errno;

		close(fd);
		return result;
	}
	return fd;
}

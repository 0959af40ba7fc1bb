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

#include "backup_force.h"
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

/* An O_PATH descriptor of something that may be forced, and that is written down. */
static int open_handle(const struct ac_place_to_open *place, struct statx *st, mode_t type)
{
	ac_autoclose int handle = openat(
		place->parent_fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (handle < 0)
		return -errno;
	if (statx(handle, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0)
		return -errno;
	if (!may_force(st, type))
		return -EACCES;
	int result = place->force ? ac_force_note(place->force, place->node, place->name, st) : 0;

	return result ? result : ac_take_fd(&handle);
}

static int force_file(const struct ac_place_to_open *place, int flags)
{
	struct statx st = { .stx_mode = 0 };
	ac_autoclose int handle = open_handle(place, &st, S_IFREG);
	mode_t mode = handle < 0 ? 0 : st.stx_mode & 07777;

	if (handle < 0)
		return handle;
	int result = chmod_handle(handle, mode | ac_force_bits(S_IFREG));

	if (result)
		return result;
	int fd = reopen_handle(handle, flags);

	result = chmod_handle(handle, mode);
	if (result && fd >= 0)
		close(fd);
	return result ? result : fd;
}

static int force_directory(const struct ac_place_to_open *place, int flags, int *forced_mode)
{
	struct statx st = { .stx_mode = 0 };
	ac_autoclose int handle = open_handle(place, &st, S_IFDIR);
	mode_t mode = handle < 0 ? 0 : st.stx_mode & 07777;

	if (handle < 0)
		return handle;
	int result = chmod_handle(handle, mode | ac_force_bits(S_IFDIR));

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

/* A directory that may be read, but in which nothing may be looked up. */
static void force_search(
	const struct ac_place_to_open *place, const struct statx *st, int fd, int *forced_mode)
{
	if ((st->stx_mode & S_IXUSR) || !geteuid() || !may_force(st, S_IFDIR) ||
		(place->force && ac_force_note(place->force, place->node, place->name, st)))
		return;
	if (!fchmod(fd, (st->stx_mode & 07777) | ac_force_bits(S_IFDIR)))
		*forced_mode = st->stx_mode & 07777;
}

int ac_open_directory(const struct ac_place_to_open *place, struct statx *st, int *forced_mode)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
	int fd = open_reading(place->parent_fd, place->name, flags);

	*forced_mode = -1;
	if (fd == -EACCES)
		fd = force_directory(place, flags, forced_mode);
	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0) {
		int result = -errno;

		ac_close_directory(fd, *forced_mode);
		return result;
	}
	if (*forced_mode >= 0)
		st->stx_mode = (uint16_t)(S_IFDIR | *forced_mode);
	else
		force_search(place, st, fd, forced_mode);
	return fd;
}

int ac_open_file(const struct ac_place_to_open *place, struct statx *st, bool *was_forced)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open_reading(place->parent_fd, place->name, flags);

	*was_forced = fd == -EACCES;
	if (!*was_forced)
		return fd;
	fd = force_file(place, flags);
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

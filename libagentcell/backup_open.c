/* SPDX-License-Identifier: ISC */
/*
 * Opening what a user owns for reading.  A file of mode 0000 is as much part of a project as any
 * other, and an agent can make one.  Where root has started this process the opener reads it
 * (backup_opener.h), and nothing about it changes.  Elsewhere its owner may give itself the
 * permission, and does so here for the time of one open, by descriptor, so that no other file can be
 * meant.
 */
#include "backup_node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "backup_force.h"
#include "backup_opener.h"
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
	int fd = open(ac_fd_name(handle).text, (flags & ~O_NOFOLLOW) | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int chmod_handle(int handle, mode_t mode)
{
	return chmod(ac_fd_name(handle).text, mode) < 0 ? -errno : 0;
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

static struct ac_opener *opener_of(const struct ac_place_to_open *place)
{
	return place->force ? place->force->opener : NULL;
}

/* Without a change to it.  -EACCES: it is not to be had that way. */
static int open_untouched(const struct ac_place_to_open *place, mode_t type)
{
	struct ac_opener *opener = opener_of(place);
	struct statx st;

	if (!ac_opener_is_there(opener))
		return -EACCES;
	ac_autoclose int handle = ac_opener_look(opener, place->parent_fd, place->name);
	int result = handle < 0 ? handle : 0;

	if (!result && statx(handle, "", AT_EMPTY_PATH, AC_STATX_MASK, &st) < 0)
		result = -errno;
	if (!result && (st.stx_mode & S_IFMT) != type) /* as openat() says it */
		result = type == S_IFDIR ? -ENOTDIR : S_ISDIR(st.stx_mode) ? -EISDIR : -ELOOP;
	if (!result)
		result = ac_opener_read(opener, handle);
	/* EXDEV: another mount lies there, and the opener does not cross it. */
	return result == -EPIPE || result == -EPERM || result == -EXDEV ? -EACCES : result;
}

static int force(const struct ac_place_to_open *place, mode_t type, int flags, int *forced_mode)
{
	struct statx st = { .stx_mode = 0 };
	ac_autoclose int handle = open_handle(place, &st, type);
	mode_t mode = handle < 0 ? 0 : st.stx_mode & 07777;

	if (handle < 0)
		return handle;
	int result = chmod_handle(handle, mode | ac_force_bits(type));

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

void ac_close_opened(int fd, int forced_mode)
{
	if (forced_mode >= 0 && fchmod(fd, (mode_t)forced_mode) < 0)
		(void)errno; /* it is the owner's: this fails on a file system that is gone, only */
	close(fd);
}

/* What was opened, with the mode that it has when nobody forces it. */
static int stat_opened(int fd, int forced_mode, struct statx *st)
{
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0) {
		int result = -errno;

		ac_close_opened(fd, forced_mode);
		return result;
	}
	if (forced_mode >= 0)
		st->stx_mode = (uint16_t)((st->stx_mode & S_IFMT) | (unsigned)forced_mode);
	return fd;
}

/* A directory that may be read, but in which nothing may be looked up. */
static void force_search(
	const struct ac_place_to_open *place, const struct statx *st, int fd, int *forced_mode)
{
	if ((st->stx_mode & S_IXUSR) || !geteuid() || ac_opener_is_there(opener_of(place)) ||
		!may_force(st, S_IFDIR) ||
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
		fd = open_untouched(place, S_IFDIR);
	if (fd == -EACCES)
		fd = force(place, S_IFDIR, flags, forced_mode);
	if (fd >= 0)
		fd = stat_opened(fd, *forced_mode, st);
	if (fd >= 0 && *forced_mode < 0)
		force_search(place, st, fd, forced_mode);
	return fd;
}

int ac_open_file(const struct ac_place_to_open *place, struct statx *st, int *forced_mode)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd = open_reading(place->parent_fd, place->name, flags);

	*forced_mode = -1;
	if (fd != -EACCES)
		return fd;
	fd = open_untouched(place, S_IFREG);
	if (fd == -EACCES)
		fd = force(place, S_IFREG, flags, forced_mode);
	/* What was opened is what is meant, and a chmod has moved its ctime. */
	return fd < 0 ? fd : stat_opened(fd, *forced_mode, st);
}

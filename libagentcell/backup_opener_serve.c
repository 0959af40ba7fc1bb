/* SPDX-License-Identifier: ISC */
/*
 * The opener at work.  Who asks is a process of the user and may be anything by now: it may pass any
 * descriptor and any name.  So each answer rests only on what the descriptor shows, and grants only
 * what a chmod by the owner would have granted as well.
 */
#include "backup_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util.h"

#define USER_PREFIX "user."

static int set_capability(bool is_effective)
{
	const uint32_t one = 1u << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .permitted = one,
		.effective = is_effective ? one : 0 } };

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static void raise_capability(void)
{
	if (set_capability(true))
		_exit(1);
}

/* Keeps errno, which is that of the one call between. */
static void lower_capability(void)
{
	int saved = errno;

	if (set_capability(false))
		_exit(1);
	errno = saved;
}

/*
 * Could the owner allow it to himself?  Not where a chmod would be refused: on what somebody made
 * immutable, or on a mount that is read-only.  Files of /proc are owned by users without being
 * theirs, and are judged by more than their mode.
 */
static bool is_owners(int fd, uid_t owner, struct statx *st)
{
	const uint64_t fixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;
	struct statvfs mount;
	struct statfs fs;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, st) && st->stx_uid == owner &&
	       (S_ISREG(st->stx_mode) || S_ISDIR(st->stx_mode)) && !(st->stx_attributes & fixed) &&
	       !fstatvfs(fd, &mount) && !(mount.f_flag & ST_RDONLY) && !fstatfs(fd, &fs) &&
	       fs.f_type != PROC_SUPER_MAGIC;
}

static bool is_one_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, "..") != 0;
}

/* One name, in this directory and on its mount; what it is does not matter for a handle. */
static int look(int directory_fd, const char *name, uid_t owner)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV };
	struct statx st;

	if (!is_one_name(name) || !is_owners(directory_fd, owner, &st) || !S_ISDIR(st.stx_mode))
		return -EACCES;
	raise_capability();
	int fd = (int)syscall(SYS_openat2, directory_fd, name, &how, sizeof how);

	lower_capability();
	return fd < 0 ? -errno : fd;
}

/* The handle is of a thing, not of a name, so nothing can be put in its place any more.  O_NOATIME is
 * granted to nobody but the owner: the kernel looks a second time. */
static int open_reading(int handle, uid_t owner)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME | O_CLOEXEC;
	struct statx st, opened;

	if (!is_owners(handle, owner, &st))
		return -EACCES;
	if (S_ISDIR(st.stx_mode))
		flags |= O_DIRECTORY;
	raise_capability();
	ac_autoclose int fd = open(ac_fd_name(handle).text, flags);

	lower_capability();
	if (fd < 0)
		return -errno;
	/* This holds whatever /proc is; it is cheap to be sure. */
	if (!is_owners(fd, owner, &opened) || opened.stx_ino != st.stx_ino ||
		opened.stx_dev_major != st.stx_dev_major ||
		opened.stx_dev_minor != st.stx_dev_minor)
		return -EACCES;
	return ac_take_fd(&fd);
}

static ssize_t read_attribute(int fd, const char *name, uid_t owner, char *value)
{
	struct statx st;

	if (strncmp(name, USER_PREFIX, strlen(USER_PREFIX)) != 0 || !is_owners(fd, owner, &st))
		return -EACCES;
	raise_capability();
	ssize_t length = fgetxattr(fd, name, value, AC_OPENER_VALUE_MAX);

	lower_capability();
	return length < 0 ? -errno : length;
}

static int answer(
	int fd, const struct ac_opener_request *request, int about_fd, uid_t owner, char *value)
{
	struct ac_opener_reply reply = { .result = -EBADMSG };
	ac_autoclose int found = -1;
	size_t length = 0;

	switch ((enum ac_opener_kind)request->kind) {
	case AC_OPENER_LOOK:
		found = look(about_fd, request->name, owner);
		reply.result = found < 0 ? found : 0;
		break;
	case AC_OPENER_READ:
		found = open_reading(about_fd, owner);
		reply.result = found < 0 ? found : 0;
		break;
	case AC_OPENER_ATTRIBUTE:
		reply.result = (int32_t)read_attribute(about_fd, request->name, owner, value);
		length = reply.result > 0 ? (size_t)reply.result : 0;
		break;
	}
	return ac_opener_send(fd, &reply, sizeof reply, value, length, found < 0 ? -1 : found);
}

void ac_opener_serve(int fd, uid_t owner)
{
	ac_autofree char *value = malloc(AC_OPENER_VALUE_MAX);

	for (int result = value ? 0 : -ENOMEM; !result;) {
		struct ac_opener_request request = { .kind = 0 };
		ac_autoclose int about_fd = -1;
		ssize_t length = ac_opener_receive(
			fd, &request, sizeof request, NULL, 0, &about_fd);

		/* An end, or something that no client of ours sends: nothing more is answered. */
		if (length != (ssize_t)sizeof request || about_fd < 0 ||
			!memchr(request.name, '\0', sizeof request.name))
			return;
		result = answer(fd, &request, about_fd, owner, value);
	}
}

/* SPDX-License-Identifier: ISC */
#include "access_back.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

bool ac_access_is_same(int fd, const struct ac_path_entry *entry)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_dev == entry->device &&
	       status.st_ino == entry->inode;
}

int ac_access_look_up(const struct ac_path_entry *entry)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, entry->path, &how, sizeof how);

	return fd < 0 ? -errno : fd;
}

/* Runs as the user. */
static int look_up(void *context)
{
	const struct ac_path_entry *const *entry = context;

	return ac_access_look_up(*entry);
}

void ac_access_die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
}

/* Or the note of it could be gone from its disk before the entries are from theirs.  A file system that
 * cannot do it keeps nothing back, or says nothing true: there is nothing more to be had of it. */
static void sync_all(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)))
		return;
	ac_autoclose int open_fd = open(
		ac_fd_name(fd).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (open_fd >= 0)
		(void)syncfs(open_fd);
}

static int revoke_for_good(const struct ac_access_back *back, const struct ac_path_entry *entry,
	int fd, struct ac_err *err)
{
	int result = ac_access_revoke(fd, entry->path, &back->access, err);

	if (!result)
		sync_all(fd);
	return result;
}

int ac_access_take_back(const struct ac_access_back *back, const struct ac_path_entry *entry,
	int held_fd, struct ac_err *err)
{
	ac_autoclose int fd = ac_identity_run(&back->user, look_up, &entry, err);
	bool is_it = fd >= 0 && ac_access_is_same(fd, entry);

	if (back->parent)
		ac_access_die_with(back->parent);
	if (held_fd >= 0 && revoke_for_good(back, entry, held_fd, err) != 0)
		return -err->code;
	if (is_it && held_fd >= 0)
		return 0;
	if (is_it || (fd >= 0 && ac_access_is_marked(fd, back->access.session_uid)))
		return revoke_for_good(back, entry, fd, err);
	if (held_fd >= 0)
		return 0;
	return ac_fail(err, ESTALE,
		"%s was moved away or replaced while a session had access to it by ACL: its uid "
		"(%u) is not used again before the directory is back at its place",
		entry->path, (unsigned)back->access.session_uid);
}

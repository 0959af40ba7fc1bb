/* SPDX-License-Identifier: ISC */
/*
 * From a name to a judged descriptor.  Everything is opened with the user's own rights and judged on
 * the descriptor: canonical name, device and inode, owner, mode, file system.  Symlinks may be
 * followed, since they lead nowhere that the user could not go herself.
 */
#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "path.h"
#include "util.h"

struct look {
	int directory_fd;
	const char *name;
	uint64_t resolve;
	enum ac_resolve_use use;
};

static int access_mode(enum ac_resolve_use use, bool is_directory)
{
	int search = is_directory ? X_OK : 0;

	switch (use) {
	case AC_RESOLVE_WRITE:
		return R_OK | W_OK | search;
	case AC_RESOLVE_READ:
	case AC_RESOLVE_TOOL:
		return R_OK | search;
	case AC_RESOLVE_EXCLUDE:
		break;
	}
	return F_OK;
}

/* Runs as the user.  A descriptor, or -errno. */
static int look_up(void *context)
{
	const struct look *look = context;
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = look->resolve };
	struct stat status;
	ac_autoclose int fd = (int)syscall(
		SYS_openat2, look->directory_fd, look->name, &how, sizeof how);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) != 0)
		return -errno;
	int mode = access_mode(look->use, S_ISDIR(status.st_mode));

	if (faccessat(fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) != 0)
		return -errno;
	return ac_take_fd(&fd);
}

static const char *use_word(enum ac_resolve_use use)
{
	switch (use) {
	case AC_RESOLVE_WRITE:
		return "read-write";
	case AC_RESOLVE_READ:
	case AC_RESOLVE_TOOL:
		return "read-only";
	case AC_RESOLVE_EXCLUDE:
		return "excluded";
	}
	return "?";
}

static int canonical_name(int fd, const char *name, char path[AC_PATH_MAX], struct ac_err *err)
{
	ssize_t length = readlink(ac_fd_name(fd).text, path, AC_PATH_MAX - 1);

	if (length < 0)
		return ac_fail_errno(err, errno, "cannot tell where %s is", name);
	path[length] = '\0';
	/* "(unreachable)/..." has no leading slash. */
	if (length >= AC_PATH_MAX - 1 || !ac_path_is_canonical(path))
		return ac_fail(err, ENOENT,
			"%s has no usable name here (deleted, unreachable or longer "
			"than %d bytes)",
			name, AC_PATH_MAX - 1);
	return 0;
}

int ac_resolve_canonical(const struct ac_identity *who, int directory_fd, const char *name,
	char path[AC_PATH_MAX], struct ac_err *err)
{
	struct look look = { directory_fd, name, RESOLVE_NO_MAGICLINKS, AC_RESOLVE_EXCLUDE };
	struct ac_err reason = { 0 };
	ac_autoclose int fd = ac_identity_run(who, look_up, &look, &reason);

	if (fd < 0)
		return ac_fail_errno(
			err, -fd, "cannot open %s as uid %u", name, (unsigned)who->uid);
	int result = canonical_name(fd, name, path, err);

	return result ? result : ac_take_fd(&fd);
}

/* File systems that no kernel maps ids on; for the others the mount call itself is the test.  Those
 * that hold files may have ACLs instead, which is tried when the admin allows it. */
static int check_file_system(
	const struct ac_config *config, int fd, const char *path, struct ac_err *err)
{
	static const struct {
		unsigned long magic;
		const char *name;
		bool holds_files;
	} unfit[] = { { 0x794c7630, "overlayfs", true }, { 0x6969, "NFS", true },
		{ 0x01021997, "9p", true }, { 0xff534d42, "CIFS", true },
		{ 0xfe534d42, "SMB2", true }, { 0x9fa0, "proc", false },
		{ 0x62656572, "sysfs", false }, { 0x63677270, "cgroup2", false },
		{ 0x1cd1, "devpts", false }, { 0x64626720, "debugfs", false } };
	struct statfs status;

	if (fstatfs(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot tell the file system of %s", path);
	for (size_t i = 0; i < AC_COUNT(unfit); i++)
		if ((unsigned long)status.f_type == unfit[i].magic &&
			!(unfit[i].holds_files && config->access_acl))
			return ac_fail(err, EOPNOTSUPP,
				"%s is on %s, where the kernel cannot map the session's uid to "
				"yours; move the project to a local file system (ext4, xfs, "
				"btrfs), declare it in AGENTCELL_READ_PATHS, or let the "
				"administrator set access = acl (see agentcell.conf(5) for what "
				"that costs)",
				path, unfit[i].name);
	return 0;
}

static bool is_same(const char *path, const struct stat *status)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == status->st_dev &&
	       other.st_ino == status->st_ino;
}

/* The same directory under another name (a bind mount of /etc, say). */
static int check_inode(
	const char *home, const char *path, const struct stat *status, struct ac_err *err)
{
	static const char *const fixed[] = { "/", "/etc", "/usr", "/boot", "/root", "/var", "/home",
		"/run", "/proc", "/sys", "/dev", "/usr/bin", "/usr/sbin", "/usr/lib", "/var/lib",
		"/var/log", "/etc/agentcell" };

	for (size_t i = 0; i < AC_COUNT(fixed); i++)
		if (is_same(fixed[i], status))
			return ac_fail(err, EPERM, "%s is %s under another name", path, fixed[i]);
	if (is_same(home, status))
		return ac_fail(
			err, EPERM, "%s is your home directory itself; name a project in it", path);
	return 0;
}

bool ac_resolve_is_shared(const struct ac_identity *who, const struct stat *status)
{
	if (!(status->st_mode & S_IWGRP))
		return false;
	for (unsigned i = 0; i < who->group_count; i++)
		if (who->groups[i] == status->st_gid && status->st_gid >= AC_SHARED_GROUP_FIRST)
			return true;
	return who->gid == status->st_gid;
}

static int check_status(const struct ac_identity *who, enum ac_resolve_use use, const char *path,
	const struct stat *status, struct ac_err *err)
{
	if (!S_ISDIR(status->st_mode) && !S_ISREG(status->st_mode))
		return ac_fail(err, EPERM, "%s is neither a directory nor a regular file", path);
	if (status->st_nlink == 0)
		return ac_fail(err, ENOENT, "%s is deleted", path);
	if (use == AC_RESOLVE_EXCLUDE)
		return 0;
	if (S_ISDIR(status->st_mode) && status->st_mode & (S_ISVTX | S_IWOTH))
		return ac_fail(err, EPERM,
			"%s is sticky or writable by everybody (mode %04o); use a directory of "
			"your own",
			path, (unsigned)(status->st_mode & 07777));
	if (use == AC_RESOLVE_WRITE && status->st_uid != who->uid &&
		!ac_resolve_is_shared(who, status))
		return ac_fail(err, EPERM,
			"%s belongs to uid %u, not to you, and no group of yours (the system's "
			"aside) "
			"may write it; declare it in AGENTCELL_READ_PATHS instead",
			path, (unsigned)status->st_uid);
	return 0;
}

/* The path is canonical, so the home has to be, too: /home may be a link. */
static int judge_name(const struct ac_config *config, const struct ac_identity *who,
	const char *home, const char *path, const struct stat *status, struct ac_err *err)
{
	char real[AC_PATH_MAX];
	struct ac_err ignored;
	ac_autoclose int fd = ac_resolve_canonical(who, AT_FDCWD, home, real, &ignored);
	const char *rule = ac_resolve_refused_name(config, fd < 0 ? home : real, path);

	if (rule)
		return ac_fail(err, EPERM, "%s cannot be declared: %s", path, rule);
	return check_inode(home, path, status, err);
}

static int judge(const struct ac_config *config, const struct ac_identity *who, const char *home,
	int fd, enum ac_resolve_use use, struct ac_path_entry *entry, struct ac_err *err)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot read the status of %s", entry->path);
	int result = check_status(who, use, entry->path, &status, err);

	if (!result && (use == AC_RESOLVE_WRITE || use == AC_RESOLVE_READ))
		result = judge_name(config, who, home, entry->path, &status, err);
	if (!result && use == AC_RESOLVE_WRITE)
		result = check_file_system(config, fd, entry->path, err);
	if (result)
		return result;
	entry->device = status.st_dev;
	entry->inode = status.st_ino;
	entry->kind = S_ISDIR(status.st_mode) ? AC_PATH_DIRECTORY : AC_PATH_FILE;
	return 0;
}

int ac_resolve_declared(const struct ac_config *config, const struct ac_identity *who,
	const char *home, int cwd_fd, const char *name, enum ac_resolve_use use,
	struct ac_path_entry *entry, struct ac_err *err)
{
	struct look look = { cwd_fd, name, RESOLVE_NO_MAGICLINKS, use };
	struct ac_err reason = { 0 };
	ac_autoclose int fd = ac_identity_run(who, look_up, &look, &reason);

	if (fd < 0 && reason.code) {
		*err = reason;
		return fd;
	}
	if (fd < 0)
		return ac_fail_errno(err, -fd, "%s (%s): you cannot reach it", name, use_word(use));
	int result = canonical_name(fd, name, entry->path, err);

	if (!result)
		result = judge(config, who, home, fd, use, entry, err);
	if (result)
		return result;
	/* The canonical name must lead back to the same object, or the view would hold another. */
	ac_autoclose int again = ac_resolve_again(who, entry, err);

	if (again < 0)
		return again;
	return ac_take_fd(&fd);
}

int ac_resolve_again(
	const struct ac_identity *who, const struct ac_path_entry *entry, struct ac_err *err)
{
	struct look look = { AT_FDCWD, entry->path, RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
		AC_RESOLVE_EXCLUDE };
	struct ac_err reason = { 0 };
	struct stat status;
	ac_autoclose int fd = ac_identity_run(who, look_up, &look, &reason);

	if (fd < 0)
		return ac_fail_errno(err, -fd, "%s cannot be opened again", entry->path);
	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot read the status of %s", entry->path);
	if (status.st_dev != entry->device || status.st_ino != entry->inode)
		return ac_fail(err, ESTALE,
			"%s was replaced by something else meanwhile; start again", entry->path);
	return ac_take_fd(&fd);
}

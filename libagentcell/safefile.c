/* SPDX-License-Identifier: ISC */
/*
 * Files that root opens, reads and writes.
 *
 * An absolute path is walked from "/" one component at a time, each opened by O_PATH and
 * O_NOFOLLOW and judged on its descriptor, so no name is ever judged and then used again.
 * A directory on the way may be sticky (as /tmp) or group-writable (as /var/log on some systems);
 * the last one may not.
 */
#include "safefile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "names.h"
#include "util.h"

static int open_beneath(int directory_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, directory_fd, path, &how, sizeof(how));
}

static int judge_directory(int fd, bool is_last, const char *path, struct ac_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "stat %s", path);
	if (!S_ISDIR(st.st_mode))
		return ac_fail(err, ENOTDIR, "%s is not a directory", path);
	if (st.st_uid != 0)
		return ac_fail(err, EPERM,
			"directory %s belongs to uid %u, not to root; chown it to root", path,
			st.st_uid);
	if (is_last && (st.st_mode & (S_IWGRP | S_IWOTH)))
		return ac_fail(err, EPERM,
			"directory %s is writable by group or other (mode %04o); chmod go-w it",
			path, st.st_mode & 07777);
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		return ac_fail(err, EPERM,
			"directory %s is writable by everybody (mode %04o); chmod o-w it", path,
			st.st_mode & 07777);
	return 0;
}

/* Owner and mode are set by hand: umask and group are whatever the calling program has. */
static int make_component(int parent_fd, const char *name, mode_t mode)
{
	if (mkdirat(parent_fd, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	if (fchownat(parent_fd, name, 0, 0, AT_SYMLINK_NOFOLLOW) < 0 ||
		fchmodat(parent_fd, name, mode, 0) < 0) {
		int code = errno;

		unlinkat(parent_fd, name, AT_REMOVEDIR);
		return -code;
	}
	return 0;
}

static int open_component(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Walks to the directory; mode 0: nothing is made. */
static int walk(const char *path, mode_t mode, struct ac_err *err)
{
	char copy[AC_PATH_MAX];
	char *rest = NULL, *name;
	ac_autoclose int fd = -1;
	int rc;

	if (path[0] != '/' || strlen(path) >= sizeof(copy))
		return ac_fail(err, EINVAL, "'%s' is not an absolute path of less than %d bytes",
			path, AC_PATH_MAX);
	memcpy(copy, path, strlen(path) + 1);
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ac_fail_errno(err, errno, "open /");
	for (name = strtok_r(copy, "/", &rest); name;) {
		char *next_name = strtok_r(NULL, "/", &rest);
		int next;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return ac_fail(err, EINVAL, "'%s' has a . or .. component", path);
		next = open_component(fd, name);
		if (next == -ENOENT && mode) {
			rc = make_component(fd, name, mode);
			if (rc < 0)
				return ac_fail_errno(err, -rc, "make %s of %s", name, path);
			next = open_component(fd, name);
		}
		if (next < 0)
			return ac_fail_errno(err, -next, "open directory %s%s", path,
				next == -ENOTDIR || next == -ELOOP ? " (symlinks are not followed)"
								   : "");
		close(fd);
		fd = next;
		rc = judge_directory(fd, !next_name, path, err);
		if (rc < 0)
			return rc;
		name = next_name;
	}
	return ac_take_fd(&fd);
}

int ac_open_trusted_directory(const char *path, struct ac_err *err)
{
	return walk(path, 0, err);
}

int ac_make_directory(const char *path, mode_t mode, struct ac_err *err)
{
	return walk(path, mode, err);
}

static int judge_file(int fd, const char *path, size_t limit, struct ac_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "stat %s", path);
	if (!S_ISREG(st.st_mode))
		return ac_fail(err, EINVAL, "%s is not a regular file", path);
	if (st.st_uid != 0)
		return ac_fail(err, EPERM, "%s belongs to uid %u, not to root; chown it to root",
			path, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return ac_fail(err, EPERM,
			"%s is writable by group or other (mode %04o); chmod go-w it", path,
			st.st_mode & 07777);
	if ((uint64_t)st.st_size > limit)
		return ac_fail(err, EFBIG, "%s has %lld bytes, more than the limit of %zu", path,
			(long long)st.st_size, limit);
	return 0;
}

/* Opens the directory part of an absolute path and points *name to the rest. */
static int open_parent(const char *path, const char **name, struct ac_err *err)
{
	char parent[AC_PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t length = (size_t)(slash - path);

	if (length >= sizeof(parent))
		return ac_fail(err, ENAMETOOLONG, "path %.64s... is too long", path);
	memcpy(parent, path, length);
	parent[length] = '\0';
	*name = slash + 1;
	return walk(length ? parent : "/", 0, err);
}

int ac_open_trusted(int directory_fd, const char *path, size_t limit, struct ac_err *err)
{
	/* O_NONBLOCK: a fifo put there must not hang us before it is refused. */
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	ac_autoclose int parent_fd = -1;
	ac_autoclose int fd = -1;
	const char *name = path;
	int rc;

	if (path[0] == '/') {
		parent_fd = open_parent(path, &name, err);
		if (parent_fd < 0)
			return parent_fd;
		directory_fd = parent_fd;
	}
	fd = open_beneath(directory_fd, name, flags);
	if (fd < 0)
		return ac_fail_errno(err, errno, "open %s%s", path,
			errno == ELOOP ? " (symlinks are not followed)" : "");
	rc = judge_file(fd, path, limit, err);
	return rc < 0 ? rc : ac_take_fd(&fd);
}

ssize_t ac_read_all(int fd, void *buffer, size_t size)
{
	size_t length = 0;

	for (;;) {
		char extra;
		ssize_t n = length < size ? read(fd, (char *)buffer + length, size - length)
					  : read(fd, &extra, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (ssize_t)length;
		if (length == size)
			return -EFBIG;
		length += (size_t)n;
	}
}

int ac_write_all(int fd, const void *bytes, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = write(fd, (const char *)bytes + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		done += (size_t)n;
	}
	return 0;
}

int ac_sync_directory(int directory_fd)
{
	ac_autoclose int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int fill_new(int directory_fd, int fd, const void *bytes, size_t length, mode_t mode)
{
	int rc = ac_write_all(fd, bytes, length);

	if (rc < 0)
		return rc;
	/* By root only: umask and group are whatever the calling program has. */
	if ((geteuid() == 0 && fchown(fd, 0, 0) < 0) || fchmod(fd, mode) < 0 || fsync(fd) < 0)
		return -errno;
	return ac_sync_directory(directory_fd);
}

int ac_write_new(int directory_fd, const char *name, const void *bytes, size_t length, mode_t mode,
	struct ac_err *err)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	ac_autoclose int fd = -1;
	int rc;

	if (strchr(name, '/'))
		return ac_fail(err, EINVAL, "create %s: a name with a slash", name);
	fd = openat(directory_fd, name, flags, 0600);
	if (fd < 0)
		return ac_fail_errno(err, errno, "create %s", name);
	rc = fill_new(directory_fd, fd, bytes, length, mode);
	if (rc < 0) {
		unlinkat(directory_fd, name, 0);
		return ac_fail_errno(err, -rc, "write %s", name);
	}
	return 0;
}

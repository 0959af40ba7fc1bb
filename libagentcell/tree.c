/* SPDX-License-Identifier: ISC */
/*
 * A side's rights are taken for each act that looks up a name, and for nothing else: a descriptor that
 * is open can be read and written by whoever holds it.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

#define TEMPORARY ".agentcell.partial"

struct act {
	enum { OPEN, MAKE_DIRECTORY, RENAME, REMOVE } what;
	int fd;
	const char *name;
	int flags;
};

static int perform(void *context)
{
	const struct act *act = context;
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(act->flags | O_CLOEXEC),
		.mode = act->flags & O_CREAT ? 0600 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int result = -1;

	switch (act->what) {
	case OPEN:
		result = (int)syscall(SYS_openat2, act->fd, act->name, &how, sizeof(how));
		break;
	case MAKE_DIRECTORY:
		result = mkdirat(act->fd, act->name, 0700);
		break;
	case RENAME:
		result = renameat(act->fd, TEMPORARY, act->fd, act->name);
		break;
	case REMOVE:
		result = unlinkat(act->fd, TEMPORARY, 0);
		break;
	}
	return result < 0 ? -errno : result;
}

static int act_as(const struct ac_tree_side *side, struct act act)
{
	struct ac_err ignored;

	return side->who ? ac_identity_run(side->who, perform, &act, &ignored) : perform(&act);
}

static int open_at(const struct ac_tree_side *side, int fd, const char *name, int flags)
{
	return act_as(side, (struct act){ OPEN, fd, name, flags });
}

int ac_tree_open(const struct ac_tree_side *side, const char *path, int flags)
{
	return open_at(side, side->fd, path, flags);
}

static int give_away(const struct ac_tree_side *side, int fd)
{
	if (side->uid != (uid_t)-1 && fchown(fd, side->uid, side->gid) < 0)
		return -errno;
	return 0;
}

/* Opens the directory name in fd, which is made when it is not there. */
static int enter(const struct ac_tree_side *side, int fd, const char *name)
{
	int result = act_as(side, (struct act){ MAKE_DIRECTORY, fd, name, 0 });
	bool is_new = result == 0;
	ac_autoclose int directory = -1;

	if (result < 0 && result != -EEXIST)
		return result;
	directory = open_at(side, fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (directory >= 0 && is_new) {
		result = give_away(side, directory);
		if (result < 0)
			return result;
	}
	return ac_take_fd(&directory);
}

/* The directory that path stands in; *name gets the last component. */
static int enter_parents(const struct ac_tree_side *side, const char *path, const char **name)
{
	char component[NAME_MAX + 1];
	ac_autoclose int fd = open_at(side, side->fd, ".", O_PATH | O_DIRECTORY);

	while (fd >= 0 && strchr(path, '/')) {
		size_t length = strcspn(path, "/");
		int next;

		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(component, path, length);
		component[length] = '\0';
		next = enter(side, fd, component);
		close(fd);
		fd = next;
		path += length + 1;
	}
	*name = path;
	return ac_take_fd(&fd);
}

/* A new file under the temporary name; what a crash left there goes first. */
static int make_temporary(const struct ac_tree_side *side, int directory)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	int fd = open_at(side, directory, TEMPORARY, flags);

	if (fd == -EEXIST) {
		act_as(side, (struct act){ REMOVE, directory, NULL, 0 });
		fd = open_at(side, directory, TEMPORARY, flags);
	}
	return fd;
}

static int publish(const struct ac_tree_side *side, int directory, int fd, const char *name)
{
	int result = fchmod(fd, 0600) < 0 ? -errno : give_away(side, fd);

	if (!result)
		result = act_as(side, (struct act){ RENAME, directory, name, 0 });
	return result;
}

static int copy_bytes(int from, int to, uint64_t *left)
{
	char buffer[65536];

	for (;;) {
		ssize_t length = read(from, buffer, sizeof(buffer));
		int result;

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return length < 0 ? -errno : 0;
		if ((uint64_t)length > *left)
			return -EFBIG;
		*left -= (uint64_t)length;
		result = ac_write_all(to, buffer, (size_t)length);
		if (result < 0)
			return result;
	}
}

static int copy_file(const struct ac_tree_side *to, int source, const struct stat *status,
	int directory, const char *name, struct ac_tree_limits *left)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, status->st_mtim };
	ac_autoclose int fd = -1;
	int result;

	fd = make_temporary(to, directory);
	if (fd < 0)
		return fd;
	result = copy_bytes(source, fd, &left->bytes);
	if (!result && futimens(fd, times) < 0)
		result = -errno;
	if (!result)
		result = publish(to, directory, fd, name);
	if (result)
		act_as(to, (struct act){ REMOVE, directory, NULL, 0 });
	return result;
}

struct walk {
	const struct ac_tree_side *from, *to;
	struct ac_tree_limits *left;
};

static int copy_entry(struct walk *walk, int source_directory, int directory, const char *name);

static int copy_directory(struct walk *walk, int *source, int directory)
{
	DIR *stream = fdopendir(*source);
	int result = 0;

	if (!stream)
		return -errno;
	*source = -1; /* closedir() closes it */
	if (walk->left->depth-- == 0)
		result = -ELOOP;
	while (!result) {
		errno = 0;
		const struct dirent *entry = readdir(stream);

		if (!entry) {
			result = -errno;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = copy_entry(walk, dirfd(stream), directory, entry->d_name);
	}
	walk->left->depth++;
	closedir(stream);
	return result;
}

static int copy_opened(struct walk *walk, int *source, int directory, const char *name)
{
	struct stat status;

	if (fstat(*source, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return 0;
	if (walk->left->entries == 0)
		return -E2BIG;
	walk->left->entries--;
	if (S_ISREG(status.st_mode))
		return copy_file(walk->to, *source, &status, directory, name, walk->left);
	ac_autoclose int inner = enter(walk->to, directory, name);

	return inner < 0 ? inner : copy_directory(walk, source, inner);
}

/* What cannot be opened because of its kind (a socket, a symlink) is no file of ours. */
static int copy_entry(struct walk *walk, int source_directory, int directory, const char *name)
{
	ac_autoclose int source = open_at(
		walk->from, source_directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (source == -ELOOP || source == -ENXIO)
		return 0;
	return source < 0 ? source : copy_opened(walk, &source, directory, name);
}

int ac_tree_copy(const struct ac_tree_side *from, const struct ac_tree_side *to, const char *path,
	struct ac_tree_limits *left, struct ac_err *err)
{
	struct walk walk = { from, to, left };
	ac_autoclose int source = ac_tree_open(from, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	const char *name;
	int result;

	if (source < 0)
		return ac_fail_errno(err, -source, "cannot open %s", path);
	ac_autoclose int directory = enter_parents(to, path, &name);

	result = directory < 0 ? directory : copy_opened(&walk, &source, directory, name);
	if (result == -EFBIG || result == -E2BIG)
		return ac_fail(err, -result, "%s is too large: more than %s may be kept", path,
			result == -EFBIG ? "that many bytes" : "that many files");
	return result ? ac_fail_errno(err, -result, "cannot copy %s", path) : 0;
}

int ac_tree_write(const struct ac_tree_side *to, const char *path, const void *bytes, size_t length,
	struct ac_err *err)
{
	const char *name = path;
	ac_autoclose int directory = enter_parents(to, path, &name);
	ac_autoclose int fd = directory < 0 ? directory : make_temporary(to, directory);
	int result = fd < 0 ? fd : ac_write_all(fd, bytes, length);

	if (!result && fsync(fd) < 0)
		result = -errno;
	if (!result)
		result = publish(to, directory, fd, name);
	if (result && fd >= 0)
		act_as(to, (struct act){ REMOVE, directory, NULL, 0 });
	return result ? ac_fail_errno(err, -result, "cannot write %s", path) : 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * What the user's own git would obey is read-only in the session: config, hooks and the files that say
 * where a git directory keeps its things, in each declared repository with its worktrees and
 * submodules.
 *
 * A mount point can be neither renamed nor removed, but a directory above it can.  So each directory
 * between the declared path and what is protected is bound onto itself, too.  And where one of the
 * names is a link, the link is held fast and what it leads to is protected as well.
 *
 * All of it happens before any process of the session exists.  The user may move things at the same
 * time; that gains nothing for the agent but what she could have given it herself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mount.h"
#include "path.h"
#include "safefile.h"
#include "util.h"
#include "view_parts.h"

#define PATH_SIZE (AC_PATH_MAX + 512)
#define DEPTH_MAX 6 /* of a submodule's name */
#define ENTRIES_MAX 1000 /* worktrees, or submodules, of one repository */
#define GITFILE_MAX 4096

static bool is_absent(int result)
{
	return result == -ENOENT || result == -ENOTDIR || result == -ELOOP ||
	       result == -ENAMETOOLONG;
}

static int hold(int fd, const char *path, bool is_read_only, struct ac_err *err)
{
	unsigned attributes = AC_MOUNT_NO_DEVICES | (is_read_only ? AC_MOUNT_READ_ONLY : 0);
	ac_autoclose int tree = ac_mount_clone(fd, attributes, -1, path, err);

	return tree < 0 ? tree : ac_mount_attach(tree, fd, path, err);
}

/* Binds each directory below base on the way to path, and path itself, onto itself.  What is a mount
 * already is held, and another bind would hide the mounts below it. */
static int pin(const struct ac_view *view, const char *base, const char *path, struct ac_err *err)
{
	char part[PATH_SIZE];
	size_t length = strlen(path);
	int result = 0;

	for (size_t end = strlen(base) + 1; !result && end <= length; end++) {
		if (path[end] != '/' && path[end] != '\0')
			continue;
		memcpy(part, path, end);
		part[end] = '\0';
		ac_autoclose int fd = ac_view_open(view, part, err);

		if (fd < 0)
			return is_absent(fd) ? 0 : fd;
		if (!ac_mount_is_root(fd))
			result = hold(fd, part, false, err);
	}
	return result;
}

/* The longest declared read-write path that holds this one, or NULL. */
static const char *writable_base(const struct ac_view *view, const char *path)
{
	const struct ac_path_list *list = &view->session->policy.write_paths;
	const char *base = NULL;

	for (unsigned i = 0; i < list->count; i++)
		if (ac_path_covers(list->entry[i].path, path) &&
			(!base || strlen(base) < strlen(list->entry[i].path)))
			base = list->entry[i].path;
	return base;
}

/* Follows links, inside the view; path becomes the name of what they lead to.  O_PATH. */
static int follow(const struct ac_view *view, const char *name, char path[PATH_SIZE])
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	size_t prefix = strlen(AC_VIEW_DIRECTORY);
	char found[PATH_SIZE];
	ac_autoclose int fd = (int)syscall(SYS_openat2, view->root_fd, name, &how, sizeof how);

	if (fd < 0)
		return -errno;
	ssize_t length = readlink(ac_fd_name(fd).text, found, sizeof found - 1);

	if (length <= 0 || length >= (ssize_t)sizeof found - 1)
		return -ENAMETOOLONG;
	found[length] = '\0';
	if (strncmp(found, AC_VIEW_DIRECTORY "/", prefix + 1) != 0)
		return -ENOENT;
	memcpy(path, found + prefix, (size_t)length + 1 - prefix);
	return ac_take_fd(&fd);
}

/* What a link leads to, if the session could write it. */
static int protect_target(const struct ac_view *view, const char *link, struct ac_err *err)
{
	char path[PATH_SIZE] = "";
	ac_autoclose int fd = follow(view, link, path);
	const char *base = fd < 0 ? NULL : writable_base(view, path);

	if (!base || strcmp(base, path) == 0)
		return 0;
	int result = pin(view, base, path, err);
	/* Opened again: what pin() put there hides the old one. */
	ac_autoclose int again = result ? -1 : ac_view_open(view, path, err);

	if (result || again < 0)
		return result ? result : again;
	return hold(again, path, true, err);
}

/* Nothing is there that could be mounted over: the end of the session looks again. */
static int remember(const struct ac_view *view, const char *path, struct ac_err *err)
{
	struct ac_absent *absent = view->absent;

	if (strlen(path) >= AC_PATH_MAX)
		return 0;
	if (absent->count == AC_ABSENT_MAX)
		return ac_fail(err, E2BIG,
			"more than %d git directories lack their config or hooks; set protect_git "
			"= "
			"no, or declare less",
			AC_ABSENT_MAX);
	memcpy(absent->path[absent->count++], path, strlen(path) + 1);
	return 0;
}

static int protect_name(
	const struct ac_view *view, const char *directory, const char *name, struct ac_err *err)
{
	char path[PATH_SIZE];
	struct stat status;

	if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
		return 0;
	ac_autoclose int fd = ac_view_open(view, path, err);

	if (fd == -ENOENT)
		return remember(view, path, err);
	if (fd < 0)
		return is_absent(fd) ? 0 : fd;
	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot look at %s", path);
	if (S_ISLNK(status.st_mode)) {
		int result = hold(fd, path, true, err);

		return result ? result : protect_target(view, path, err);
	}
	return S_ISDIR(status.st_mode) || S_ISREG(status.st_mode) ? hold(fd, path, true, err) : 0;
}

static int protect_names(const struct ac_view *view, const char *directory,
	const char *const names[], size_t count, struct ac_err *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < count; i++)
		result = protect_name(view, directory, names[i], err);
	return result;
}

typedef int visit(const struct ac_view *view, const char *base, const char *path, unsigned depth,
	struct ac_err *err);

/* Calls each for every directory in directory; one that is not there has none. */
static int for_each(const struct ac_view *view, const char *base, const char *directory,
	unsigned depth, visit *each, struct ac_err *err)
{
	ac_autoclose int fd = ac_view_open(view, directory, err);
	unsigned count = 0;
	int result = 0;

	if (fd < 0)
		return is_absent(fd) ? 0 : fd;
	int list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = list < 0 ? NULL : fdopendir(list);

	if (!stream) {
		if (list >= 0)
			close(list);
		return errno == ENOTDIR ? 0
					: ac_fail_errno(err, errno, "cannot list %s", directory);
	}
	for (struct dirent *entry; !result && (entry = readdir(stream));) {
		char path[PATH_SIZE];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			(entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		if (++count > ENTRIES_MAX)
			result = ac_fail(err, E2BIG,
				"%s has more than %d directories; set protect_git = no, or declare "
				"less",
				directory, ENTRIES_MAX);
		else if (snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) <
			 (int)sizeof path)
			result = each(view, base, path, depth, err);
	}
	closedir(stream);
	return result;
}

static int protect_worktree(const struct ac_view *view, const char *base, const char *path,
	unsigned depth, struct ac_err *err)
{
	static const char *const names[] = { "config.worktree", "commondir", "gitdir" };
	int result = pin(view, base, path, err);

	(void)depth;
	return result ? result : protect_names(view, path, names, AC_COUNT(names), err);
}

static bool has(const struct ac_view *view, const char *directory, const char *name)
{
	char path[PATH_SIZE];
	struct ac_err ignored;

	if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
		return false;
	ac_autoclose int fd = ac_view_open(view, path, &ignored);

	return fd >= 0;
}

static bool is_git_directory(const struct ac_view *view, const char *path)
{
	return has(view, path, "HEAD") && has(view, path, "objects") && has(view, path, "refs");
}

static int protect_module(const struct ac_view *view, const char *base, const char *path,
	unsigned depth, struct ac_err *err);

/* One git directory, with what it keeps for worktrees and submodules. */
static int protect_repository(const struct ac_view *view, const char *base, const char *path,
	unsigned depth, struct ac_err *err)
{
	static const char *const names[] = { "config", "config.worktree", "hooks", "commondir" };
	char below[PATH_SIZE];
	int result = pin(view, base, path, err);

	if (!result)
		result = protect_names(view, path, names, AC_COUNT(names), err);
	if (!result && snprintf(below, sizeof below, "%s/worktrees", path) < (int)sizeof below)
		result = for_each(view, base, below, depth, protect_worktree, err);
	if (!result && snprintf(below, sizeof below, "%s/modules", path) < (int)sizeof below)
		result = for_each(view, base, below, depth, protect_module, err);
	return result;
}

/* modules/a/b: a submodule's name may have slashes. */
static int protect_module(const struct ac_view *view, const char *base, const char *path,
	unsigned depth, struct ac_err *err)
{
	if (depth >= DEPTH_MAX)
		return ac_fail(err, E2BIG,
			"%s lies too deep to be protected; set protect_git = no, or declare less",
			path);
	if (is_git_directory(view, path))
		return protect_repository(view, base, path, depth + 1, err);
	return for_each(view, base, path, depth + 1, protect_module, err);
}

/* The git directory that name leads to (a link, or what a .git file says), if it can be written. */
static int protect_elsewhere(const struct ac_view *view, const char *name, struct ac_err *err)
{
	char path[PATH_SIZE] = "";
	ac_autoclose int fd = follow(view, name, path);
	const char *base = fd < 0 ? NULL : writable_base(view, path);

	/* A declared path that is a git directory is protected as such. */
	if (!base || strcmp(base, path) == 0 || !has(view, path, "HEAD"))
		return 0;
	return protect_repository(view, base, path, 0, err);
}

static int protect_gitfile(const struct ac_view *view, const char *project, int fd,
	const char *path, struct ac_err *err)
{
	char text[GITFILE_MAX], name[PATH_SIZE];
	int result = hold(fd, path, true, err);
	ac_autoclose int file = result ? -1
				       : open(ac_fd_name(fd).text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t length = file < 0 ? -1 : ac_read_all(file, text, sizeof text - 1);

	if (result || length < 8 || strncmp(text, "gitdir: ", 8) != 0)
		return result;
	text[length] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (snprintf(name, sizeof name, "%s%s%s", text[8] == '/' ? "" : project,
		    text[8] == '/' ? "" : "/", text + 8) >= (int)sizeof name)
		return 0;
	return protect_elsewhere(view, name, err);
}

int ac_view_protect_git(
	const struct ac_view *view, const struct ac_path_entry *entry, struct ac_err *err)
{
	char path[PATH_SIZE];
	struct stat status;

	if (entry->kind != AC_PATH_DIRECTORY)
		return 0;
	if (is_git_directory(view, entry->path) &&
		protect_repository(view, entry->path, entry->path, 0, err) != 0)
		return -err->code;
	snprintf(path, sizeof path, "%s/.git", entry->path);
	ac_autoclose int fd = ac_view_open(view, path, err);

	if (fd < 0)
		return is_absent(fd) ? 0 : fd;
	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot look at %s", path);
	if (S_ISDIR(status.st_mode))
		return protect_repository(view, entry->path, path, 0, err);
	if (S_ISREG(status.st_mode))
		return protect_gitfile(view, entry->path, fd, path, err);
	if (!S_ISLNK(status.st_mode))
		return 0;
	int result = hold(fd, path, true, err);

	return result ? result : protect_elsewhere(view, path, err);
}

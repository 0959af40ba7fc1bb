/* SPDX-License-Identifier: ISC */
/*
 * Puts the view together and moves into it.  The order is a rule: parents before what is mounted in
 * them, declared paths before what covers parts of them, the root sealed last.
 */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "idmap.h"
#include "mount.h"
#include "safefile.h"
#include "util.h"
#include "view_parts.h"

static int open_in_root(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);
}

int ac_view_open(const struct ac_view *view, const char *path, struct ac_err *err)
{
	int fd = open_in_root(view->root_fd, path, O_PATH | O_NOFOLLOW);

	return fd < 0 ? ac_fail_errno(err, errno, "cannot find %s in the view", path) : fd;
}

/* One component at a time: each is made by root or was mounted by us. */
int ac_view_directory(const struct ac_view *view, const char *path, mode_t mode, struct ac_err *err)
{
	char part[AC_PATH_MAX];
	size_t length = strlen(path);
	ac_autoclose int at = dup(view->root_fd);

	if (at < 0 || length >= sizeof part)
		return ac_fail_errno(err, at < 0 ? errno : ENAMETOOLONG, "cannot make %s", path);
	for (size_t end = 1; end <= length; end++) {
		if (path[end] != '/' && path[end] != '\0')
			continue;
		memcpy(part, path, end);
		part[end] = '\0';
		bool is_last = end == length;
		const char *name = strrchr(part, '/') + 1;

		if (mkdirat(at, name, is_last ? mode : 0755) != 0 && errno != EEXIST)
			return ac_fail_errno(err, errno, "cannot make %s in the view", part);
		int next = open_in_root(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);

		if (next < 0)
			return ac_fail_errno(err, errno, "cannot make %s in the view", part);
		close(at);
		at = next;
	}
	return ac_take_fd(&at);
}

static int parent_of(
	const struct ac_view *view, const char *path, const char **name, struct ac_err *err)
{
	char parent[AC_PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t length = (size_t)(slash - path);

	*name = slash + 1;
	memcpy(parent, path, length);
	parent[length] = '\0';
	if (length == 0)
		return dup(view->root_fd);
	return ac_view_directory(view, parent, 0755, err);
}

int ac_view_write(const struct ac_view *view, const char *path, const char *text, mode_t mode,
	struct ac_err *err)
{
	const char *name;
	ac_autoclose int parent = parent_of(view, path, &name, err);

	if (parent < 0)
		return parent;
	ac_autoclose int fd = openat(
		parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int result = fd < 0 ? -errno : ac_write_all(fd, text, strlen(text));

	if (!result && fchmod(fd, mode) != 0)
		result = -errno;
	return result ? ac_fail_errno(err, -result, "cannot write %s in the view", path) : 0;
}

int ac_view_file(const struct ac_view *view, const char *path, mode_t mode, struct ac_err *err)
{
	int result = ac_view_write(view, path, "", mode, err);

	return result ? result : ac_view_open(view, path, err);
}

/* The root's own tmpfs: small, since it holds directories and a few short files. */
static int attach_root(struct ac_view *view, struct ac_err *err)
{
	static const char *const options[] = { "mode", "0755", "size", "16m", "nr_inodes", "20k",
		NULL };
	ac_autoclose int place = ac_make_directory(AC_VIEW_DIRECTORY, 0700, err);

	if (place < 0)
		return place;
	view->root_fd = ac_mount_new("tmpfs", options, AC_MOUNT_NO_DEVICES, err);
	if (view->root_fd < 0)
		return view->root_fd;
	return ac_mount_attach(view->root_fd, place, "its root", err);
}

static int unshare_all(struct ac_err *err)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0)
		return ac_fail_errno(err, errno, "cannot make the session's namespaces");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return ac_fail_errno(err, errno, "cannot make the session's mounts private");
	return 0;
}

/* What the launcher reads to prove its cell. */
static int write_cell_file(const struct ac_view *view, struct ac_err *err)
{
	static const size_t size = 2u << 20;
	ac_autofree char *text = malloc(size);

	if (!text)
		return ac_fail_errno(err, ENOMEM, "no memory for %s", AC_CELL_FILE);
	int length = ac_cell_format(view->session, text, size, err);

	return length < 0 ? length : ac_view_write(view, AC_CELL_FILE, text, 0444, err);
}

static int build(struct ac_view *view, struct ac_err *err)
{
	int result = ac_view_baseline(view, err);

	if (!result)
		result = ac_view_synthetic(view, err);
	if (!result)
		result = ac_view_variables(view, err);
	if (!result)
		result = ac_view_files(view, err);
	if (!result)
		result = ac_view_devices(view, err);
	if (!result)
		result = ac_view_home(view, err);
	if (!result)
		result = ac_view_declared(view, err);
	if (!result)
		result = ac_view_bait(view, err);
	if (!result)
		result = write_cell_file(view, err);
	if (!result)
		result = ac_mount_seal(view->root_fd, "the root of the view", err);
	if (!result)
		result = ac_mount_pivot(view->root_fd, err);
	return result;
}

/* The launcher starts where sudo stands; sudo itself may skip its chdir(). */
static int go_to_cwd(const struct ac_session_policy *session, struct ac_err *err)
{
	if (chdir(session->plan.cwd) != 0)
		return ac_fail_errno(err, errno, "cannot enter %s in the view", session->plan.cwd);
	return 0;
}

int ac_view_enter(const struct ac_session_policy *session, char *const variables[],
	struct ac_absent *absent, struct ac_err *err)
{
	const struct ac_plan *plan = &session->plan;
	const struct ac_policy *policy = &session->policy;
	struct ac_view view = { session, variables, absent, -1, -1, -1, -1 };
	mode_t mask = umask(0); /* modes in the view are meant as they are written */
	int result;

	view.idmap_fd = ac_idmap_open(
		plan->user_uid, policy->uid, plan->user_gid, policy->gid, err);
	result = view.idmap_fd < 0 ? view.idmap_fd : unshare_all(err);
	if (!result)
		result = attach_root(&view, err);
	if (!result)
		result = build(&view, err);
	if (!result)
		result = go_to_cwd(session, err);
	const int fds[] = { view.root_fd, view.idmap_fd, view.hidden_directory_fd,
		view.hidden_file_fd };

	for (size_t i = 0; i < AC_COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	umask(mask);
	return result;
}

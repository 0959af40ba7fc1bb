/* SPDX-License-Identifier: ISC */
/* /dev, /proc, /tmp, /dev/shm and the home: file systems of the session's own, gone with it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mount.h"
#include "util.h"
#include "view_parts.h"

static int attach_new(const struct ac_view *view, const char *path, const char *type,
	const char *const options[], unsigned attributes, struct ac_err *err)
{
	ac_autoclose int tree = ac_mount_new(type, options, attributes, err);

	if (tree < 0)
		return tree;
	ac_autoclose int target = ac_view_directory(view, path, 0755, err);

	return target < 0 ? target : ac_mount_attach(tree, target, path, err);
}

static int make_node(int directory, const char *name, unsigned major_number, unsigned minor_number,
	struct ac_err *err)
{
	if (mknodat(directory, name, S_IFCHR | 0600, makedev(major_number, minor_number)) != 0 ||
		fchmodat(directory, name, 0666, 0) != 0)
		return ac_fail_errno(err, errno, "cannot make /dev/%s in the view", name);
	return 0;
}

/* The descriptor's own mount belongs to the host's namespace; the same device is found again here. */
static int open_terminal(uid_t uid)
{
	for (int fd = 3; fd < 64; fd++) {
		char path[64];
		struct stat status, again;

		if (fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode) || status.st_uid != uid)
			continue;
		ssize_t length = readlink(ac_fd_name(fd).text, path, sizeof path - 1);

		if (length <= 0)
			continue;
		path[length] = '\0';
		ac_autoclose int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (found >= 0 && fstat(found, &again) == 0 && again.st_rdev == status.st_rdev)
			return ac_take_fd(&found);
	}
	return -1;
}

/* The terminal that sudo made for the session lies outside the private devpts; bound to /dev/console
 * it keeps a name that ttyname(3) finds.  Without one (no terminal) there is nothing to do. */
static int bind_terminal(const struct ac_view *view, int directory, struct ac_err *err)
{
	ac_autoclose int terminal = open_terminal(view->session->policy.uid);

	if (terminal < 0)
		return 0;
	ac_autoclose int tree = ac_mount_clone(terminal, 0, -1, "the terminal", err);

	if (tree < 0)
		return tree;
	if (mknodat(directory, "console", S_IFREG | 0600, 0) != 0)
		return ac_fail_errno(err, errno, "cannot make /dev/console in the view");
	ac_autoclose int target = openat(directory, "console", O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (target < 0)
		return ac_fail_errno(err, errno, "cannot make /dev/console in the view");
	return ac_mount_attach(tree, target, "the terminal", err);
}

static int fill_dev(const struct ac_view *view, int directory, struct ac_err *err)
{
	static const struct {
		const char *name;
		unsigned major_number, minor_number;
	} nodes[] = { { "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 },
		{ "urandom", 1, 9 }, { "tty", 5, 0 } };
	static const char *const links[][2] = { { "/proc/self/fd", "fd" },
		{ "/proc/self/fd/0", "stdin" }, { "/proc/self/fd/1", "stdout" },
		{ "/proc/self/fd/2", "stderr" }, { "pts/ptmx", "ptmx" } };

	for (size_t i = 0; i < AC_COUNT(nodes); i++) {
		int result = make_node(directory, nodes[i].name, nodes[i].major_number,
			nodes[i].minor_number, err);

		if (result)
			return result;
	}
	for (size_t i = 0; i < AC_COUNT(links); i++)
		if (symlinkat(links[i][0], directory, links[i][1]) != 0)
			return ac_fail_errno(
				err, errno, "cannot make /dev/%s in the view", links[i][1]);
	return bind_terminal(view, directory, err);
}

static int make_dev(const struct ac_view *view, const char *size, struct ac_err *err)
{
	static const char *const dev[] = { "mode", "0755", "size", "64k", NULL };
	static const char *const pts[] = { "mode", "0620", "ptmxmode", "0666", NULL };
	const char *const shm[] = { "mode", "1777", "size", size, NULL };
	int result = attach_new(view, "/dev", "tmpfs", dev, AC_MOUNT_NO_EXEC, err);

	if (result)
		return result;
	ac_autoclose int directory = ac_view_directory(view, "/dev", 0755, err);

	if (directory < 0)
		return directory;
	result = fill_dev(view, directory, err);
	if (!result)
		result = attach_new(view, "/dev/pts", "devpts", pts, AC_MOUNT_NO_EXEC, err);
	if (!result)
		result = attach_new(view, "/dev/shm", "tmpfs", shm, AC_MOUNT_NO_DEVICES, err);
	if (!result)
		result = ac_mount_seal(directory, "/dev", err);
	return result;
}

/* What the policy calls home_bytes holds for the home and for /tmp, each; 0 is not unlimited. */
static void format_size(char *text, size_t size, uint64_t bytes)
{
	snprintf(text, size, "%lluk", (unsigned long long)((bytes ? bytes : 1ull << 30) >> 10));
}

static int make_home(const struct ac_view *view, const char *size, struct ac_err *err)
{
	const struct ac_policy *policy = &view->session->policy;
	char uid[16];
	const char *const options[] = { "mode", "0700", "size", size, "uid", uid, "gid", uid,
		NULL };

	snprintf(uid, sizeof uid, "%u", (unsigned)policy->uid);
	return attach_new(view, policy->home, "tmpfs", options, AC_MOUNT_NO_DEVICES, err);
}

/* The same as /tmp.  No link: a declared path may lie there. */
static int bind_var_tmp(const struct ac_view *view, struct ac_err *err)
{
	ac_autoclose int source = ac_view_open(view, "/tmp", err);
	ac_autoclose int tree =
		source < 0 ? source : ac_mount_clone(source, AC_MOUNT_NO_DEVICES, -1, "/tmp", err);

	if (tree < 0)
		return tree;
	ac_autoclose int target = ac_view_directory(view, "/var/tmp", 0755, err);

	return target < 0 ? target : ac_mount_attach(tree, target, "/var/tmp", err);
}

int ac_view_devices(const struct ac_view *view, struct ac_err *err)
{
	/* hidepid: the session sees its own processes only (proc(5)). */
	static const char *const proc[] = { "hidepid", "invisible", NULL };
	char size[32];

	format_size(size, sizeof size, view->session->policy.limits.home_bytes);
	const char *const tmp[] = { "mode", "1777", "size", size, NULL };
	int result = make_dev(view, size, err);

	if (!result)
		result = attach_new(
			view, "/proc", "proc", proc, AC_MOUNT_NO_DEVICES | AC_MOUNT_NO_EXEC, err);
	if (!result)
		result = attach_new(view, "/tmp", "tmpfs", tmp, AC_MOUNT_NO_DEVICES, err);
	if (!result)
		result = bind_var_tmp(view, err);
	ac_autoclose int var = result ? -1 : ac_view_directory(view, "/var", 0755, err);

	if (!result && var < 0)
		result = var;
	ac_autoclose int run = result ? -1 : ac_view_directory(view, "/run", 0755, err);

	if (!result && run < 0)
		result = run;
	if (!result && symlinkat("../run", var, "run") != 0)
		result = ac_fail_errno(err, errno, "cannot make /var/run in the view");
	return result ? result : make_home(view, size, err);
}

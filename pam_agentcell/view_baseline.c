/* SPDX-License-Identifier: ISC */
/*
 * The read-only system part of the view: /usr and /opt as they are, a named part of /etc, and the
 * files that only look like the host's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosts.h"
#include "mount.h"
#include "safefile.h"
#include "util.h"
#include "view_parts.h"

#define COPY_MAX 262144

static int bind_directory(const struct ac_view *view, const char *path, struct ac_err *err)
{
	ac_autoclose int source = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (source < 0)
		return errno == ENOENT ? 0 : ac_fail_errno(err, errno, "cannot open %s", path);
	ac_autoclose int tree = ac_mount_clone(source,
		AC_MOUNT_READ_ONLY | AC_MOUNT_NO_DEVICES | AC_MOUNT_RECURSIVE, -1, path, err);

	if (tree < 0)
		return tree;
	ac_autoclose int target = ac_view_directory(view, path, 0755, err);

	return target < 0 ? target : ac_mount_attach(tree, target, path, err);
}

static int copy_symlink(const struct ac_view *view, const char *path, struct ac_err *err)
{
	char target[AC_PATH_MAX];
	ssize_t length = readlink(path, target, sizeof target - 1);

	if (length < 0)
		return ac_fail_errno(err, errno, "cannot read the link %s", path);
	target[length] = '\0';
	if (symlinkat(target, view->root_fd, path + 1) != 0)
		return ac_fail_errno(err, errno, "cannot make the link %s in the view", path);
	return 0;
}

static int copy_file(const struct ac_view *view, const char *path, struct ac_err *err)
{
	ac_autofree char *text = malloc(COPY_MAX);
	ac_autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT ? 0 : ac_fail_errno(err, errno, "cannot open %s", path);
	ssize_t length = text ? ac_read_all(fd, text, COPY_MAX) : -ENOMEM;

	if (length < 0)
		return ac_fail_errno(err, (int)-length, "cannot read %s", path);
	ac_autoclose int copy = openat(view->root_fd, path + 1,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int result = copy < 0 ? -errno : ac_write_all(copy, text, (size_t)length);

	return result ? ac_fail_errno(err, -result, "cannot copy %s into the view", path) : 0;
}

/* As the host has it: link, directory (bound), file (copied).  Nothing that others cannot read. */
static int take_over(const struct ac_view *view, const char *path, struct ac_err *err)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return errno == ENOENT ? 0 : ac_fail_errno(err, errno, "cannot look at %s", path);
	if (S_ISLNK(status.st_mode))
		return copy_symlink(view, path, err);
	if (!(status.st_mode & S_IROTH))
		return 0;
	if (S_ISDIR(status.st_mode))
		return bind_directory(view, path, err);
	return S_ISREG(status.st_mode) ? copy_file(view, path, err) : 0;
}

int ac_view_baseline(const struct ac_view *view, struct ac_err *err)
{
	static const char *const top[] = { "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32",
		"/lib64", "/libx32" };
	static const char *const etc[] = { "alternatives", "ca-certificates",
		"ca-certificates.conf", "debian_version", "gai.conf", "host.conf", "inputrc",
		"java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "ld.so.cache",
		"ld.so.conf", "ld.so.conf.d", "localtime", "magic", "magic.mime", "mime.types",
		"os-release", "pki", "profile", "profile.d", "bash.bashrc", "protocols", "python3",
		"python3.11", "python3.12", "python3.13", "services", "ssl", "terminfo", "timezone",
		"fonts", "lsb-release", "redhat-release", "crypto-policies", "perl", "npmrc", "vim",
		"manpath.config" };
	int result = 0;

	ac_autoclose int directory = ac_view_directory(view, "/etc", 0755, err);

	if (directory < 0)
		return directory;
	for (size_t i = 0; !result && i < AC_COUNT(top); i++)
		result = take_over(view, top[i], err);
	for (size_t i = 0; !result && i < AC_COUNT(etc); i++) {
		char path[64];

		snprintf(path, sizeof path, "/etc/%s", etc[i]);
		result = take_over(view, path, err);
	}
	return result;
}

static int write_accounts(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_policy *policy = &view->session->policy;
	char text[AC_PATH_MAX + 1024];

	snprintf(text, sizeof text,
		"root:x:0:0:root:/root:/usr/sbin/nologin\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
		"%s:x:%u:%u:agentcell session:%s:/bin/sh\n",
		policy->os_user, (unsigned)policy->uid, (unsigned)policy->gid, policy->home);
	int result = ac_view_write(view, "/etc/passwd", text, 0644, err);

	snprintf(text, sizeof text, "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n%s:x:%u:\n",
		policy->os_user, (unsigned)policy->gid);
	return result ? result : ac_view_write(view, "/etc/group", text, 0644, err);
}

/* There is no resolver in the cell: what may be reached stands in its hosts file, which the listener
 * keeps up to date through its own name for it. */
static int show_hosts(const struct ac_view *view, struct ac_err *err)
{
	char path[128];

	/* By its name: what was opened before stands in the namespace that has been left. */
	snprintf(path, sizeof path, AC_SESSIONS_DIRECTORY "/%s/" AC_HOSTS_NAME,
		view->session->plan.session_id);
	ac_autoclose int source = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (source < 0)
		return ac_fail_errno(err, errno, "cannot open the session's hosts file");
	ac_autoclose int tree = ac_mount_clone(source,
		AC_MOUNT_READ_ONLY | AC_MOUNT_NO_DEVICES | AC_MOUNT_NO_EXEC, -1, "/etc/hosts", err);

	if (tree < 0)
		return tree;
	ac_autoclose int target = ac_view_file(view, "/etc/hosts", 0444, err);

	return target < 0 ? target : ac_mount_attach(tree, target, "/etc/hosts", err);
}

int ac_view_synthetic(const struct ac_view *view, struct ac_err *err)
{
	char name[_POSIX_HOST_NAME_MAX + 2] = "";
	int result = write_accounts(view, err);

	gethostname(name, sizeof name - 2);
	name[strlen(name)] = '\n'; /* two bytes were left free */
	if (!result)
		result = show_hosts(view, err);
	if (!result)
		result = ac_view_gitconfig(view, err);
	if (!result)
		result = ac_view_write(view, "/etc/nsswitch.conf",
			"passwd: files\ngroup: files\nshadow: db\nhosts: files\n"
			"networks: files\nprotocols: files\nservices: files\n",
			0644, err);
	if (!result)
		result = ac_view_write(
			view, "/etc/resolv.conf", "# no resolver in this cell\n", 0644, err);
	if (!result)
		result = ac_view_write(view, "/etc/hostname", name, 0644, err);
	if (!result)
		result = ac_view_write(
			view, "/etc/machine-id", "00000000000000000000000000000001\n", 0444, err);
	return result;
}

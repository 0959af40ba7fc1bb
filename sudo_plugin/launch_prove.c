// SPDX-License-Identifier: ISC
/*
 * Proofs about the process itself.  sudo may have skipped its PAM session (facts: it does when
 * setgroups fails, and for accounts it does not know), the user chose descriptors 0-2, and the
 * inherited working directory may still lie on the host's file system.
 */
#include "launch_prove.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util.h"

#define SOCKET_FD 3

static int open_without_links(const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static int mount_of(int fd, uint64_t *id)
{
	struct statx status = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status))
		return -errno;
	*id = status.stx_mnt_id;
	return status.stx_mask & STATX_MNT_ID ? 0 : -ENOTSUP;
}

/* The view's root is a file system of its own, root's, that the session cannot write. */
static int prove_root(int cell_fd, struct ac_err *err)
{
	ac_autoclose int root = open_without_links("/", O_PATH | O_DIRECTORY);
	struct stat directory, file;
	struct statfs fs;
	uint64_t mount[2] = { 0 };

	if (root < 0 || fstat(root, &directory) || fstat(cell_fd, &file) || fstatfs(root, &fs) ||
		mount_of(root, &mount[0]) || mount_of(cell_fd, &mount[1]))
		return ac_fail_errno(err, errno, "look at the root of the view");
	if (fs.f_type != TMPFS_MAGIC || directory.st_uid || directory.st_mode & 0022)
		return ac_fail(err, EPERM, "the root directory is no session's view");
	if (mount[0] != mount[1] || !S_ISREG(file.st_mode) || file.st_uid || file.st_gid ||
		file.st_mode & 0022 || file.st_nlink != 1)
		return ac_fail(
			err, EPERM, "%s is not the one that root put into the view", AC_CELL_FILE);
	return 0;
}

int launch_prove_view(struct ac_cell *cell, struct ac_err *err)
{
	ac_autoclose int fd = open_without_links(AC_CELL_FILE, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	int code;

	if (fd < 0)
		return ac_fail_errno(err, errno, "open %s", AC_CELL_FILE);
	code = prove_root(fd, err);
	return code ? code : ac_cell_read(fd, cell, err);
}

static bool is_listed(const struct ac_cell *cell, gid_t group)
{
	for (unsigned i = 0; i < cell->group_count; i++)
		if (cell->groups[i] == group)
			return true;
	return group == cell->gid;
}

/* Exactly those that are listed; the own group may stand among them or not. */
static int prove_groups(const struct ac_cell *cell, struct ac_err *err)
{
	gid_t groups[AC_GROUPS_MAX + 1];
	int count = getgroups(AC_COUNT(groups), groups);

	if (count < 0)
		return ac_fail_errno(err, errno, "count the session's groups");
	for (int i = 0; i < count; i++)
		if (!is_listed(cell, groups[i]))
			return ac_fail(err, EPERM, "the session has group %u, which is not its own",
				groups[i]);
	for (unsigned i = 0; i < cell->group_count; i++) {
		bool found = cell->groups[i] == cell->gid;

		for (int k = 0; k < count; k++)
			found = found || groups[k] == cell->groups[i];
		if (!found)
			return ac_fail(err, EPERM, "the session lacks group %u", cell->groups[i]);
	}
	return 0;
}

/* Gives up what may be given up (inheritable, ambient); having had the rest means a wrong start. */
static int prove_no_capability(struct ac_err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return ac_fail_errno(err, errno, "look at the capabilities");
	if (data[0].permitted | data[1].permitted | data[0].effective | data[1].effective)
		return ac_fail(err, EPERM, "the session has capabilities: it must have none");
	memset(data, 0, sizeof(data));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
		syscall(SYS_capset, &header, data) || syscall(SYS_capget, &header, data))
		return ac_fail_errno(err, errno, "give up inheritable capabilities");
	if (data[0].inheritable | data[1].inheritable)
		return ac_fail(err, EPERM, "the session keeps inheritable capabilities");
	return 0;
}

int launch_prove_account(const struct ac_cell *cell, struct ac_err *err)
{
	uid_t uid[3];
	gid_t gid[3];
	int code;

	if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]))
		return ac_fail_errno(err, errno, "look at the account");
	for (unsigned i = 0; i < 3; i++)
		if (uid[i] != cell->uid || gid[i] != cell->gid)
			return ac_fail(err, EPERM,
				"this process has uid %u and gid %u where the session has %u and "
				"%u",
				uid[i], gid[i], cell->uid, cell->gid);
	code = prove_groups(cell, err);
	return code ? code : prove_no_capability(err);
}

/* Terminals, and devices that only swallow or supply bytes. */
static bool is_harmless_device(int fd, const struct stat *status)
{
	static const unsigned memory[] = { 3, 5, 7, 8, 9 }; /* null zero full random urandom */

	for (unsigned i = 0; i < AC_COUNT(memory); i++)
		if (status->st_rdev == makedev(1, memory[i]))
			return true;
	return isatty(fd);
}

static bool is_local_socket(int fd)
{
	int domain = -1;
	socklen_t size = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain == AF_UNIX;
}

/* A network socket keeps its maker's identity for the firewall; a directory leads out of the view. */
static int prove_standard(int fd, struct ac_err *err)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &status))
		return ac_fail(err, EBADF,
			"descriptor %d is closed: start the session with all of 0, 1 and 2 open",
			fd);
	if (!(flags & O_PATH)) {
		switch (status.st_mode & S_IFMT) {
		case S_IFREG:
		case S_IFIFO:
			return 0;
		case S_IFCHR:
			if (is_harmless_device(fd, &status))
				return 0;
			break;
		case S_IFSOCK:
			if (is_local_socket(fd))
				return 0;
			break;
		default:
			break;
		}
	}
	return ac_fail(err, EPERM,
		"descriptor %d is neither a file, a pipe, a terminal nor a local socket: a session "
		"may "
		"not have it (redirect it from or to a file or a pipe)",
		fd);
}

static int prove_socket(int fd, struct ac_err *err)
{
	struct ucred peer;
	int type = 0;
	socklen_t type_size = sizeof(type), peer_size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) || type != SOCK_SEQPACKET ||
		!is_local_socket(fd) ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) || peer.uid)
		return ac_fail(err, EPERM, "descriptor %d is not the listener's socket", fd);
	return 0;
}

int launch_prove_descriptors(int *socket, struct ac_err *err)
{
	int code = 0;

	for (int fd = 0; fd < 3 && !code; fd++)
		code = prove_standard(fd, err);
	if (!code)
		code = prove_socket(*socket, err);
	if (code)
		return code;
	if (*socket == SOCKET_FD ? fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC)
				 : dup3(*socket, SOCKET_FD, O_CLOEXEC) < 0)
		return ac_fail_errno(err, errno, "move the listener's socket");
	if (close_range(SOCKET_FD + 1, ~0U, 0))
		return ac_fail_errno(err, errno, "close inherited descriptors (Linux 5.9)");
	*socket = SOCKET_FD;
	return 0;
}

int launch_enter_directory(const struct ac_cell *cell, struct ac_err *err)
{
	ac_autoclose int fd = open_without_links(cell->cwd, O_PATH | O_DIRECTORY);
	ac_autofree char *found = NULL;

	if (fd < 0 || fchdir(fd))
		return ac_fail_errno(
			err, errno, "enter the working directory %s in the view", cell->cwd);
	found = getcwd(NULL, 0);
	if (!found || strcmp(found, cell->cwd) != 0)
		return ac_fail(err, ESTALE, "the working directory is %s, not %s",
			found ? found : "nowhere", cell->cwd);
	return 0;
}

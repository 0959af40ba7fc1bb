/* SPDX-License-Identifier: ISC */
/* Wrappers over the descriptor-based mount calls; glibc 2.36 has them all. */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"

static uint64_t attribute_bits(unsigned attributes)
{
	uint64_t bits = MOUNT_ATTR_NOSUID;

	if (attributes & AC_MOUNT_READ_ONLY)
		bits |= MOUNT_ATTR_RDONLY;
	if (attributes & AC_MOUNT_NO_DEVICES)
		bits |= MOUNT_ATTR_NODEV;
	if (attributes & AC_MOUNT_NO_EXEC)
		bits |= MOUNT_ATTR_NOEXEC;
	return bits;
}

int ac_mount_clone(int fd, unsigned attributes, int idmap_fd, const char *what, struct ac_err *err)
{
	unsigned recursive = attributes & AC_MOUNT_RECURSIVE ? AT_RECURSIVE : 0;
	struct mount_attr attr = {
		.attr_set = attribute_bits(attributes),
		.propagation = MS_PRIVATE,
	};
	ac_autoclose int tree = open_tree(
		fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive);

	if (tree < 0)
		return ac_fail_errno(err, errno, "cannot bind %s", what);
	if (idmap_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (unsigned)idmap_fd;
	}
	if (mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attr, sizeof attr) != 0) {
		if (idmap_fd >= 0 && (errno == EINVAL || errno == EPERM))
			return ac_fail(err, EOPNOTSUPP,
				"%s is on a file system where the kernel cannot map the session's "
				"uid to yours (mount_setattr: %s); move the project to a local "
				"file system (ext4, xfs, btrfs), or let the administrator set "
				"access = acl (see agentcell.conf(5) for what that costs)",
				what, errno == EINVAL ? "not supported" : "not permitted");
		return ac_fail_errno(err, errno, "cannot set the mount attributes of %s", what);
	}
	return ac_take_fd(&tree);
}

int ac_mount_new(
	const char *type, const char *const options[], unsigned attributes, struct ac_err *err)
{
	ac_autoclose int context = fsopen(type, FSOPEN_CLOEXEC);

	if (context < 0)
		return ac_fail_errno(err, errno, "cannot make a %s file system", type);
	for (size_t i = 0; options && options[i]; i += 2) {
		int result = fsconfig(context, FSCONFIG_SET_STRING, options[i], options[i + 1], 0);

		if (result != 0)
			return ac_fail_errno(err, errno, "cannot set %s=%s of a %s file system",
				options[i], options[i + 1], type);
	}
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return ac_fail_errno(err, errno, "cannot make a %s file system", type);
	int fd = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attribute_bits(attributes));

	return fd < 0 ? ac_fail_errno(err, errno, "cannot mount a %s file system", type) : fd;
}

int ac_mount_attach(int tree_fd, int target_fd, const char *what, struct ac_err *err)
{
	if (move_mount(tree_fd, "", target_fd, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return ac_fail_errno(err, errno, "cannot mount %s in the view", what);
	return 0;
}

int ac_mount_seal(int fd, const char *what, struct ac_err *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0)
		return ac_fail_errno(err, errno, "cannot make %s read-only", what);
	return 0;
}

bool ac_mount_is_root(int fd)
{
	struct statx status = { 0 };

	return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, 0, &status) == 0 &&
	       status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int ac_mount_pivot(int root_fd, struct ac_err *err)
{
	/* The new root on top of the old one: "." is then the old one, and can be let go. */
	if (fchdir(root_fd) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
		return ac_fail_errno(err, errno, "cannot make the view the root directory");
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return ac_fail_errno(err, errno, "cannot let the old root directory go");
	return 0;
}

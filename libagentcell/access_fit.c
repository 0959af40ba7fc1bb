/* SPDX-License-Identifier: ISC */
/* What can be told of a file system's ACLs without changing anything; that it heeds them is tried later. */
#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "access.h"
#include "util.h"

/* FUSE hands the attributes on to whatever is behind it, and lets the mode alone decide: to set them
 * would show files to groups that no one meant. */
static bool is_fuse(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 && status.f_type == FUSE_SUPER_MAGIC;
}

static bool has_acls(int fd)
{
	return getxattr(ac_fd_name(fd).text, "system.posix_acl_access", NULL, 0) >= 0 ||
	       errno == ENODATA;
}

int ac_access_is_fit(int fd, const char *path, struct ac_err *err)
{
	if (is_fuse(fd))
		return ac_fail(err, EOPNOTSUPP,
			"%s is on FUSE, which has ACLs but does not heed them; move the project to "
			"a local file system (ext4, xfs, btrfs)",
			path);
	if (!has_acls(fd))
		return ac_fail(err, EOPNOTSUPP,
			"%s is on a file system that has neither idmapped mounts nor ACLs; move "
			"the project to a local file system (ext4, xfs, btrfs)",
			path);
	return 0;
}

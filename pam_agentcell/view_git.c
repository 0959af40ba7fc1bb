/* SPDX-License-Identifier: ISC */
/*
 * .git/config and .git/hooks of a declared repository read-only, so that the user's own git never
 * runs what the agent wrote.  .git itself is bound onto itself, or it could be renamed away with the
 * covers in it (a mount point cannot: EBUSY).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount.h"
#include "util.h"
#include "view_parts.h"

static int bind_onto_itself(
	const struct ac_view *view, const char *path, bool is_read_only, struct ac_err *err)
{
	unsigned attributes = AC_MOUNT_NO_DEVICES | (is_read_only ? AC_MOUNT_READ_ONLY : 0);
	struct stat status;
	ac_autoclose int fd = ac_view_open(view, path, err);

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* not there, or a link: then it leads to what is protected elsewhere */
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot look at %s", path);
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return 0;
	ac_autoclose int tree = ac_mount_clone(fd, attributes, -1, path, err);

	return tree < 0 ? tree : ac_mount_attach(tree, fd, path, err);
}

int ac_view_protect_git(
	const struct ac_view *view, const struct ac_path_entry *entry, struct ac_err *err)
{
	static const struct {
		const char *name;
		bool is_read_only;
	} parts[] = { { "", false }, { "/config", true }, { "/config.worktree", true },
		{ "/hooks", true } };
	char path[AC_PATH_MAX + 32];
	int result = 0;

	if (entry->kind != AC_PATH_DIRECTORY)
		return 0;
	for (size_t i = 0; !result && i < AC_COUNT(parts); i++) {
		snprintf(path, sizeof path, "%s/.git%s", entry->path, parts[i].name);
		result = bind_onto_itself(view, path, parts[i].is_read_only, err);
	}
	return result;
}

/* SPDX-License-Identifier: ISC */
/*
 * What only a descriptor tells about a path that was judged fit by its name, its owner and its mode.
 */
#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "idmap.h"
#include "mount.h"
#include "plan_paths.h"
#include "util.h"

#define XFS_MAGIC 0x58465342 /* linux/magic.h has none */

/* Since Linux 5.12, which is older than all else that a session needs.  But a home of systemd-homed
 * is mapped already, so the mount call has the last word even then. */
static bool is_surely_mappable(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 &&
	       (status.f_type == EXT4_SUPER_MAGIC || status.f_type == XFS_MAGIC);
}

/* Asked now, since a refusal after the backup would cost the person the backup.  The copy of the mount
 * is attached nowhere and goes with its descriptor. */
static int probe_mapping(const struct ac_plan_look *look, int fd, const struct ac_path_entry *entry,
	struct ac_err *err)
{
	const struct ac_plan *plan = look->plan;
	uid_t session_uid = look->input->config->uid_first;

	if (is_surely_mappable(fd))
		return 0;
	ac_autoclose int idmap = ac_idmap_open(
		plan->user_uid, session_uid, plan->user_gid, (gid_t)session_uid, err);

	if (idmap < 0)
		return idmap;
	ac_autoclose int tree = ac_mount_clone(fd, AC_MOUNT_NO_DEVICES, idmap, entry->path, err);

	if (tree == -EOPNOTSUPP && look->input->config->access_acl)
		return ac_plan_acl(look, fd, entry, err);
	return tree < 0 ? tree : 0;
}

/* The primary group is mapped to the session's own; another one must be among its groups. */
static int share_group(
	const struct ac_plan_look *look, const struct stat *status, struct ac_err *err)
{
	struct ac_policy *policy = look->policy;

	if (status->st_gid == look->who.gid || status->st_gid < AC_SHARED_GROUP_FIRST ||
		!ac_resolve_is_shared(&look->who, status))
		return 0;
	for (unsigned i = 0; i < policy->group_count; i++)
		if (policy->groups[i] == status->st_gid)
			return 0;
	if (policy->group_count == AC_GROUPS_MAX)
		return ac_fail(
			err, E2BIG, "declared paths with more than %d groups", AC_GROUPS_MAX);
	policy->groups[policy->group_count++] = status->st_gid;
	return 0;
}

int ac_plan_fit(const struct ac_plan_look *look, int fd, enum ac_resolve_use use,
	const struct ac_path_entry *entry, struct ac_err *err)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot read the status of %s", entry->path);
	switch (use) {
	case AC_RESOLVE_WRITE:
		if (probe_mapping(look, fd, entry, err) != 0)
			return -err->code;
		return share_group(look, &status, err);
	case AC_RESOLVE_EXCLUDE:
		if (S_ISREG(status.st_mode) && status.st_nlink > 1)
			return ac_fail(err, EPERM,
				"%s has %u names (hard links): hiding one would not hide the "
				"others; exclude the directories that hold them",
				entry->path, (unsigned)status.st_nlink);
		return 0;
	case AC_RESOLVE_READ:
	case AC_RESOLVE_TOOL:
		break;
	}
	return 0;
}

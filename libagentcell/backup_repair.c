/* SPDX-License-Identifier: ISC */
/*
 * Metadata: onto what was just written, onto what only lost its mode or times, onto directories when
 * nothing in them moves any more.  What only root can give is noted, not an error.
 */
#include "backup_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "escape.h"
#include "util.h"

#define XATTR_LIST_SOME 256u
#define XATTR_LIST_MAX (64u << 10)

void ac_restore_note(struct ac_restore *restore, const char *name)
{
	struct ac_restore_outcome *outcome = restore->outcome;
	char text[256];

	ac_escape(text, sizeof text, name, strlen(name));
	pthread_mutex_lock(&restore->lock);
	size_t used = strlen(outcome->not_restored_names);

	outcome->not_restored++;
	if (used + strlen(text) + 3 < sizeof outcome->not_restored_names)
		snprintf(outcome->not_restored_names + used,
			sizeof outcome->not_restored_names - used, "%s%s", used ? ", " : "", text);
	pthread_mutex_unlock(&restore->lock);
}

static int remove_listed(struct ac_restore *restore, const char *path, const struct ac_entry *want,
	const char *name, const char *list, size_t length, struct ac_err *err)
{
	for (const char *xattr = list; xattr < list + length; xattr += strlen(xattr) + 1) {
		if (ac_entry_xattr(want, xattr) || !removexattr(path, xattr))
			continue;
		if (strncmp(xattr, "user.", 5) != 0 && strncmp(xattr, "system.", 7) != 0)
			ac_restore_note(restore, name);
		else if (errno != ENODATA)
			return ac_fail_errno(err, errno, "remove attribute %s", xattr);
	}
	return 0;
}

/* An O_PATH descriptor has no attributes, its magic link does. */
static ssize_t list_into(int fd, const char *path, char *list, size_t room)
{
	ssize_t length = flistxattr(fd, list, room);

	return length < 0 && errno == EBADF ? listxattr(path, list, room) : length;
}

static int remove_surplus(struct ac_restore *restore, int fd, const char *path,
	const struct ac_entry *want, const char *name, struct ac_err *err)
{
	char few[XATTR_LIST_SOME];
	ac_autofree char *many = NULL;
	char *list = few;
	ssize_t length = list_into(fd, path, few, sizeof few);

	if (length < 0 && errno == ERANGE) {
		list = many = malloc(XATTR_LIST_MAX);
		if (!many)
			return ac_fail_errno(err, ENOMEM, "read the attributes");
		length = list_into(fd, path, many, XATTR_LIST_MAX);
	}
	if (length < 0)
		return errno == ENOTSUP ? 0 : ac_fail_errno(err, errno, "read the attributes");
	return remove_listed(restore, path, want, name, list, (size_t)length, err);
}

/* path is /proc/self/fd/<n>: it means that file and no other. */
static int set_xattrs(struct ac_restore *restore, int fd, const char *path,
	const struct ac_entry *want, const char *name, struct ac_err *err)
{
	const struct ac_side *side = NULL;
	int result = remove_surplus(restore, fd, path, want, name, err);

	while (!result && (side = ac_entry_side(want, side))) {
		const char *xattr = ac_side_bytes(side);
		size_t skip = side->kind == AC_SIDE_XATTR ? strlen(xattr) + 1 : 0;

		if (!skip || !setxattr(path, xattr, xattr + skip, side->length - skip, 0))
			continue;
		if ((errno == EPERM || errno == ENOTSUP) && strncmp(xattr, "user.", 5) != 0)
			ac_restore_note(restore, name);
		else
			result = ac_fail_errno(err, errno, "set attribute %s", xattr);
	}
	return result;
}

static int set_owner(struct ac_restore *restore, const char *path, const struct stat *st,
	const struct ac_entry *want, const char *name)
{
	uid_t uid = st->st_uid == want->uid ? (uid_t)-1 : want->uid;

	if ((st->st_uid != want->uid || st->st_gid != want->gid) && chown(path, uid, want->gid) < 0)
		ac_restore_note(restore, name);
	return 0;
}

/* A user.* attribute is content: its owner must be allowed to write, and the mode comes later. */
static int allow_attributes(const char *path, const struct stat *st, struct ac_err *err)
{
	const mode_t wanted = S_IRUSR | S_IWUSR;

	if ((st->st_mode & wanted) == wanted || st->st_uid != geteuid() ||
		!chmod(path, (st->st_mode & 07777) | wanted))
		return 0;
	return ac_fail_errno(err, errno, "open the mode up for the attributes");
}

/* chown before xattrs (an ACL names the group) before chmod (which fits the ACL's mask) before times
 * (which everything moves). */
int ac_restore_metadata(struct ac_restore *restore, int fd, const struct ac_entry *want,
	const char *name, bool inherits_acl, struct ac_err *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = want->mtime_s, .tv_nsec = want->mtime_ns } };
	bool has_xattrs = inherits_acl || ac_entry_find(want, AC_SIDE_XATTR);
	const struct ac_fd_name path = ac_fd_name(fd);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "stat");
	set_owner(restore, path.text, &st, want, name);
	int result = has_xattrs ? allow_attributes(path.text, &st, err) : 0;

	if (!result && has_xattrs)
		result = set_xattrs(restore, fd, path.text, want, name, err);
	if (result)
		return result;
	if (((st.st_mode & 07777) != want->mode || has_xattrs || st.st_gid != want->gid) &&
		fchmod(fd, want->mode) < 0 && (errno != EBADF || chmod(path.text, want->mode) < 0))
		return ac_fail_errno(err, errno, "set the mode");
	/* A regular file is open for real; an O_PATH descriptor goes by its magic link. */
	if (futimens(fd, times) < 0 &&
		(errno != EBADF || utimensat(AT_FDCWD, path.text, times, 0) < 0))
		return ac_fail_errno(err, errno, "set the times");
	return 0;
}

static int repair_symlink(struct ac_restore *restore, const struct ac_spot *spot,
	const struct ac_task *task, struct ac_err *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = task->want->mtime_s, .tv_nsec = task->want->mtime_ns } };

	if ((task->change & AC_CHANGE_OWNER) &&
		fchownat(spot->fd, spot->name, (uid_t)-1, task->want->gid, AT_SYMLINK_NOFOLLOW) < 0)
		ac_restore_note(restore, spot->name);
	if (utimensat(spot->fd, spot->name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return ac_fail_errno(err, errno, "set the times");
	ac_flush_whole(restore);
	return 0;
}

/* An O_PATH descriptor cannot be synced. */
static void flush_repaired(struct ac_restore *restore, int path_fd, mode_t mode)
{
	ac_autoclose int fd = S_ISREG(mode) ? open(ac_fd_name(path_fd).text,
						      O_RDONLY | O_NOCTTY | O_CLOEXEC)
					    : -1;

	if (fd < 0)
		ac_flush_whole(restore);
	else
		ac_flush_file(restore, &fd);
}

static int repair_at(struct ac_restore *restore, const struct ac_spot *spot,
	const struct ac_task *task, struct ac_err *err)
{
	/* Its other names may have been repaired just now; whether it is the file is seen below. */
	int result = task->have->links > 1 ? 0 : ac_restore_check(spot, task->have, err);

	if (result)
		return result;
	if (task->want->type == AC_ENTRY_SYMLINK)
		return repair_symlink(restore, spot, task, err);
	ac_autoclose int fd = openat(spot->fd, spot->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "open");
	if (st.st_ino != task->have->inode || S_ISLNK(st.st_mode))
		return ac_fail(err, EAGAIN, "%s was replaced by somebody; run the restore again",
			spot->name);
	result = ac_restore_metadata(
		restore, fd, task->want, spot->name, (task->change & AC_CHANGE_XATTR) != 0, err);
	if (!result)
		flush_repaired(restore, fd, st.st_mode);
	return result;
}

int ac_restore_repair(struct ac_restore *restore, const struct ac_task *task, struct ac_err *err)
{
	struct ac_spot spot;
	int result = ac_tree_go(&restore->tree, task->want_directory, task->want, &spot);

	if (result)
		return ac_fail_errno(err, -result, "open the directory");
	result = repair_at(restore, &spot, task, err);
	ac_tree_leave(&restore->tree, &spot);
	return result;
}

int ac_restore_directory(struct ac_restore *restore, uint32_t directory, struct ac_err *err)
{
	const struct ac_entry *want = ac_manifest_self(&restore->target, directory);
	const struct ac_directory *row = &restore->target.directories[directory];
	int fd = ac_tree_pin(&restore->tree, directory);

	if (fd < 0)
		return ac_fail_errno(err, -fd, "open the directory");
	/* One that was made just now has no attributes but what it inherited. */
	bool may_have_xattrs = !restore->tree.is_unseen[directory] || !row->parent ||
			       restore->tree.inherits[row->parent];
	int result = ac_restore_metadata(restore, fd, want,
		ac_entry_name(ac_entry_at(&restore->target, row->entry)), may_have_xattrs, err);

	ac_tree_unpin(&restore->tree, directory);
	return result;
}

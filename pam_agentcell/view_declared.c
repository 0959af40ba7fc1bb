/* SPDX-License-Identifier: ISC */
/*
 * Declared paths through idmapped mounts at their own places, and covers over what is excluded.  Each
 * source is opened again as the user and must be the very object that was judged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "mount.h"
#include "path.h"
#include "resolve.h"
#include "session.h"
#include "util.h"
#include "view_parts.h"

struct item {
	const struct ac_path_entry *entry;
	bool is_read_only;
};

static int by_depth(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	size_t left_length = strlen(left->entry->path), right_length = strlen(right->entry->path);

	if (left_length != right_length)
		return left_length < right_length ? -1 : 1;
	return strcmp(left->entry->path, right->entry->path);
}

static int compare(int fd, const struct ac_path_entry *entry, bool is_mount, struct ac_err *err)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot look at %s in the view", entry->path);
	bool is_same = status.st_dev == entry->device && status.st_ino == entry->inode;
	bool is_alike = S_ISDIR(status.st_mode) == (entry->kind == AC_PATH_DIRECTORY);

	if (!is_same && !(is_mount && is_alike))
		return ac_fail(err, ESTALE,
			"%s was replaced by something else meanwhile; start again", entry->path);
	return 0;
}

/* Where the mount goes: inside another declared path it exists already and must be the same object,
 * elsewhere it is made in the view's own tmpfs. */
static int target_for(const struct ac_view *view, const struct ac_path_entry *entry, bool is_inside,
	bool is_mount, struct ac_err *err)
{
	if (!is_inside)
		return entry->kind == AC_PATH_DIRECTORY
			       ? ac_view_directory(view, entry->path, 0755, err)
			       : ac_view_file(view, entry->path, 0644, err);
	ac_autoclose int fd = ac_view_open(view, entry->path, err);

	if (fd == -ENOENT)
		return ac_fail(err, ENOENT,
			"%s lies in a mount that is not shown in the session; declare that mount, "
			"too",
			entry->path);
	int result = fd < 0 ? fd : compare(fd, entry, is_mount, err);

	return result ? result : ac_take_fd(&fd);
}

static int open_source(
	const struct ac_view *view, const struct ac_path_entry *entry, struct ac_err *err)
{
	const struct ac_plan *plan = &view->session->plan;
	const struct ac_identity who = { plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };

	return ac_resolve_again(&who, entry, err);
}

/* Taken back when the session is cleaned up (session_access.c), whether this was finished or not. */
static int grant(const struct ac_view *view, const struct ac_path_entry *entry, int source,
	struct ac_err *err)
{
	const struct ac_access access = ac_access_of(view->session);
	const struct ac_path_entry *first = view->session->policy.write_paths.entry;

	if (ac_session_note_access(view->session, (unsigned)(entry - first), err) != 0)
		return -err->code;
	return ac_access_grant(source, entry->path, &access, err);
}

static int clone_source(
	const struct ac_view *view, const struct item *item, int source, struct ac_err *err)
{
	unsigned attributes = AC_MOUNT_NO_DEVICES | (item->is_read_only ? AC_MOUNT_READ_ONLY : 0);
	int tree = ac_mount_clone(source, attributes, view->idmap_fd, item->entry->path, err);

	/* Only reading: a file system that cannot be mapped shows what everybody may read. */
	bool is_granted = tree == -EOPNOTSUPP && !item->is_read_only &&
			  view->session->policy.access_acl;

	if (is_granted && grant(view, item->entry, source, err) != 0)
		return -err->code;
	if (is_granted || (tree == -EOPNOTSUPP && item->is_read_only))
		tree = ac_mount_clone(source, attributes, -1, item->entry->path, err);
	return tree;
}

static int mount_item(
	const struct ac_view *view, const struct item *items, unsigned index, struct ac_err *err)
{
	const struct item *item = &items[index];
	bool is_inside = false;

	for (unsigned i = 0; i < index; i++)
		if (ac_path_covers(items[i].entry->path, item->entry->path))
			is_inside = true;
	ac_autoclose int source = open_source(view, item->entry, err);
	ac_autoclose int tree = source < 0 ? source : clone_source(view, item, source, err);

	if (tree < 0)
		return tree;
	ac_autoclose int target = target_for(
		view, item->entry, is_inside, ac_mount_is_root(source), err);

	if (target < 0)
		return target;
	return ac_mount_attach(tree, target, item->entry->path, err);
}

static unsigned collect(
	struct item *items, const struct ac_path_list *list, bool is_read_only, unsigned count)
{
	for (unsigned i = 0; i < list->count; i++)
		items[count++] = (struct item){ &list->entry[i], is_read_only };
	return count;
}

static int mount_all(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_policy *policy = &view->session->policy;
	struct item items[3 * AC_PATHS_MAX];
	unsigned count = collect(items, &policy->write_paths, false, 0);
	int result = 0;

	count = collect(items, &policy->read_paths, true, count);
	count = collect(items, &policy->tool_paths, true, count);
	qsort(items, count, sizeof items[0], by_depth);
	for (unsigned i = 0; !result && i < count; i++)
		result = mount_item(view, items, i, err);
	return result;
}

static int open_covers(struct ac_view *view, struct ac_err *err)
{
	view->hidden_directory_fd = ac_view_directory(
		view, "/.agentcell.excluded/directory", 0, err);
	if (view->hidden_directory_fd < 0)
		return view->hidden_directory_fd;
	view->hidden_file_fd = ac_view_file(view, "/.agentcell.excluded/file", 0, err);
	return view->hidden_file_fd < 0 ? view->hidden_file_fd : 0;
}

static int cover(const struct ac_view *view, const struct ac_path_entry *entry, struct ac_err *err)
{
	int source = entry->kind == AC_PATH_DIRECTORY ? view->hidden_directory_fd
						      : view->hidden_file_fd;
	ac_autoclose int target = ac_view_open(view, entry->path, err);

	if (target == -ENOENT || target == -ENOTDIR)
		return 0; /* excluded outside every declared path: not in the view at all */
	ac_autoclose int object = target < 0 ? target : open_source(view, entry, err);

	if (object < 0)
		return object;
	int result = compare(target, entry, ac_mount_is_root(object), err);

	if (result)
		return result;
	ac_autoclose int tree = ac_mount_clone(source, AC_MOUNT_READ_ONLY, -1, entry->path, err);

	return tree < 0 ? tree : ac_mount_attach(tree, target, entry->path, err);
}

int ac_view_declared(struct ac_view *view, struct ac_err *err)
{
	const struct ac_policy *policy = &view->session->policy;
	int result = mount_all(view, err);

	if (!result)
		result = open_covers(view, err);
	for (unsigned i = 0; !result && i < policy->excluded_paths.count; i++)
		result = cover(view, &policy->excluded_paths.entry[i], err);
	for (unsigned i = 0; !result && policy->protect_git && i < policy->write_paths.count; i++)
		result = ac_view_protect_git(view, &policy->write_paths.entry[i], err);
	return result;
}

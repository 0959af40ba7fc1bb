/* SPDX-License-Identifier: ISC */
/*
 * Hard links: names that were one file become one file again.  One name of each group is right or is
 * put back first; the others are linked to it under a fresh name and renamed into place.
 */
#include "backup_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

struct member {
	struct ac_file_id file;
	const struct ac_entry *entry;
	const struct ac_task *task; /* NULL: nothing differs */
	uint32_t directory;
};

struct members {
	struct member *list;
	size_t count, room;
};

static int add_member(struct members *members, const struct member *member)
{
	if (members->count == members->room) {
		size_t room = members->room ? members->room * 2 : 64;
		void *grown = reallocarray(members->list, room, sizeof members->list[0]);

		if (!grown)
			return -ENOMEM;
		members->list = grown;
		members->room = room;
	}
	members->list[members->count++] = *member;
	return 0;
}

static int list_members(const struct ac_manifest *target, struct members *members)
{
	for (uint32_t d = 0; d < target->directory_count; d++) {
		const struct ac_directory *row = &target->directories[d];
		const struct ac_entry *entry = ac_entry_at(target, row->first);

		for (uint32_t i = 0; i < row->count; i++, entry = ac_entry_next(entry)) {
			const struct member member = { .file = { .device = row->device,
							       .inode = entry->inode },
				.entry = entry,
				.directory = d };

			if (entry->type == AC_ENTRY_REGULAR && entry->links > 1 &&
				!ac_entry_is_closed(entry) && add_member(members, &member))
				return -ENOMEM;
		}
	}
	return 0;
}

static int by_entry(const void *a, const void *b)
{
	const struct member *left = a, *right = b;

	return left->entry < right->entry ? -1 : left->entry > right->entry;
}

static int by_file(const void *a, const void *b)
{
	const struct member *left = a, *right = b;

	if (left->file.device != right->file.device)
		return left->file.device < right->file.device ? -1 : 1;
	if (left->file.inode != right->file.inode)
		return left->file.inode < right->file.inode ? -1 : 1;
	return by_entry(a, b);
}

static void attach_tasks(const struct ac_restore *restore, struct members *members)
{
	qsort(members->list, members->count, sizeof members->list[0], by_entry);
	for (size_t i = 0; i < restore->task_count; i++) {
		const struct member key = { .entry = restore->tasks[i].want };
		struct member *found = bsearch(
			&key, members->list, members->count, sizeof members->list[0], by_entry);

		if (found)
			found->task = &restore->tasks[i];
	}
	qsort(members->list, members->count, sizeof members->list[0], by_file);
}

static bool needs_put(const struct member *member)
{
	return member->task && (member->task->change & AC_CHANGE_PUT);
}

static int link_beside(struct ac_restorer *restorer, const struct ac_spot *spot, int leader,
	const struct member *member, struct ac_err *err)
{
	char temporary[sizeof AC_RESTORE_PREFIX + 16];
	const struct ac_entry *have = member->task->have;
	struct stat is, wanted;

	if (fstat(leader, &wanted) < 0 || S_ISLNK(wanted.st_mode))
		return ac_fail_errno(err, EAGAIN, "look at the file to link to");
	if (!fstatat(spot->fd, spot->name, &is, AT_SYMLINK_NOFOLLOW) &&
		is.st_ino == wanted.st_ino && is.st_dev == wanted.st_dev)
		return 0; /* a rename of a file onto itself would do nothing */
	int result = ac_restore_check(
		spot, have && have->type != AC_ENTRY_DIRECTORY ? have : NULL, err);

	if (result)
		return result;
	ac_restore_name(restorer, temporary);
	if (linkat(AT_FDCWD, ac_fd_name(leader).text, spot->fd, temporary, AT_SYMLINK_FOLLOW) < 0)
		return ac_fail_errno(err, errno, "link");
	if (renameat(spot->fd, temporary, spot->fd, spot->name) < 0) {
		result = ac_fail_errno(err, errno, "rename into place");
		unlinkat(spot->fd, temporary, 0);
		return result;
	}
	ac_flush_whole(restorer->restore); /* the file's count of names is its inode's */
	restorer->restore->outcome->linked++;
	return 0;
}

static int link_member(struct ac_restorer *restorer, const struct member *leader,
	const struct member *member, struct ac_err *err)
{
	struct ac_restore *restore = restorer->restore;
	struct ac_spot from, to;
	int result = ac_tree_go(&restore->tree, leader->directory, leader->entry, &from);

	if (result)
		return ac_fail_errno(err, -result, "open the directory");
	ac_autoclose int handle = openat(from.fd, from.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	ac_tree_leave(&restore->tree, &from);
	if (handle < 0)
		return ac_fail_errno(err, errno == ENOENT ? EAGAIN : errno, "open");
	result = ac_tree_go(&restore->tree, member->directory, member->entry, &to);
	if (result)
		return ac_fail_errno(err, -result, "open the directory");
	result = link_beside(restorer, &to, handle, member, err);
	ac_tree_leave(&restore->tree, &to);
	return result;
}

static int restore_group(
	struct ac_restorer *restorer, const struct member *group, size_t count, struct ac_err *err)
{
	struct ac_restore *restore = restorer->restore;
	const struct member *leader = NULL;
	int result = 0;

	for (size_t i = 0; i < count && !leader; i++)
		if (!needs_put(&group[i]))
			leader = &group[i];
	for (size_t i = 0; i < count && !result; i++) {
		if (!needs_put(&group[i]) || !group[i].task->is_selected)
			continue;
		if (leader) {
			result = link_member(restorer, leader, &group[i], err);
			continue;
		}
		result = ac_restore_put(restorer, group[i].task, err);
		if (!result) {
			restore->outcome->written++;
			leader = &group[i];
		}
	}
	return result;
}

int ac_restore_links(struct ac_restorer *restorer, struct ac_err *err)
{
	struct ac_restore *restore = restorer->restore;
	struct members members = { NULL, 0, 0 };
	int result = list_members(&restore->target, &members);

	if (result)
		ac_fail_errno(err, ENOMEM, "restore hard links");
	if (!result && members.count) {
		attach_tasks(restore, &members);
		for (size_t i = 0, end; !result && i < members.count; i = end) {
			for (end = i + 1; end < members.count &&
					  !memcmp(&members.list[i].file, &members.list[end].file,
						  sizeof members.list[i].file);
				end++)
				;
			result = restore_group(restorer, &members.list[i], end - i, err);
			if (result == -EAGAIN) { /* somebody else's change: the others go on */
				if (!restore->conflicts++)
					restore->err = *err;
				result = 0;
			}
		}
	}
	free(members.list);
	return result;
}

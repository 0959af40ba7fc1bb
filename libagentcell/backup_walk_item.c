/* SPDX-License-Identifier: ISC */
/* One name in a directory that is being walked: what it is, and which way it is written down. */
#include "backup_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_opener.h"
#include "util.h"

#define LOOKS 8 /* how often a name may turn into something else before the walk gives up on it */
#define TARGET_MAX 4096 /* PATH_MAX: no symlink is longer */

/* Where the directory may not be searched, a handle of the name stands for it: *handle. */
static int stat_name(const struct ac_walk *walk, struct ac_item *item, int *handle)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;

	if (!statx(item->directory_fd, item->name, flags, AC_STATX_MASK, &item->st))
		return 0;
	if (errno != EACCES || !walk->request->force)
		return -errno;
	*handle = ac_opener_look(walk->request->force->opener, item->directory_fd, item->name);
	if (*handle < 0)
		return *handle == -EPIPE || *handle == -EXDEV ? -EACCES : *handle;
	return statx(*handle, "", AT_EMPTY_PATH, AC_STATX_MASK, &item->st) < 0 ? -errno : 0;
}

/* There is no listxattrat, and a handle is no open file; its own name is as good. */
static int note_attributes(
	struct ac_walker *walker, const struct ac_item *item, int handle, size_t offset)
{
	ac_autoclose int own = handle < 0 ? openat(item->directory_fd, item->name,
						    O_PATH | O_NOFOLLOW | O_CLOEXEC)
					  : -1;

	if (handle < 0 && own < 0)
		return AC_ITEM_WRITTEN; /* gone meanwhile */
	int result = ac_walk_xattrs(walker, offset, -1, ac_fd_name(handle < 0 ? own : handle).text);

	return result ? ac_walk_fail(walker->walk, -result, item->node, item->name,
				"read the attributes of")
		      : AC_ITEM_WRITTEN;
}

/* A symlink, fifo, socket or device: nothing to open.  handle: of it, or -1. */
static int note_other(struct ac_walker *walker, const struct ac_item *item, int handle,
	const struct ac_entry *previous)
{
	char target[TARGET_MAX + 1];
	size_t offset;
	int result = ac_walk_unchanged(walker, item, previous);

	atomic_fetch_add_explicit(&walker->walk->others, 1, memory_order_relaxed);
	if (result)
		return result < 0
			       ? ac_walk_fail(walker->walk, -result, item->node, item->name, "note")
			       : 0;
	if (!S_ISLNK(item->st.stx_mode)) {
		result = ac_walk_note(walker, item, 0, &offset);
		return result ? result : note_attributes(walker, item, handle, offset);
	}
	ssize_t length = handle < 0
				 ? readlinkat(item->directory_fd, item->name, target, sizeof target)
				 : readlinkat(handle, "", target, sizeof target);

	if (length <= 0)
		return errno == ENOENT ? AC_ITEM_GONE : AC_ITEM_OTHER;
	result = ac_walk_note(walker, item, 0, &offset);
	if (!result && ac_shard_side(&walker->shard, offset, AC_SIDE_TARGET, target, (size_t)length,
			       "", 1))
		result = ac_walk_fail(walker->walk, ENOMEM, item->node, item->name, "note");
	return result;
}

int ac_walk_child(struct ac_walker *walker, struct ac_item *item, const struct ac_entry *previous,
	struct ac_node **children)
{
	struct ac_walk *walk = walker->walk;
	struct ac_node *child = ac_node_new(
		&walk->cache, item->node, item->name, strlen(item->name));
	size_t offset;

	if (!child)
		return ac_walk_fail(walk, ENOMEM, item->node, item->name, "note");
	child->number = atomic_fetch_add(&walk->directory_count, 1);
	if (previous && previous->type == AC_ENTRY_DIRECTORY)
		child->previous = previous->first;
	child->is_excluded = item->node->is_excluded ||
			     (walk->request->exclude &&
				     ac_walk_is_excluded(walk, item->node, item->name));
	memset(&item->st, 0, sizeof item->st); /* its own "." entry says it all */
	item->st.stx_mode = S_IFDIR;
	int result = ac_walk_note(walker, item, 0, &offset);

	((struct ac_entry *)(void *)(walker->shard.entries + offset))->first = child->number;
	child->next = *children;
	*children = child;
	return result;
}

static int look_once(struct ac_walker *walker, struct ac_item *item, unsigned char type,
	const struct ac_entry *previous, struct ac_node **children)
{
	struct ac_walk *walk = walker->walk;
	size_t offset;

	if (type == DT_DIR)
		return ac_walk_child(walker, item, previous, children);
	if (type == DT_REG && !previous && item->node->root->has_ctime &&
		!item->node->is_excluded && !walk->request->exclude) {
		int result = ac_walk_small_file(walker, item);

		if (result != AC_ITEM_OTHER)
			return result;
	}
	ac_autoclose int handle = -1;
	int result = stat_name(walk, item, &handle);

	if (result == -ENOENT)
		return AC_ITEM_GONE;
	if (result == -EACCES) { /* a directory that may be listed and not searched */
		memset(&item->st, 0, sizeof item->st);
		item->st.stx_mode = S_IFREG;
		ac_walk_unreadable(walk, item->node, item->name);
		return ac_walk_note(walker, item, AC_ENTRY_UNREADABLE, &offset);
	}
	if (result)
		return ac_walk_fail(walk, -result, item->node, item->name, "stat");
	if (S_ISDIR(item->st.stx_mode))
		return ac_walk_child(walker, item, previous, children);
	/* Another mount is not in the session's view, so nothing of it can be lost. */
	if (item->st.stx_mnt_id != item->node->root->mount_id)
		return ac_walk_note(walker, item, AC_ENTRY_MOUNT, &offset);
	if (item->node->is_excluded ||
		(walk->request->exclude && ac_walk_is_excluded(walk, item->node, item->name)))
		return ac_walk_note(walker, item, AC_ENTRY_EXCLUDED, &offset);
	if (!S_ISREG(item->st.stx_mode))
		return note_other(walker, item, handle, previous);
	atomic_fetch_add_explicit(&walk->bytes, item->st.stx_size, memory_order_relaxed);
	atomic_fetch_add_explicit(&walk->files, 1, memory_order_relaxed);
	result = ac_walk_unchanged(walker, item, previous);
	if (result < 0)
		return ac_walk_fail(walk, -result, item->node, item->name, "note");
	return result ? AC_ITEM_WRITTEN : ac_walk_file(walker, item);
}

int ac_walk_item(struct ac_walker *walker, struct ac_item *item, unsigned char type,
	struct ac_previous *previous, struct ac_node **children)
{
	const struct ac_entry *before = ac_previous_find(previous, item->label, item->label_length);

	for (unsigned i = 0; i < LOOKS; i++) {
		int result = look_once(walker, item, type, before, children);

		if (result != AC_ITEM_OTHER)
			return result;
		type = DT_UNKNOWN; /* look what it is now */
	}
	return ac_walk_fail(walker->walk, EBUSY, item->node, item->name,
		"it keeps turning into something else:");
}

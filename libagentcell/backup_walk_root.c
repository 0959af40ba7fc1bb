/* SPDX-License-Identifier: ISC */
/*
 * Where a walk begins: each declared path, opened without symlinks and compared with what was judged,
 * and how far its file system's times can be believed.
 */
#include "backup_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* Stores through a mapping move ctime only on file systems that write dirty pages back. */
static bool is_trusted_file_system(int fd)
{
	static const unsigned long trusted[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (unsigned i = 0; i < AC_COUNT(trusted); i++)
		if ((unsigned long)fs.f_type == trusted[i])
			return true;
	return false;
}

static int open_path(const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static int check_root(
	struct ac_walk *walk, struct ac_walk_root *root, int fd, const struct statx *st)
{
	if ((root->inode || root->device) &&
		(st->stx_ino != root->inode ||
			makedev(st->stx_dev_major, st->stx_dev_minor) != root->device))
		return ac_fail(&walk->err, ESTALE,
			"%s is not what it was when it was declared: something has replaced it; "
			"start again",
			root->path);
	root->mount_id = st->stx_mnt_id;
	root->trusted_s = INT64_MIN;
	root->has_ctime = is_trusted_file_system(fd);
	if (root->previous && root->has_ctime) {
		root->trusted_s = root->previous->header.started_s -
				  root->previous->header.window_s;
		root->trusted_ns = root->previous->header.started_ns;
	}
	return 0;
}

static int add_directory_root(struct ac_walk *walk, struct ac_walk_root *root,
	struct ac_walker *walker, struct ac_item *item, struct ac_node **children)
{
	const struct ac_place_to_open place = { .parent_fd = item->directory_fd,
		.name = item->name,
		.node = item->node,
		.force = walk->cache.force };
	int forced_mode, fd = ac_open_directory(&place, &item->st, &forced_mode);

	if (fd < 0)
		return ac_fail_errno(&walk->err, -fd, "open %s", root->path);
	int result = check_root(walk, root, fd, &item->st);
	struct ac_node *node = NULL;

	if (!result)
		node = ac_node_new(&walk->cache, NULL, "", 0);
	if (!node) {
		ac_close_opened(fd, forced_mode);
		return result ? result : ac_fail_errno(&walk->err, ENOMEM, "walk %s", root->path);
	}
	size_t offset;

	node->root = root;
	node->number = atomic_fetch_add(&walk->directory_count, 1);
	node->inode = item->st.stx_ino;
	node->device = ac_statx_device(&item->st);
	if (root->previous_entry && root->previous_entry->type == AC_ENTRY_DIRECTORY)
		node->previous = root->previous_entry->first;
	ac_node_adopt(&walk->cache, node, fd, forced_mode); /* this pin is never given back */
	node->next = *children;
	*children = node;
	memset(&item->st, 0, sizeof item->st);
	item->st.stx_mode = S_IFDIR;
	item->node = node;
	result = ac_walk_note(walker, item, 0, &offset);
	((struct ac_entry *)(void *)(walker->shard.entries + offset))->first = node->number;
	return result;
}

static int add_file_root(struct ac_walk *walk, struct ac_walk_root *root, struct ac_walker *walker,
	struct ac_item *item)
{
	int result = check_root(walk, root, item->directory_fd, &item->st);

	if (result)
		return result;
	atomic_fetch_add(&walk->files, 1);
	atomic_fetch_add(&walk->bytes, item->st.stx_size);
	result = ac_walk_unchanged(walker, item, root->previous_entry);
	if (!result)
		result = ac_walk_file(walker, item);
	else if (result > 0)
		result = AC_ITEM_WRITTEN;
	if (result > 0)
		return ac_fail(
			&walk->err, ESTALE, "%s changed its kind while it was read", root->path);
	return result;
}

/* Opens the directory that the root is in, or the root itself, and looks at it.  Returns the fd. */
static int find_root(struct ac_walk *walk, const struct ac_walk_root *root, struct ac_item *item)
{
	char parent[AC_PATH_MAX];
	const char *slash = strrchr(root->path, '/');
	ac_autoclose int fd = -1;

	item->name = ".";
	if (root->given_fd >= 0) {
		fd = fcntl(root->given_fd, F_DUPFD_CLOEXEC, 0);
	} else if (!slash || strlen(root->path) >= sizeof parent || !slash[1]) {
		return ac_fail(&walk->err, EINVAL, "%s cannot be backed up", root->path);
	} else {
		memcpy(parent, root->path, (size_t)(slash - root->path));
		parent[slash - root->path] = '\0';
		fd = open_path(parent[0] ? parent : "/", O_PATH | O_DIRECTORY);
		item->name = slash + 1;
	}
	if (fd < 0)
		return ac_fail_errno(&walk->err, errno, "open the directory of %s", root->path);
	if (statx(fd, item->name, AT_SYMLINK_NOFOLLOW, AC_STATX_MASK, &item->st) < 0)
		return ac_fail_errno(&walk->err, errno, "stat %s", root->path);
	item->directory_fd = fd;
	return ac_take_fd(&fd);
}

static int add_root(struct ac_walk *walk, struct ac_walk_root *root, struct ac_walker *walker,
	struct ac_node **children)
{
	/* Stands for the directory that the root is in, as long as nothing else does. */
	struct ac_node here = { .root = root, .fd = -1, .references = 1, .previous = AC_NONE };
	struct ac_item item = { .node = &here,
		.directory_fd = -1,
		.label = root->path,
		.label_length = strlen(root->path) };
	ac_autoclose int fd = find_root(walk, root, &item);

	if (fd < 0)
		return fd;
	if (S_ISDIR(item.st.stx_mode))
		return add_directory_root(walk, root, walker, &item, children);
	if (S_ISREG(item.st.stx_mode))
		return add_file_root(walk, root, walker, &item);
	return ac_fail(
		&walk->err, EINVAL, "%s is neither a directory nor a regular file", root->path);
}

int ac_walk_roots(struct ac_walk *walk, struct ac_walker *walker)
{
	struct ac_segment segment = { .count = walk->request->root_count };
	struct ac_node *children = NULL;
	/* The roots' own list counts as a directory, even when all of them are files. */
	int result = ac_walk_grow(walk);

	if (result)
		ac_fail_errno(&walk->err, ENOMEM, "walk");
	for (unsigned i = 0; !result && i < walk->request->root_count; i++)
		result = add_root(walk, &walk->request->roots[i], walker, &children);
	segment.length = walker->shard.length;
	ac_walk_push(walk, children);
	if (!result && ac_shard_segment(&walker->shard, &segment))
		result = ac_fail_errno(&walk->err, ENOMEM, "walk");
	return result;
}

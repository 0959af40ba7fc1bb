/* SPDX-License-Identifier: ISC */
/* A manifest's directories by descriptor: nodes made on demand along their parents. */
#include "backup_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util.h"

int ac_tree_init(struct ac_tree *tree, const struct ac_manifest *manifest, struct ac_err *err)
{
	memset(tree, 0, sizeof *tree);
	tree->manifest = manifest;
	tree->root_count = manifest->directories[0].count;
	tree->nodes = calloc(manifest->directory_count, sizeof(void *));
	tree->touched = calloc(manifest->directory_count, sizeof tree->touched[0]);
	tree->prepared = calloc(manifest->directory_count, sizeof tree->prepared[0]);
	tree->inherits = calloc(manifest->directory_count, sizeof tree->inherits[0]);
	tree->roots = calloc(tree->root_count + 1u, sizeof tree->roots[0]);
	tree->alias = calloc(manifest->directory_count, sizeof(char *));
	tree->is_unseen = calloc(manifest->directory_count, sizeof tree->is_unseen[0]);
	ac_node_cache_init(&tree->cache);
	pthread_mutex_init(&tree->lock, NULL);
	tree->cache.is_writing = true;
	if (tree->nodes && tree->touched && tree->prepared && tree->inherits && tree->roots &&
		tree->alias && tree->is_unseen)
		return 0;
	ac_tree_fini(tree);
	return ac_fail_errno(err, ENOMEM, "prepare the restore");
}

void ac_tree_fini(struct ac_tree *tree)
{
	for (uint32_t i = tree->manifest->directory_count; tree->nodes && i; i--)
		if (tree->nodes[i - 1])
			ac_node_release(&tree->cache, tree->nodes[i - 1]);
	for (uint32_t i = tree->manifest->directory_count; tree->alias && i; i--)
		free(tree->alias[i - 1]);
	free(tree->alias);
	free(tree->is_unseen);
	free(tree->nodes);
	free(tree->touched);
	free(tree->inherits);
	free(tree->prepared);
	free(tree->roots);
	ac_node_cache_fini(&tree->cache);
	pthread_mutex_destroy(&tree->lock);
	memset(tree, 0, sizeof *tree);
}

static int open_beneath(int fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int opened = (int)syscall(SYS_openat2, fd, path, &how, sizeof how);

	return opened < 0 ? -errno : opened;
}

static int open_root(struct ac_walk_root *root, struct statx *st)
{
	int fd = open_beneath(AT_FDCWD, root->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);

	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, st) < 0) {
		int result = -errno;

		close(fd);
		return result;
	}
	root->mount_id = st->stx_mnt_id;
	return fd;
}

static struct ac_node *make_root(
	struct ac_tree *tree, uint32_t directory, unsigned which, const char *path)
{
	struct ac_walk_root *root = &tree->roots[which];
	struct statx st;

	root->path = path;
	int fd = open_root(root, &st);

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	struct ac_node *node = ac_node_new(&tree->cache, NULL, "", 0);

	if (!node) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	node->root = root;
	node->number = directory;
	node->inode = st.stx_ino;
	node->device = ac_statx_device(&st);
	ac_node_adopt(&tree->cache, node, fd, -1); /* pinned for good: roots stay open */
	return node;
}

/* Which entry of directory 0 names this root. */
static unsigned root_number(const struct ac_manifest *manifest, uint32_t directory)
{
	const struct ac_entry *entry = ac_entry_at(manifest, manifest->directories[0].first);
	unsigned which = 0;

	for (; which < manifest->directories[0].count; which++, entry = ac_entry_next(entry))
		if (entry->type == AC_ENTRY_DIRECTORY && entry->first == directory)
			break;
	return which;
}

static struct ac_node *make_node(struct ac_tree *tree, uint32_t directory)
{
	const struct ac_directory *row = &tree->manifest->directories[directory];
	const struct ac_entry *entry = ac_entry_at(tree->manifest, row->entry);

	if (!row->parent)
		return make_root(tree, directory, root_number(tree->manifest, directory),
			ac_entry_name(entry));
	const char *name = tree->alias[directory] ? tree->alias[directory] : ac_entry_name(entry);
	struct ac_node *node = ac_node_new(
		&tree->cache, tree->nodes[row->parent], name, strlen(name));

	if (!node) {
		errno = ENOMEM;
		return NULL;
	}
	node->number = directory;
	if (!tree->cache.is_writing) { /* it must be what was seen */
		node->inode = ac_manifest_self(tree->manifest, directory)->inode;
		node->device = row->device;
	}
	return node;
}

/* Parents have smaller numbers, so the chain ends; it may be long, hence no recursion. */
static int ensure_node(struct ac_tree *tree, uint32_t directory)
{
	while (!tree->nodes[directory]) {
		uint32_t top = directory;

		for (;;) {
			uint32_t parent = tree->manifest->directories[top].parent;

			if (!parent || tree->nodes[parent])
				break;
			top = parent;
		}
		tree->nodes[top] = make_node(tree, top);
		if (!tree->nodes[top])
			return -errno;
	}
	return 0;
}

int ac_tree_pin(struct ac_tree *tree, uint32_t directory)
{
	pthread_mutex_lock(&tree->lock);
	int result = ensure_node(tree, directory);

	pthread_mutex_unlock(&tree->lock);
	return result ? result : ac_node_pin(&tree->cache, tree->nodes[directory]);
}

void ac_tree_unpin(struct ac_tree *tree, uint32_t directory)
{
	ac_node_unpin(&tree->cache, tree->nodes[directory]);
}

static int make_writable(struct ac_tree *tree, uint32_t directory, int fd)
{
	struct stat st;
	int result = 0;

	pthread_mutex_lock(&tree->lock);
	if (!tree->prepared[directory]) {
		if (!fstat(fd, &st) && st.st_uid == geteuid() &&
			(st.st_mode & S_IRWXU) != S_IRWXU &&
			fchmod(fd, (st.st_mode & 07777) | S_IRWXU) < 0)
			result = -errno;
		tree->inherits[directory] = fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
		tree->prepared[directory] = !result;
	}
	tree->touched[directory] = true;
	pthread_mutex_unlock(&tree->lock);
	return result;
}

int ac_tree_pin_writable(struct ac_tree *tree, uint32_t directory)
{
	int fd = ac_tree_pin(tree, directory);
	int result = fd < 0 ? fd : make_writable(tree, directory, fd);

	if (result && fd >= 0)
		ac_tree_unpin(tree, directory);
	return result ? result : fd;
}

int ac_tree_build_beside(struct ac_tree *tree, uint32_t directory, const char *name)
{
	tree->alias[directory] = strdup(name);
	return tree->alias[directory] ? 0 : -ENOMEM;
}

int ac_tree_publish(struct ac_tree *tree, uint32_t directory)
{
	const struct ac_directory *row = &tree->manifest->directories[directory];

	if (!tree->alias[directory])
		return 0;
	int fd = ac_tree_pin_writable(tree, row->parent);

	if (fd < 0)
		return fd;
	int result = renameat2(fd, tree->alias[directory], fd,
			     ac_entry_name(ac_entry_at(tree->manifest, row->entry)),
			     RENAME_NOREPLACE) < 0
			     ? -errno
			     : 0;

	ac_tree_unpin(tree, row->parent);
	return result;
}

static int go_to_root(const char *path, struct ac_spot *spot)
{
	const char *slash = strrchr(path, '/');
	char parent[AC_PATH_MAX];

	if (!slash || !slash[1] || strlen(path) >= sizeof parent)
		return -EINVAL;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	spot->fd = open_beneath(AT_FDCWD, parent[0] ? parent : "/", O_RDONLY | O_DIRECTORY, 0);
	spot->name = slash + 1;
	return spot->fd < 0 ? spot->fd : 0;
}

int ac_tree_go(struct ac_tree *tree, uint32_t directory, const struct ac_entry *entry,
	struct ac_spot *spot)
{
	spot->directory = directory;
	spot->name = ac_entry_name(entry);
	if (!directory)
		return go_to_root(ac_entry_name(entry), spot);
	spot->fd = ac_tree_pin_writable(tree, directory);
	return spot->fd < 0 ? spot->fd : 0;
}

void ac_tree_leave(struct ac_tree *tree, struct ac_spot *spot)
{
	if (spot->fd < 0)
		return;
	if (spot->directory)
		ac_tree_unpin(tree, spot->directory);
	else
		close(spot->fd);
	spot->fd = -1;
}

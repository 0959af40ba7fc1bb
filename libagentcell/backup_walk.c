/* SPDX-License-Identifier: ISC */
/*
 * The walk as a whole: roots, threads, the stack of directories to do.
 *
 * The stack is last in, first out, so that the walk goes deep before it goes wide and few
 * directories wait.  One mutex guards it; it is taken a few times for a directory, never for a file.
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

static int grow_directories(struct ac_walk *walk)
{
	uint32_t count = atomic_load(&walk->directory_count);

	if (count <= walk->directory_room)
		return 0;
	uint32_t room = count < AC_NONE / 2 ? count * 2 + 64 : AC_NONE - 1;
	void *grown = count < room
			      ? reallocarray(walk->directories, room, sizeof walk->directories[0])
			      : NULL;

	if (!grown)
		return -ENOMEM;
	walk->directories = grown;
	memset(walk->directories + walk->directory_room, 0,
		(room - walk->directory_room) * sizeof walk->directories[0]);
	walk->directory_room = room;
	return 0;
}

/* Takes over a list of nodes; the list's order is turned, so that the first found is done first. */
void ac_walk_push(struct ac_walk *walk, struct ac_node *children)
{
	unsigned count = 0;

	if (!children)
		return;
	pthread_mutex_lock(&walk->lock);
	if (grow_directories(walk)) {
		ac_fail_errno(&walk->err, ENOMEM, "remember directories");
		atomic_store(&walk->stop, true);
	}
	while (children) {
		struct ac_node *child = children;

		children = child->next;
		child->next = walk->stack;
		walk->stack = child;
		if (child->number < walk->directory_room)
			walk->directories[child->number].parent = child->parent
									  ? child->parent->number
									  : 0;
		count++;
	}
	for (unsigned i = 0; i < walk->idle && i < count; i++)
		pthread_cond_signal(&walk->wake);
	pthread_mutex_unlock(&walk->lock);
}

bool ac_walk_hand_over(struct ac_walk *walk, struct ac_node *node, const char *bytes, size_t length,
	uint32_t sequence, uint32_t position)
{
	bool taken = false;

	pthread_mutex_lock(&walk->lock);
	struct ac_walk_batch *batch = walk->idle && !walk->batches ? malloc(sizeof *batch + length)
								   : NULL;

	if (batch) {
		batch->node = node;
		batch->sequence = sequence;
		batch->position = position;
		batch->length = length;
		memcpy(batch->bytes, bytes, length);
		batch->next = walk->batches;
		walk->batches = batch;
		/* A reference and a pin that the receiver gives back; lock order: walk, cache. */
		pthread_mutex_lock(&walk->cache.lock);
		node->references++;
		node->pins++;
		pthread_mutex_unlock(&walk->cache.lock);
		pthread_cond_signal(&walk->wake);
		taken = true;
	}
	pthread_mutex_unlock(&walk->lock);
	return taken;
}

static void give_back(struct ac_walk *walk, struct ac_walk_batch *batch)
{
	ac_node_unpin(&walk->cache, batch->node);
	ac_node_release(&walk->cache, batch->node);
	free(batch);
}

/* Waits for work.  False: there will be none. */
static bool take_work(struct ac_walk *walk, struct ac_node **node, struct ac_walk_batch **batch)
{
	*node = NULL;
	*batch = NULL;
	pthread_mutex_lock(&walk->lock);
	walk->idle++;
	while (!walk->stack && !walk->batches && walk->idle < walk->workers)
		pthread_cond_wait(&walk->wake, &walk->lock);
	bool found = (walk->stack || walk->batches) && !atomic_load(&walk->stop);

	if (!found) {
		walk->workers = 0; /* the others find idle >= workers */
		pthread_cond_broadcast(&walk->wake);
	} else if (walk->batches) {
		*batch = walk->batches;
		walk->batches = (*batch)->next;
		walk->idle--;
	} else {
		*node = walk->stack;
		walk->stack = (*node)->next;
		walk->idle--;
	}
	pthread_mutex_unlock(&walk->lock);
	return found;
}

static void *work(void *context)
{
	struct ac_walker *walker = context;
	struct ac_walk *walk = walker->walk;
	struct ac_walk_batch *batch;
	struct ac_node *node;
	struct ac_err err;

	while (take_work(walk, &node, &batch)) {
		if (batch) {
			ac_walk_batch(walker, batch);
			give_back(walk, batch);
		} else {
			ac_walk_directory(walker, node);
			ac_node_release(&walk->cache, node);
		}
	}
	int result = atomic_load(&walk->stop) ? 0 : ac_lane_flush(&walker->lane, &err);

	if (!result && walker->lane.hasher.failed)
		result = ac_fail(&err, EIO, "libcrypto failed");
	if (result) {
		pthread_mutex_lock(&walk->lock);
		walk->err = err;
		pthread_mutex_unlock(&walk->lock);
		atomic_store(&walk->stop, true);
	}
	return NULL;
}

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
	struct ac_node here = { .root = root };
	const struct ac_place_to_open place = { .parent_fd = item->directory_fd,
		.name = item->name,
		.node = &here,
		.force = walk->cache.force };
	int forced_mode, fd = ac_open_directory(&place, &item->st, &forced_mode);

	if (fd < 0)
		return ac_fail_errno(&walk->err, -fd, "open %s", root->path);
	int result = check_root(walk, root, fd, &item->st);
	struct ac_node *node = NULL;

	if (!result)
		node = ac_node_new(&walk->cache, NULL, "", 0);
	if (!node) {
		ac_close_directory(fd, forced_mode);
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
	struct ac_node node = { .root = root, .fd = -1, .references = 1, .previous = AC_NONE };
	int result = check_root(walk, root, item->directory_fd, &item->st);

	if (result)
		return result;
	item->node = &node;
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

/* Where the root is, as a directory's descriptor and a name in it. */
static int find_root(struct ac_walk *walk, const struct ac_walk_root *root, struct ac_item *item)
{
	char parent[AC_PATH_MAX];
	const char *slash = strrchr(root->path, '/');

	item->name = ".";
	if (root->given_fd >= 0) {
		item->directory_fd = fcntl(root->given_fd, F_DUPFD_CLOEXEC, 0);
	} else if (!slash || strlen(root->path) >= sizeof parent || !slash[1]) {
		return ac_fail(&walk->err, EINVAL, "%s cannot be backed up", root->path);
	} else {
		memcpy(parent, root->path, (size_t)(slash - root->path));
		parent[slash - root->path] = '\0';
		item->directory_fd = open_path(parent[0] ? parent : "/", O_PATH | O_DIRECTORY);
		item->name = slash + 1;
	}
	if (item->directory_fd < 0)
		return ac_fail_errno(&walk->err, errno, "open the directory of %s", root->path);
	if (statx(item->directory_fd, item->name, AT_SYMLINK_NOFOLLOW, AC_STATX_MASK, &item->st) <
		0)
		return ac_fail_errno(&walk->err, errno, "stat %s", root->path);
	return 0;
}

static int add_root(struct ac_walk *walk, struct ac_walk_root *root, struct ac_walker *walker,
	struct ac_node **children)
{
	struct ac_item item = {
		.directory_fd = -1, .label = root->path, .label_length = strlen(root->path)
	};
	int result = find_root(walk, root, &item);
	ac_autoclose int closer = item.directory_fd;

	if (result)
		return result;
	if (S_ISDIR(item.st.stx_mode))
		return add_directory_root(walk, root, walker, &item, children);
	if (S_ISREG(item.st.stx_mode))
		return add_file_root(walk, root, walker, &item);
	return ac_fail(
		&walk->err, EINVAL, "%s is neither a directory nor a regular file", root->path);
}

static int add_roots(struct ac_walk *walk, struct ac_walker *walker)
{
	struct ac_segment segment = { .count = walk->request->root_count };
	struct ac_node *children = NULL;
	/* The roots' own list counts as a directory, even when all of them are files. */
	int result = grow_directories(walk);

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

static unsigned wanted_workers(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 2)
		return 2; /* one reads while the other computes */
	return processors > AC_WALKERS_MAX ? AC_WALKERS_MAX : (unsigned)processors;
}

/* Fewer threads than wanted (RLIMIT_NPROC, say) are fine: the first one is this thread. */
static void run_workers(struct ac_walk *walk, struct ac_walker *walkers)
{
	pthread_t threads[AC_WALKERS_MAX];
	unsigned started = 1, wanted = walk->workers;

	while (started < wanted &&
		!pthread_create(&threads[started], NULL, work, &walkers[started]))
		started++;
	if (started < wanted) {
		pthread_mutex_lock(&walk->lock);
		if (walk->workers)
			walk->workers = started;
		pthread_cond_broadcast(&walk->wake);
		pthread_mutex_unlock(&walk->lock);
	}
	work(&walkers[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
}

static void fini_walk(struct ac_walk *walk, struct ac_walker *walkers, unsigned count)
{
	while (walk->batches) {
		struct ac_walk_batch *batch = walk->batches;

		walk->batches = batch->next;
		give_back(walk, batch);
	}
	while (walk->stack) {
		struct ac_node *node = walk->stack;

		walk->stack = node->next;
		ac_node_release(&walk->cache, node);
	}
	for (unsigned i = 0; i < count; i++) {
		ac_lane_fini(&walkers[i].lane);
		ac_shard_fini(&walkers[i].shard);
		free(walkers[i].pack_map);
		free(walkers[i].names);
		free(walkers[i].values);
	}
	free(walk->directories);
	ac_node_cache_fini(&walk->cache);
	pthread_mutex_destroy(&walk->lock);
	pthread_cond_destroy(&walk->wake);
}

static int finish(struct ac_walk *walk, struct ac_walker *walkers, unsigned count,
	struct ac_manifest *manifest)
{
	struct ac_shard shards[AC_WALKERS_MAX];
	size_t roots = 0;

	manifest->directory_count = atomic_load(&walk->directory_count);
	manifest->directories = AC_TAKE(walk->directories);
	for (unsigned i = 0; i < walk->request->root_count; i++)
		roots += strlen(walk->request->roots[i].path) + 1;
	manifest->roots = malloc(roots + 1);
	if (!manifest->directories || !manifest->roots)
		return ac_fail_errno(&walk->err, ENOMEM, "walk");
	for (unsigned i = 0; i < walk->request->root_count; i++) {
		size_t length = strlen(walk->request->roots[i].path) + 1;

		memcpy(manifest->roots + manifest->roots_length, walk->request->roots[i].path,
			length);
		manifest->roots_length += length;
	}
	for (unsigned i = 0; i < count; i++)
		shards[i] = walkers[i].shard;
	return ac_manifest_assemble(manifest, shards, count, &walk->err);
}

int ac_walk(struct ac_walk_request *request, struct ac_manifest *manifest,
	struct ac_backup_totals *totals, struct ac_walk_notes *notes, struct ac_err *err)
{
	struct ac_walker walkers[AC_WALKERS_MAX];
	struct ac_walk walk = { .request = request, .notes = notes, .directory_count = 1 };
	unsigned ready = 0;
	int result = 0;

	memset(walkers, 0, sizeof walkers);
	memset(manifest, 0, sizeof *manifest);
	memset(notes, 0, sizeof *notes);
	ac_node_cache_init(&walk.cache);
	walk.cache.force = request->force;
	pthread_mutex_init(&walk.lock, NULL);
	pthread_cond_init(&walk.wake, NULL);
	walk.workers = wanted_workers();
	for (; !result && ready < walk.workers; ready += !result) {
		walkers[ready].walk = &walk;
		walkers[ready].tells_progress = !ready && request->progress;
		result = ac_lane_init(&walkers[ready].lane, request->packer, &walk.err);
	}
	if (!result)
		result = add_roots(&walk, &walkers[0]);
	if (!result) {
		run_workers(&walk, walkers);
		result = -walk.err.code;
	}
	if (!result)
		result = finish(&walk, walkers, ready, manifest);
	if (!result)
		*totals = (struct ac_backup_totals){ .files = walk.files,
			.directories = walk.folders,
			.others = walk.others,
			.bytes = walk.bytes,
			.new_bytes = request->packer->new_bytes,
			.torn = walk.torn,
			.unreadable = walk.unreadable };
	else
		ac_manifest_fini(manifest);
	if (result)
		*err = walk.err;
	fini_walk(&walk, walkers, ready);
	return result;
}

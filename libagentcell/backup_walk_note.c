/* SPDX-License-Identifier: ISC */
/* What a walk writes down about one thing: metadata, extended attributes, problems. */
#include "backup_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "backup_opener.h"
#include "escape.h"
#include "util.h"

#define XATTR_ROOM (64u << 10) /* the kernel's limit, for the list and for one value */
#define XATTR_SOME 256u

static uint8_t type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return AC_ENTRY_REGULAR;
	case S_IFDIR:
		return AC_ENTRY_DIRECTORY;
	case S_IFLNK:
		return AC_ENTRY_SYMLINK;
	case S_IFIFO:
		return AC_ENTRY_FIFO;
	case S_IFSOCK:
		return AC_ENTRY_SOCKET;
	case S_IFCHR:
		return AC_ENTRY_CHARACTER;
	default:
		return AC_ENTRY_BLOCK;
	}
}

int ac_walk_note(
	struct ac_walker *walker, const struct ac_item *item, unsigned flags, size_t *offset)
{
	const struct statx *st = &item->st;
	struct ac_entry *entry = ac_shard_entry(&walker->shard, item->label, item->label_length);

	if (!entry)
		return ac_walk_fail(walker->walk, ENOMEM, item->node, item->name, "note");
	*offset = (size_t)((unsigned char *)entry - walker->shard.entries);
	entry->type = type_of(st->stx_mode);
	entry->flags = (uint8_t)flags;
	entry->mode = st->stx_mode & 07777;
	entry->uid = st->stx_uid;
	entry->gid = st->stx_gid;
	entry->links = st->stx_nlink;
	entry->mtime_s = st->stx_mtime.tv_sec;
	entry->mtime_ns = st->stx_mtime.tv_nsec;
	entry->ctime_s = st->stx_ctime.tv_sec;
	entry->ctime_ns = st->stx_ctime.tv_nsec;
	entry->inode = st->stx_ino;
	entry->size = entry->type == AC_ENTRY_DIRECTORY ? 0 : st->stx_size;
	if (entry->type == AC_ENTRY_CHARACTER || entry->type == AC_ENTRY_BLOCK) {
		entry->first = st->stx_rdev_major;
		entry->count = st->stx_rdev_minor;
	}
	return 0;
}

/* Of an open file, or (fd < 0) by the name of a handle. */
static ssize_t list_into(int fd, const char *name, char *names, size_t room)
{
	return fd >= 0 ? flistxattr(fd, names, room) : listxattr(name, names, room);
}

static ssize_t get_into(int fd, const char *name, const char *xattr, char *value, size_t room)
{
	return fd >= 0 ? fgetxattr(fd, xattr, value, room) : getxattr(name, xattr, value, room);
}

/* The kernel takes as much memory as it is offered, so little is offered first. */
static ssize_t list_names(int fd, const char *name, char *names)
{
	ssize_t length = list_into(fd, name, names, XATTR_SOME);

	return length < 0 && errno == ERANGE ? list_into(fd, name, names, XATTR_ROOM) : length;
}

/* A file's own mode decides about its user.* attributes, even when it is open. */
static ssize_t get_value(
	const struct ac_walker *walker, int fd, const char *name, const char *xattr, char *value)
{
	const struct ac_force_log *force = walker->walk->request->force;
	ssize_t size = get_into(fd, name, xattr, value, XATTR_SOME);

	if (size < 0 && errno == ERANGE)
		size = get_into(fd, name, xattr, value, XATTR_ROOM);
	if (size >= 0 || errno != EACCES || fd < 0 || !force)
		return size;
	size = ac_opener_attribute(force->opener, fd, xattr, value, XATTR_ROOM);
	if (size < 0)
		errno = size == -EPIPE ? EACCES : (int)-size;
	return size < 0 ? -1 : size;
}

int ac_walk_xattrs(struct ac_walker *walker, size_t offset, int fd, const char *name)
{
	if (!walker->names)
		walker->names = malloc(XATTR_ROOM);
	if (!walker->values)
		walker->values = malloc(XATTR_ROOM);
	if (!walker->names || !walker->values)
		return -ENOMEM;
	ssize_t length = list_names(fd, name, walker->names);

	if (length <= 0)
		return !length || errno == ENOTSUP || errno == ENOENT || errno == EACCES ? 0
											 : -errno;
	for (const char *xattr = walker->names; xattr < walker->names + length;
		xattr += strlen(xattr) + 1) {
		ssize_t size = get_value(walker, fd, name, xattr, walker->values);

		if (size < 0 && (errno == ENODATA || errno == EACCES || errno == EPERM))
			continue; /* removed meanwhile, or not for this user */
		if (size < 0)
			return -errno;
		int result = ac_shard_side(&walker->shard, offset, AC_SIDE_XATTR, xattr,
			strlen(xattr) + 1, walker->values, (size_t)size);

		if (result)
			return result;
	}
	return 0;
}

int ac_walk_attributes(struct ac_walker *walker, const struct ac_item *item, int fd, size_t offset)
{
	int result = ac_walk_xattrs(walker, offset, fd, NULL);

	return result ? ac_walk_fail(walker->walk, -result, item->node, item->name,
				"read the attributes of")
		      : 0;
}

/* A mode that was opened up is needed for opening and for the attributes.  Given back, it has moved
 * the ctime for the last time: from here on any other change shows. */
int ac_walk_give_mode_back(
	struct ac_walker *walker, struct ac_item *item, int fd, size_t offset, int *forced_mode)
{
	int result = ac_walk_attributes(walker, item, fd, offset);

	if (result)
		return result;
	if (fchmod(fd, (mode_t)*forced_mode) < 0)
		return ac_walk_fail(
			walker->walk, errno, item->node, item->name, "give its mode back to");
	*forced_mode = -1;
	if (statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, &item->st) < 0)
		return ac_walk_fail(walker->walk, errno, item->node, item->name, "stat");
	struct ac_entry *entry = (void *)(walker->shard.entries + offset);

	entry->size = item->st.stx_size;
	entry->mtime_s = item->st.stx_mtime.tv_sec;
	entry->mtime_ns = item->st.stx_mtime.tv_nsec;
	entry->ctime_s = item->st.stx_ctime.tv_sec;
	entry->ctime_ns = item->st.stx_ctime.tv_nsec;
	return 0;
}

static void shown_path(char *text, size_t size, const struct ac_node *node, const char *name)
{
	ac_autofree char *path = ac_node_path_dup(node, name);

	if (path)
		ac_escape(text, size, path, strlen(path));
	else
		snprintf(text, size, "?");
}

int ac_walk_fail(struct ac_walk *walk, int code, const struct ac_node *node, const char *name,
	const char *what)
{
	char path[512];

	shown_path(path, sizeof path, node, name);
	pthread_mutex_lock(&walk->lock);
	if (!walk->err.code)
		ac_fail_errno(&walk->err, code, "%s %s below %s", what, path,
			node && node->root ? node->root->path : "?");
	pthread_mutex_unlock(&walk->lock);
	atomic_store(&walk->stop, true);
	return -code;
}

int ac_walk_fail_with(struct ac_walk *walk, const struct ac_err *err, const struct ac_node *node,
	const char *name)
{
	char path[512];

	shown_path(path, sizeof path, node, name);
	pthread_mutex_lock(&walk->lock);
	if (!walk->err.code)
		ac_fail(&walk->err, err->code, "back up %s below %s: %s", path, node->root->path,
			err->text);
	pthread_mutex_unlock(&walk->lock);
	atomic_store(&walk->stop, true);
	return -err->code;
}

static void add_name(
	struct ac_walk *walk, char *list, size_t size, const struct ac_node *node, const char *name)
{
	char path[256];

	shown_path(path, sizeof path, node, name);
	pthread_mutex_lock(&walk->lock);
	size_t used = strlen(list);

	if (used + strlen(path) + 6 < size)
		snprintf(list + used, size - used, "%s%s", used ? ", " : "", path);
	else if (used + 5 < size && !(used > 3 && !strcmp(list + used - 3, "...")))
		snprintf(list + used, size - used, " ...");
	pthread_mutex_unlock(&walk->lock);
}

void ac_walk_unreadable(struct ac_walk *walk, const struct ac_node *node, const char *name)
{
	atomic_fetch_add(&walk->unreadable, 1);
	add_name(walk, walk->notes->unreadable, sizeof walk->notes->unreadable, node, name);
}

void ac_walk_torn(struct ac_walk *walk, const struct ac_node *node, const char *name)
{
	atomic_fetch_add(&walk->torn, 1);
	add_name(walk, walk->notes->torn, sizeof walk->notes->torn, node, name);
}

void ac_walk_progress(struct ac_walker *walker)
{
	struct ac_walk *walk = walker->walk;
	struct timespec now;

	if (!walker->tells_progress)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;

	if (ms - walker->progress_ms < 1000)
		return;
	const struct ac_backup_totals totals = { .files = walk->files,
		.directories = walk->folders,
		.others = walk->others,
		.bytes = walk->bytes,
		.new_bytes = walk->request->packer->new_bytes };

	if (walker->progress_ms)
		walk->request->progress(walk->request->progress_context, &totals);
	walker->progress_ms = ms;
}

bool ac_walk_trusts(const struct ac_walk_root *root, const struct ac_entry *previous)
{
	return previous->ctime_s < root->trusted_s ||
	       (previous->ctime_s == root->trusted_s && previous->ctime_ns < root->trusted_ns);
}

/* A pattern without '/' is matched with the name; one that begins with '/' with the whole path;
 * any other with the path below the root. */
bool ac_walk_is_excluded(const struct ac_walk *walk, const struct ac_node *node, const char *name)
{
	const struct ac_strings *patterns = walk->request->exclude;
	ac_autofree char *path = NULL;
	ac_autofree char *whole = NULL;

	for (unsigned i = 0; patterns && i < patterns->count; i++) {
		const char *pattern = patterns->text[i];

		if (!strchr(pattern, '/')) {
			if (!fnmatch(pattern, name, 0))
				return true;
			continue;
		}
		if (!path)
			path = ac_node_path_dup(node, name);
		if (!whole && path && asprintf(&whole, "%s/%s", node->root->path, path) < 0)
			whole = NULL;
		const char *subject = pattern[0] == '/' ? whole : path;

		if (subject && !fnmatch(pattern, subject, FNM_PATHNAME))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: ISC */
/*
 * Directories of a tree under way, by descriptor, at any depth.
 *
 * A node knows its parent and its name.  Descriptors are kept for the nodes used last; a node whose
 * descriptor was closed is opened again along its parents, each by O_NOFOLLOW and compared with
 * the device and inode that it had.  So a path may be longer than PATH_MAX and a tree deeper than
 * the number of descriptors, and neither is ever walked by name from the outside.
 */
#ifndef AC_BACKUP_NODE_H
#define AC_BACKUP_NODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct ac_force_log;
struct ac_walk_root;

struct ac_node {
	struct ac_node *parent; /* holds a reference; NULL for a root */
	struct ac_node *next; /* the walk's stack */
	struct ac_node *older, *newer; /* list of open ones */
	const struct ac_walk_root *root;
	uint64_t inode, device; /* once opened */
	uint32_t number, previous; /* of this directory, and in the previous manifest or AC_NONE */
	unsigned references, pins;
	int fd, forced_mode;
	bool is_excluded;
	bool was_forced; /* its mode was opened up for good (a writing cache) */
	uint16_t name_length;
	char name[];
};

struct ac_node_cache {
	pthread_mutex_t lock;
	struct ac_node *oldest, *newest;
	unsigned open, open_max;
	/* For writing: a mode that denies the owner is opened up and not put back; whoever writes
	 * gives the directory its final mode.  Nodes may have inode 0: whatever is there then. */
	bool is_writing;
	struct ac_force_log *force; /* borrowed; NULL when writing */
};

void ac_node_cache_init(struct ac_node_cache *cache);
void ac_node_cache_fini(struct ac_node_cache *cache);

/* One reference, the caller's.  NULL: no memory. */
struct ac_node *ac_node_new(
	struct ac_node_cache *cache, struct ac_node *parent, const char *name, size_t length);
void ac_node_release(struct ac_node_cache *cache, struct ac_node *node);

/* The node's descriptor, which stays open until ac_node_unpin; -errno when it cannot be had again
 * (-ESTALE: another directory has its place now). */
int ac_node_pin(struct ac_node_cache *cache, struct ac_node *node);
void ac_node_unpin(struct ac_node_cache *cache, struct ac_node *node);

/* Gives the node its descriptor (and the mode to put back, see below), pinned once. */
void ac_node_adopt(struct ac_node_cache *cache, struct ac_node *node, int fd, int forced_mode);

/* The path below the root (of name in node, when name is not NULL), a heap block; NULL: no memory. */
char *ac_node_path_dup(const struct ac_node *node, const char *name);

/*
 * Open a directory or a regular file for reading, O_NOFOLLOW, never blocking, without moving its
 * atime where that is allowed.  *st is what was opened.  Returns the fd or -errno.
 *
 * One that belongs to the caller but denies its owner is opened by the opener, where there is one.
 * Elsewhere it is given the permission as long as it is open: looking a name up in a directory asks
 * for it each time, and so does reading an attribute.  *forced_mode is then what ac_close_opened
 * puts back, otherwise -1.  st->stx_mode is always the thing's own; of a file the rest of *st is set
 * only when it denied its owner.
 */
struct ac_place_to_open {
	int parent_fd;
	const char *name;
	const struct ac_node *node; /* of the parent */
	struct ac_force_log *force; /* where forcing is written down; NULL: nowhere */
};
int ac_open_directory(const struct ac_place_to_open *place, struct statx *st, int *forced_mode);
void ac_close_opened(int fd, int forced_mode);
int ac_open_file(const struct ac_place_to_open *place, struct statx *st, int *forced_mode);

#define AC_STATX_MASK (STATX_BASIC_STATS | STATX_MNT_ID)

static inline uint64_t ac_statx_device(const struct statx *st)
{
	return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

#endif

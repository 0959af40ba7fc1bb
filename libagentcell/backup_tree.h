/* SPDX-License-Identifier: ISC */
/*
 * The directories of a manifest in the real file system, for writing.
 *
 * Each is reached from its root's descriptor, component by component, never through a symlink, never
 * onto another mount.
 */
#ifndef AC_BACKUP_TREE_H
#define AC_BACKUP_TREE_H

#include "backup_manifest.h"
#include "backup_node.h"
#include "backup_walk.h"

struct ac_tree {
	const struct ac_manifest *manifest;
	pthread_mutex_t lock; /* nodes, touched */
	struct ac_node_cache cache;
	struct ac_node **nodes; /* by directory number, made when asked for */
	struct ac_walk_root *roots; /* one for each entry of directory 0 */
	unsigned root_count;
	bool *touched; /* directories whose own metadata must be set at the end */
	bool *prepared; /* the owner may write there, and inherits is known */
	bool *inherits; /* new files get an ACL from it */
	/* A directory that is missing is built beside its place under another name, and so is all
	 * below it; nobody looks for anything there before ac_tree_publish. */
	char **alias; /* the other name of the topmost one, owned */
	bool *is_unseen; /* it or one above it has an alias */
};

int ac_tree_init(struct ac_tree *tree, const struct ac_manifest *manifest, struct ac_err *err);
void ac_tree_fini(struct ac_tree *tree);

/* Declares that a directory will be found under that name.  Before it is asked for. */
int ac_tree_build_beside(struct ac_tree *tree, uint32_t directory, const char *name);
/* Gives it its own name, if it has another.  Nothing below it may be asked for any more. */
int ac_tree_publish(struct ac_tree *tree, uint32_t directory);

/* The descriptor of a directory (not 0), open until ac_tree_unpin; -errno. */
int ac_tree_pin(struct ac_tree *tree, uint32_t directory);
void ac_tree_unpin(struct ac_tree *tree, uint32_t directory);

/* As pin, and the owner may write there; marks it touched. */
int ac_tree_pin_writable(struct ac_tree *tree, uint32_t directory);

/* Where an entry lies: the directory's descriptor and the name in it.  For a root that is a file this
 * is its parent, opened by path without symlinks.  Give back with ac_tree_leave. */
struct ac_spot {
	int fd;
	const char *name;
	uint32_t directory; /* 0: fd is the spot's own */
};
int ac_tree_go(struct ac_tree *tree, uint32_t directory, const struct ac_entry *entry,
	struct ac_spot *spot);
void ac_tree_leave(struct ac_tree *tree, struct ac_spot *spot);

#endif

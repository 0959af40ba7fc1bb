/* SPDX-License-Identifier: ISC */
/*
 * Walking trees and writing down what is there, with several threads.
 *
 * A walk yields a manifest in memory; where it stores content depends on its packer.  What is
 * unchanged since a previous manifest (same name, inode, ctime, size and mode, and not in the
 * window in which a store through a mapping would not show) is taken from there unread.
 */
#ifndef AC_BACKUP_WALK_H
#define AC_BACKUP_WALK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "backup.h"
#include "backup_force.h"
#include "backup_manifest.h"
#include "backup_node.h"
#include "backup_packer.h"

#define AC_WALKERS_MAX 8

struct ac_walk_root {
	const char *path; /* borrowed */
	uint64_t device, inode; /* what it must be, 0: anything */
	const struct ac_manifest *previous; /* borrowed; NULL: everything is read */
	const struct ac_entry *previous_entry; /* of the root, in directory 0 */
	int given_fd; /* to walk from, or -1: path is opened (borrowed, like it) */
	/* Filled by the walk. */
	bool has_ctime; /* a file system whose ctime moves with every change, by this clock */
	uint32_t trusted_ns;
	int64_t trusted_s; /* a previous entry with an older ctime than this is believed */
	uint64_t mount_id;
};

struct ac_walk_request {
	struct ac_walk_root *roots;
	unsigned root_count;
	const struct ac_strings *exclude; /* may be NULL */
	struct ac_shelf *shelf; /* where previous content is looked for; may be NULL when dry */
	struct ac_packer *packer;
	struct ac_force_log *force; /* where modes are noted that are opened up */
	bool is_tolerant; /* a directory that vanishes is left out instead of failing the walk */
	void (*progress)(void *context, const struct ac_backup_totals *totals);
	void *progress_context;
};

/* Problems that do not end the walk, for the person. */
struct ac_walk_notes {
	char unreadable[512], torn[512]; /* the first few names, escaped, ", " between */
};

/* Fills *manifest (entries, references, directories; places are in the shelf's numbers) and
 * *totals.  The roots must be absolute canonical paths. */
int ac_walk(struct ac_walk_request *request, struct ac_manifest *manifest,
	struct ac_backup_totals *totals, struct ac_walk_notes *notes, struct ac_err *err);

/* --- Between the files of the walk --- */

struct ac_previous { /* one directory of the previous manifest */
	const struct ac_manifest *manifest; /* NULL: there is none */
	const struct ac_entry *first, *next; /* next: where the name is expected */
	uint32_t count, position;
	const struct ac_entry **slots; /* made when names come in another order */
	uint32_t slot_mask;
};

void ac_previous_init(struct ac_previous *previous, const struct ac_manifest *manifest,
	uint32_t directory, uint32_t position);
void ac_previous_fini(struct ac_previous *previous);
const struct ac_entry *ac_previous_find(
	struct ac_previous *previous, const char *name, size_t length);

struct ac_walk_batch { /* directory entries that another thread reads on */
	struct ac_walk_batch *next;
	struct ac_node *node; /* a reference and a pin */
	uint32_t sequence, position;
	size_t length;
	char bytes[];
};

struct ac_walk {
	struct ac_walk_request *request;
	struct ac_node_cache cache;
	pthread_mutex_t lock; /* the following */
	pthread_cond_t wake;
	struct ac_node *stack;
	struct ac_walk_batch *batches;
	unsigned workers, idle;
	struct ac_directory *directories;
	uint32_t directory_room;
	struct ac_walk_notes *notes;
	struct ac_err err;
	_Atomic bool stop;
	_Atomic uint32_t directory_count;
	_Atomic uint64_t files, folders, others, bytes, torn, unreadable;
};

struct ac_walker { /* one thread */
	struct ac_walk *walk;
	struct ac_shard shard;
	struct ac_lane lane;
	uint32_t *pack_map; /* previous manifest's pack numbers to the shelf's */
	const struct ac_manifest *pack_map_of;
	char *names, *values; /* xattr buffers */
	int64_t progress_ms; /* the first walker's: when progress was told last */
	bool tells_progress;
};

/* One name in a directory: what is being looked at. */
struct ac_item {
	struct ac_node *node;
	int directory_fd;
	const char *name; /* in the directory */
	const char *label; /* in the manifest: the name, or a root's path */
	size_t label_length;
	struct statx st;
};

/* 0 written, 1 not there any more, 2 it has become something else (look again), < 0 failed. */
enum { AC_ITEM_WRITTEN, AC_ITEM_GONE, AC_ITEM_OTHER };
int ac_walk_file(struct ac_walker *walker, struct ac_item *item);
/* The short way for a small file that is known to be new; OTHER: take the long one. */
int ac_walk_small_file(struct ac_walker *walker, struct ac_item *item);
int ac_walk_unchanged(struct ac_walker *walker, const struct ac_item *item,
	const struct ac_entry *previous); /* 1 taken over, 0 not, < 0 failed */

/* Adds an entry with everything that statx says; *offset is where it is in the shard. */
int ac_walk_note(
	struct ac_walker *walker, const struct ac_item *item, unsigned flags, size_t *offset);
int ac_walk_xattrs(struct ac_walker *walker, size_t offset, int fd, const char *name);
int ac_walk_attributes(/* of an open file; failing fails the walk */
	struct ac_walker *walker, const struct ac_item *item, int fd, size_t offset);
int ac_walk_give_mode_back(
	struct ac_walker *walker, struct ac_item *item, int fd, size_t offset, int *forced_mode);
int ac_walk_fail(struct ac_walk *walk, int code, const struct ac_node *node, const char *name,
	const char *what);
int ac_walk_fail_with(struct ac_walk *walk, const struct ac_err *err, const struct ac_node *node,
	const char *name);
void ac_walk_unreadable(struct ac_walk *walk, const struct ac_node *node, const char *name);
void ac_walk_torn(struct ac_walk *walk, const struct ac_node *node, const char *name);
void ac_walk_progress(struct ac_walker *walker);
bool ac_walk_is_excluded(const struct ac_walk *walk, const struct ac_node *node, const char *name);
bool ac_walk_trusts(const struct ac_walk_root *root, const struct ac_entry *previous);
int ac_walk_roots(struct ac_walk *walk, struct ac_walker *walker); /* notes and pushes them */
unsigned ac_walk_workers(void); /* how many threads are wanted */
void ac_walk_work(struct ac_walk *walk, struct ac_walker *walkers); /* until all is done */
int ac_walk_grow(struct ac_walk *walk);
void ac_walk_give_back(struct ac_walk *walk, struct ac_walk_batch *batch);
int ac_walk_directory(struct ac_walker *walker, struct ac_node *node);
int ac_walk_batch(struct ac_walker *walker, struct ac_walk_batch *batch);
int ac_walk_item(struct ac_walker *walker, struct ac_item *item, unsigned char type,
	struct ac_previous *previous, struct ac_node **children);
int ac_walk_child(struct ac_walker *walker, struct ac_item *item, const struct ac_entry *previous,
	struct ac_node **children);
void ac_walk_push(struct ac_walk *walk, struct ac_node *children);
bool ac_walk_hand_over(struct ac_walk *walk, struct ac_node *node, const char *bytes, size_t length,
	uint32_t sequence, uint32_t position);

#endif

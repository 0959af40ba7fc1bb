/* SPDX-License-Identifier: ISC */
/*
 * Copies small trees between a session's home and what belongs to the user.
 *
 * Neither side trusts the other's names: everything goes by descriptor, no symlink is followed and no
 * mount is crossed on either side, and each side is touched with the rights given for it.
 */
#ifndef AC_TREE_H
#define AC_TREE_H

#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "resolve.h"

struct ac_tree_side {
	int fd; /* a directory; O_PATH will do */
	const struct ac_identity *who; /* whose rights; NULL: the caller's own */
	uid_t uid; /* who gets what is made here; (uid_t)-1: whoever makes it */
	gid_t gid;
};

struct ac_tree_limits { /* what may still be copied; counted down */
	uint64_t bytes;
	unsigned entries, depth;
};

/*
 * Copies what the relative canonical path leads to, below from, to the same path below to.  Directories
 * are made 0700 or entered, files are replaced whole (0600, modification time kept); nothing is
 * removed, and what is neither file nor directory is left out.  -ENOENT when from has nothing there.
 */
int ac_tree_copy(const struct ac_tree_side *from, const struct ac_tree_side *to, const char *path,
	struct ac_tree_limits *left, struct ac_err *err);

/* Opens below a side with its rights: openat2, no symlinks.  -errno. */
int ac_tree_open(const struct ac_tree_side *side, const char *path, int flags);

/* Makes or replaces one file, its directories included (0700): whole or not at all. */
int ac_tree_write(const struct ac_tree_side *to, const char *path, const void *bytes, size_t length,
	struct ac_err *err);

#endif

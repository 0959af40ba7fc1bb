/* SPDX-License-Identifier: ISC */
/* Shared by the access*.c files. */
#ifndef AC_ACCESS_PARTS_H
#define AC_ACCESS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ac_object { /* what an O_PATH descriptor is of */
	dev_t device;
	uint64_t inode, mount;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/* 0 or -errno. */
int ac_object_look(int fd, struct ac_object *object);

struct ac_tree_visit {
	/* 0; 1: not to be gone into; or -errno, which ends the walk. */
	int (*visit)(void *context, int fd, const struct ac_object *object);
	void *context;
	size_t names_max; /* bytes of names of directories that wait, about */
};

/*
 * Calls visit for everything below an O_PATH descriptor that is on the same mount, each directory
 * before what is in it (root itself is the caller's); some twice, where there is little room for very
 * many.  -ESTALE: directories were moved meanwhile.
 */
int ac_tree_visit(int root, const struct ac_tree_visit *visit);

#endif

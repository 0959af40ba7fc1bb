/* SPDX-License-Identifier: ISC */
/*
 * The mount API by descriptor (open_tree, move_mount, mount_setattr, fsopen: Linux 5.2 to 5.12), so
 * that no name is looked up twice.  Thin wrappers; each message names what was mounted where.
 */
#ifndef AC_MOUNT_H
#define AC_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum { /* attributes that a caller may ask for */
	AC_MOUNT_READ_ONLY = 1,
	AC_MOUNT_NO_DEVICES = 2,
	AC_MOUNT_NO_EXEC = 4,
	AC_MOUNT_RECURSIVE = 8 /* take the submounts along */
}; /* nosuid always */

/* A detached copy of what fd (O_PATH) leads to; idmap_fd -1: no id map. */
int ac_mount_clone(int fd, unsigned attributes, int idmap_fd, const char *what, struct ac_err *err);

/* A new file system of the type, detached; options is a list of key, value, ..., NULL. */
int ac_mount_new(
	const char *type, const char *const options[], unsigned attributes, struct ac_err *err);

/* Attaches a detached tree to what target_fd leads to. */
int ac_mount_attach(int tree_fd, int target_fd, const char *what, struct ac_err *err);

/* Makes the mount that fd is the root of read-only. */
int ac_mount_seal(int fd, const char *what, struct ac_err *err);

/* Is it the root of a mount?  Then what lies under it is another object of the same name. */
bool ac_mount_is_root(int fd);

/* Makes fd's mount the root directory and lets the old one go. */
int ac_mount_pivot(int root_fd, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Files that root opens, reads and writes: always by descriptor, never through a symlink that
 * root did not choose, never trusting what others can write.
 */
#ifndef AC_SAFEFILE_H
#define AC_SAFEFILE_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* Opens a root-owned file for reading: openat2 with RESOLVE_NO_SYMLINKS, then fstat on the fd:
 * regular, owned by uid 0, not writable by group or other, at most limit bytes.  Returns the fd. */
int ac_open_trusted(int directory_fd, const char *path, size_t limit, struct ac_err *err);

/* Opens a directory below which everything is root's; same checks on the directory itself. */
int ac_open_trusted_directory(const char *path, struct ac_err *err);

/* mkdir -p for root: each missing component is made with mode and owner root; each existing one
 * must be a directory, not a symlink, root's and not writable by others.  Returns an O_PATH fd. */
int ac_make_directory(const char *path, mode_t mode, struct ac_err *err);

/* The descriptor may be O_PATH, which cannot be synced itself. */
int ac_sync_directory(int directory_fd);

/* Creates name (O_EXCL) in the directory, writes all, fsyncs file and directory. */
int ac_write_new(int directory_fd, const char *name, const void *bytes, size_t length, mode_t mode,
	struct ac_err *err);

/* Reads a whole descriptor into buffer (size bytes); -EFBIG when there is more.  Returns length. */
ssize_t ac_read_all(int fd, void *buffer, size_t size);
int ac_write_all(int fd, const void *bytes, size_t length); /* 0 or -errno */

/* Removes everything below the directory fd, and nothing else: no symlink followed, no mount
 * crossed.  The directory itself stays. */
int ac_remove_below(int directory_fd, struct ac_err *err);

#endif

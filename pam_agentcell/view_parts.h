/* SPDX-License-Identifier: ISC */
/*
 * What a view is put together from; shared by the view_*.c files only.  root_fd is the root of the
 * view's own tmpfs, attached but not yet the root directory: everything below it is made by root, so
 * nobody races with it, except inside declared paths, where objects are compared by device and inode.
 */
#ifndef AC_VIEW_PARTS_H
#define AC_VIEW_PARTS_H

#include "aftermath.h"
#include "policy.h"

struct ac_view {
	const struct ac_session_policy *session;
	char *const *variables; /* NAME=value, ended by NULL: keys */
	struct ac_absent *absent; /* filled: what git would obey and is not there yet */
	int root_fd;
	int idmap_fd;
	int hidden_directory_fd, hidden_file_fd; /* what excluded paths are covered with */
};

/* mkdir -p below the view's root, 0755 root; returns an O_PATH fd of the last one. */
int ac_view_directory(
	const struct ac_view *view, const char *path, mode_t mode, struct ac_err *err);
/* An empty file there, with its directories. */
int ac_view_file(const struct ac_view *view, const char *path, mode_t mode, struct ac_err *err);
int ac_view_write(const struct ac_view *view, const char *path, const char *text, mode_t mode,
	struct ac_err *err);

int ac_view_baseline(const struct ac_view *view, struct ac_err *err); /* /usr /opt /etc ... */
int ac_view_synthetic(const struct ac_view *view, struct ac_err *err); /* /etc/passwd ... */
int ac_view_gitconfig(const struct ac_view *view, struct ac_err *err); /* part of the above */
int ac_view_devices(const struct ac_view *view, struct ac_err *err); /* /dev /proc /tmp home */
int ac_view_variables(const struct ac_view *view, struct ac_err *err); /* for the launcher */
int ac_view_files(const struct ac_view *view, struct ac_err *err); /* the profile's, in /etc */
int ac_view_home(const struct ac_view *view, struct ac_err *err); /* ... and in the home */
int ac_view_declared(struct ac_view *view, struct ac_err *err); /* and what covers parts of it */
int ac_view_bait(const struct ac_view *view, struct ac_err *err);
int ac_view_protect_git(
	const struct ac_view *view, const struct ac_path_entry *entry, struct ac_err *err);

/* Opens what path leads to in the view, symlinks refused; O_PATH. */
int ac_view_open(const struct ac_view *view, const char *path, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Paths that a user named, resolved and judged as that user, by descriptor only.
 *
 * The calling thread takes the user's groups, gid and uid for the look-up (and abort()s if it
 * cannot take its own back), so nothing is reached that the user could not reach.
 */
#ifndef AC_RESOLVE_H
#define AC_RESOLVE_H

#include <sys/stat.h>

#include "config.h"
#include "policy.h"

struct ac_identity {
	uid_t uid;
	gid_t gid;
	unsigned group_count;
	const gid_t *groups;
};

enum ac_resolve_use {
	AC_RESOLVE_WRITE,
	AC_RESOLVE_READ,
	AC_RESOLVE_TOOL, /* read-only, and the admin's word: no rule of names */
	AC_RESOLVE_EXCLUDE
};

#define AC_SHARED_GROUP_FIRST 1000 /* below are the system's: never given to a session */

/*
 * Resolves name (relative to cwd_fd) and judges it by the rules of architecture.md 6.  Fills *entry
 * with the canonical path, device, inode and kind, and returns an O_PATH fd of it.
 * A refusal (-EPERM, -EACCES, -ENOENT ...) names the path, the rule and the way out.
 */
int ac_resolve_declared(const struct ac_config *config, const struct ac_identity *who,
	const char *home, int cwd_fd, const char *name, enum ac_resolve_use use,
	struct ac_path_entry *entry, struct ac_err *err);

/* What name leads to when this user follows it: its canonical path, and an O_PATH fd. */
int ac_resolve_canonical(const struct ac_identity *who, int directory_fd, const char *name,
	char path[AC_PATH_MAX], struct ac_err *err);

/* May it be written through a group of hers, which is not one of the system's? */
bool ac_resolve_is_shared(const struct ac_identity *who, const struct stat *status);

/* Opens an entry again as the user and compares device, inode and kind.  O_PATH fd. */
int ac_resolve_again(
	const struct ac_identity *who, const struct ac_path_entry *entry, struct ac_err *err);

/* Pure part: is this canonical path refused by name alone?  NULL, or the rule in words. */
const char *ac_resolve_refused_name(
	const struct ac_config *config, const char *home, const char *path);

/* Runs function with the user's effective ids (and the groups); the ids are taken back after. */
int ac_identity_run(const struct ac_identity *who, int (*function)(void *context), void *context,
	struct ac_err *err);

#endif

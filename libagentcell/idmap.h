/* SPDX-License-Identifier: ISC */
/*
 * The user namespace behind an idmapped mount: on disk the user's files, in the view the session's.
 */
#ifndef AC_IDMAP_H
#define AC_IDMAP_H

#include <sys/types.h>

#include "err.h"

/*
 * Returns an O_CLOEXEC fd of a user namespace that maps every id to itself, but user_uid on disk to
 * session_uid and user_gid to session_gid.  An id without a map could be neither written nor deleted
 * through the mount (Linux, inode_permission), hence the identity for all others.
 */
int ac_idmap_open(
	uid_t user_uid, uid_t session_uid, gid_t user_gid, gid_t session_gid, struct ac_err *err);

/* Pure: the text for uid_map or gid_map; returns its length. */
int ac_idmap_format(char text[], size_t size, unsigned from, unsigned to);

#endif

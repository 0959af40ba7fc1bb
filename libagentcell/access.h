/* SPDX-License-Identifier: ISC */
/*
 * Access by POSIX ACL, for declared trees on file systems that cannot be idmapped, where the admin
 * allows it ([paths] access = acl; acl(5)).
 *
 * Granting gives the session's uid the owner's own rights to what the user owns below a directory (or
 * to one file), and a default ACL, so that both can use what is made there meanwhile.  Revoking takes
 * every such entry away and gives the user what the session's uid owns.  Modes and other entries are
 * as before, with two exceptions that give nobody more: an entry that names the owner of its own file
 * is dropped, and a mask without a named entry is folded into the group's.
 *
 * Both go by descriptor, follow no symlink, stay on one mount, and may be repeated after a crash.  No
 * more is changed than entries of session uids, and owners where that is the session's uid: who moves
 * things about meanwhile makes the walk meet others, not do others harm.
 */
#ifndef AC_ACCESS_H
#define AC_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/acl.h>
#include <sys/types.h>

#include "err.h"
#include "policy.h"

struct ac_access {
	uid_t user_uid, session_uid;
	gid_t user_gid, session_gid;
	uid_t uid_first, uid_last; /* of all sessions there ever are; used by revoke */
	unsigned group_count; /* of the session */
	const gid_t *groups;
	mode_t umask; /* what default ACLs stand in for */
	const struct ac_path_list *excluded; /* not granted, nor what is below */
};

/* As a session's policy has it; the range is set by the caller. */
struct ac_access ac_access_of(const struct ac_session_policy *session);

/* Can it be tried there at all?  -EOPNOTSUPP: FUSE, or no ACLs (access_fit.c). */
int ac_access_is_fit(int fd, const char *path, struct ac_err *err);

/*
 * fd: an O_PATH descriptor of the declared file or directory; path: its name, for messages.
 * The root comes first, and is then tried with the session's own ids before anything else is touched:
 * -EOPNOTSUPP when the file system has no ACLs, or shows them without heeding them.
 * -EBUSY: another session has the tree, or a part of it.  -ESTALE: it was changed all the time under
 * the walk.  Blocks for as long as the tree is large.
 */
int ac_access_grant(int fd, const char *path, const struct ac_access *access, struct ac_err *err);
int ac_access_revoke(int fd, const char *path, const struct ac_access *access, struct ac_err *err);

/* Is there an entry of the session's at the object itself, or is it the session's? */
bool ac_access_is_marked(int fd, uid_t session_uid);

/*
 * The two ACLs of one object (access_acl.c), pure.  Each returns 1 when the ACL was changed, 0 when it
 * was right already, or -errno.  An existing mask is never widened: it would give others more.
 */
int ac_acl_grant(acl_t *acl, uid_t session_uid);

/* acl: the directory's default ACL, empty when it has none.  One that is made here takes the place of
 * the umask.  After revoking an empty one is to be deleted. */
int ac_acl_grant_default(acl_t *acl, mode_t umask, uid_t user_uid, uid_t session_uid);

/* Whose entries, of users and of groups, are taken away. */
struct ac_acl_doomed {
	bool (*is_doomed)(const void *context, uint32_t id);
	const void *context;
	uid_t owner; /* hers, too, where there was one that is; (uid_t)-1: nobody's */
};

int ac_acl_revoke(acl_t *acl, const struct ac_acl_doomed *doomed);
int ac_acl_revoke_default(acl_t *acl, const struct ac_acl_doomed *doomed);

/* Does the entry of that user let it read and write, after the mask? */
bool ac_acl_lets_write(acl_t acl, uid_t uid);

/* Is there an entry for which it holds? */
bool ac_acl_has(acl_t acl, bool (*holds)(const void *context, uint32_t id), const void *context);

#endif

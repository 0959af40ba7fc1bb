/* SPDX-License-Identifier: ISC */
/*
 * What becomes of each object, and of the root first.  ACLs are read and written through the
 * descriptor's name in /proc: nothing else is looked up.
 */
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access_parts.h"
#include "names.h"
#include "resolve.h"
#include "util.h"

#define TRIES 3
#define NAMES_MAX ((size_t)64 << 20)

struct change {
	const struct ac_access *access;
	bool is_grant;
	bool is_made_there; /* the object belongs to the session */
};

struct ac_access ac_access_of(const struct ac_session_policy *session)
{
	const struct ac_plan *plan = &session->plan;
	const struct ac_policy *policy = &session->policy;

	return (struct ac_access){
		.user_uid = plan->user_uid,
		.session_uid = policy->uid,
		.user_gid = plan->user_gid,
		.session_gid = policy->gid,
		.uid_first = policy->uid,
		.uid_last = policy->uid,
		.group_count = policy->group_count,
		.groups = policy->groups,
		.umask = (mode_t)policy->access_umask,
		.excluded = &policy->excluded_paths,
	};
}

/* By its lease: the session may have ended badly, and then keeps it. */
static bool is_of_a_session(uint32_t id)
{
	char name[128];
	struct stat status;

	snprintf(name, sizeof name, AC_UIDS_DIRECTORY "/%u", (unsigned)id);
	return stat(name, &status) == 0;
}

static bool is_of_another(const void *context, uint32_t id)
{
	const struct change *change = context;

	return id != change->access->session_uid && is_of_a_session(id);
}

/* What the session made can name others only if it was told to: those that it never met. */
static bool is_doomed(const void *context, uint32_t id)
{
	const struct change *change = context;
	const struct ac_access *access = change->access;

	if (id == access->session_uid)
		return true;
	return id >= access->uid_first && id <= access->uid_last &&
	       (change->is_made_there || !is_of_a_session(id));
}

static int write_acl(const char *name, acl_type_t type, acl_t acl)
{
	acl_entry_t entry;
	bool is_empty = acl_get_entry(acl, ACL_FIRST_ENTRY, &entry) != 1;
	int result = is_empty ? acl_delete_def_file(name) : acl_set_file(name, type, acl);

	return result == 0 ? 0 : -errno;
}

/* A directory that hands its group on is written by all of it, where files are read by it (command.c). */
static mode_t umask_in(const struct ac_access *access, mode_t mode)
{
	return mode & S_ISGID && access->group_count && !(access->umask & 050)
		       ? access->umask & ~(mode_t)020
		       : access->umask;
}

static int add_entries(
	const struct change *change, const struct ac_object *object, acl_type_t type, acl_t *acl)
{
	const struct ac_access *access = change->access;

	if (ac_acl_has(*acl, is_of_another, change))
		return -EBUSY;
	return type == ACL_TYPE_ACCESS ? ac_acl_grant(acl, access->session_uid)
				       : ac_acl_grant_default(acl, umask_in(access, object->mode),
						 access->user_uid, access->session_uid);
}

static int drop_entries(
	const struct change *change, const struct ac_object *object, acl_type_t type, acl_t *acl)
{
	const struct ac_access *access = change->access;
	bool is_hers = object->uid == access->user_uid || object->uid == access->session_uid;
	const struct ac_acl_doomed doomed = {
		.is_doomed = is_doomed,
		.context = change,
		.owner = is_hers ? access->user_uid : (uid_t)-1,
	};

	return type == ACL_TYPE_ACCESS ? ac_acl_revoke(acl, &doomed)
				       : ac_acl_revoke_default(acl, &doomed);
}

static int change_acl(
	const struct change *change, int fd, const struct ac_object *object, acl_type_t type)
{
	const struct ac_fd_name name = ac_fd_name(fd);
	acl_t acl = acl_get_file(name.text, type);

	if (!acl)
		return errno == EOPNOTSUPP && !change->is_grant ? 0 : -errno;
	int result = change->is_grant ? add_entries(change, object, type, &acl)
				      : drop_entries(change, object, type, &acl);

	if (result == 1)
		result = write_acl(name.text, type, acl);
	acl_free(acl);
	return result;
}

static int change_acls(const struct change *change, int fd, const struct ac_object *object)
{
	int result = 0;

	if (S_ISDIR(object->mode))
		result = change_acl(change, fd, object, ACL_TYPE_DEFAULT);
	return result ? result : change_acl(change, fd, object, ACL_TYPE_ACCESS);
}

static bool is_excluded(const struct ac_access *access, const struct ac_object *object)
{
	for (unsigned i = 0; i < access->excluded->count; i++)
		if (access->excluded->entry[i].device == object->device &&
			access->excluded->entry[i].inode == object->inode)
			return true;
	return false;
}

static int grant_one(void *context, int fd, const struct ac_object *object)
{
	const struct change *change = context;

	if (is_excluded(change->access, object))
		return 1;
	if (object->uid != change->access->user_uid ||
		(!S_ISDIR(object->mode) && !S_ISREG(object->mode)))
		return 0;
	return change_acls(change, fd, object);
}

/* Whose it is comes last: an owner that is still the session's makes a repeated walk as thorough. */
static int revoke_one(void *context, int fd, const struct ac_object *object)
{
	struct change *change = context;
	const struct ac_access *access = change->access;
	bool is_group = object->gid == access->session_gid;
	int result = 0;

	change->is_made_there = object->uid == access->session_uid;
	/* Sockets and pipes inherit, too. */
	if (!S_ISLNK(object->mode))
		result = change_acls(change, fd, object);
	if (result || (!change->is_made_there && !is_group))
		return result;
	return fchownat(fd, "", change->is_made_there ? access->user_uid : (uid_t)-1,
		       is_group ? access->user_gid : (gid_t)-1, AT_EMPTY_PATH) == 0
		       ? 0
		       : -errno;
}

struct attempt {
	int fd;
	mode_t mode;
};

/* Runs as the session will. */
static int attempt(void *context)
{
	const struct attempt *attempt = context;
	int search = S_ISDIR(attempt->mode) ? X_OK : 0;

	if (faccessat(attempt->fd, "", R_OK | W_OK | search, AT_EMPTY_PATH | AT_EACCESS) != 0)
		return -errno;
	if (!S_ISDIR(attempt->mode))
		return 0;
	ac_autoclose int list = openat(attempt->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return list < 0 ? -errno : 0;
}

/* Then the file system heeds it, and it is the ACL that says no. */
static bool is_narrow(int fd, uid_t session_uid)
{
	acl_t acl = acl_get_file(ac_fd_name(fd).text, ACL_TYPE_ACCESS);
	bool is_narrow = acl && !ac_acl_lets_write(acl, session_uid);

	if (acl)
		acl_free(acl);
	return is_narrow;
}

static int try_out(int fd, const char *path, const struct ac_access *access,
	const struct ac_object *object, struct ac_err *err)
{
	const struct ac_identity session = { access->session_uid, access->session_gid,
		access->group_count, access->groups };
	struct attempt what = { fd, object->mode };
	int result = ac_identity_run(&session, attempt, &what, err);

	if (result != -EACCES && result != -EPERM)
		return result < 0 ? ac_fail_errno(err, -result,
					    "cannot try %s as the session's uid", path)
				  : 0;
	if (object->uid != access->user_uid)
		return ac_fail(err, EACCES,
			"%s belongs to uid %u: only its owner can give the session access by ACL; "
			"declare a directory of your own, or move the project to a local file "
			"system (ext4, xfs, btrfs)",
			path, (unsigned)object->uid);
	if (is_narrow(fd, access->session_uid))
		return ac_fail(err, EACCES,
			"the session may not read and write %s, because its owner may not or the "
			"mask "
			"of its ACL forbids it (see getfacl): change that, or declare it in "
			"AGENTCELL_READ_PATHS",
			path);
	return ac_fail(err, EOPNOTSUPP,
		"%s is on a file system that does not heed its ACLs: it shows the session's, and "
		"refuses access all the same; move the project to a local file system (ext4, "
		"xfs, btrfs)",
		path);
}

static int fail(int result, const char *path, bool is_grant, struct ac_err *err)
{
	switch (result) {
	case 0:
		return 0;
	case -EOPNOTSUPP:
		return ac_fail(err, EOPNOTSUPP,
			"%s is on a file system that has neither idmapped mounts nor ACLs; move "
			"the project to a local file system (ext4, xfs, btrfs)",
			path);
	case -EBUSY:
		return ac_fail(err, EBUSY,
			"another session has access to %s, or to a part of it, by ACL: only one "
			"at a time can; wait until it has ended",
			path);
	case -EPERM:
		if (is_grant)
			return ac_fail(err, EPERM,
				"the ACLs of %s, or of something below it, cannot be changed (is "
				"there an immutable file? lsattr -R shows it); exclude it",
				path);
		break;
	default:
		break;
	}
	return ac_fail_errno(err, -result, "cannot %s the session's access below %s",
		is_grant ? "grant" : "take back", path);
}

static int walk_all(int fd, const struct ac_object *root, const struct ac_tree_visit *visit)
{
	int result = -ESTALE;

	if (!S_ISDIR(root->mode))
		return 0;
	for (unsigned i = 0; result == -ESTALE && i < TRIES; i++)
		result = ac_tree_visit(fd, visit);
	return result;
}

int ac_access_grant(int fd, const char *path, const struct ac_access *access, struct ac_err *err)
{
	struct change change = { .access = access, .is_grant = true };
	const struct ac_tree_visit visit = { grant_one, &change, NAMES_MAX };
	struct ac_object root = { 0 };
	int result = ac_object_look(fd, &root);

	if (!result)
		result = grant_one(&change, fd, &root);
	if (result)
		return result == 1 ? 0 : fail(result, path, true, err);
	if (try_out(fd, path, access, &root, err) != 0) {
		struct change back = { .access = access };

		(void)revoke_one(&back, fd, &root); /* when the session is cleaned up, again */
		return -err->code;
	}
	return fail(walk_all(fd, &root, &visit), path, true, err);
}

int ac_access_revoke(int fd, const char *path, const struct ac_access *access, struct ac_err *err)
{
	struct change change = { .access = access };
	const struct ac_tree_visit visit = { revoke_one, &change, NAMES_MAX };
	struct ac_object root = { 0 };
	int result = ac_object_look(fd, &root);

	/* The root last: as long as it is marked there is something left to do. */
	if (!result)
		result = walk_all(fd, &root, &visit);
	if (!result)
		result = revoke_one(&change, fd, &root);
	return fail(result, path, false, err);
}

static bool is_the_one(const void *context, uint32_t id)
{
	return id == *(const uid_t *)context;
}

bool ac_access_is_marked(int fd, uid_t session_uid)
{
	struct ac_object object = { 0 };

	if (ac_object_look(fd, &object) != 0)
		return false;
	if (object.uid == session_uid)
		return true;
	acl_t acl = S_ISLNK(object.mode) ? NULL
					 : acl_get_file(ac_fd_name(fd).text, ACL_TYPE_ACCESS);
	bool is_marked = acl && ac_acl_has(acl, is_the_one, &session_uid);

	if (acl)
		acl_free(acl);
	return is_marked;
}

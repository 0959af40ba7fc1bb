/* SPDX-License-Identifier: ISC */
/*
 * Root makes the directory that holds the users' and one for each of them; below that, only the user's
 * rights are used.
 */
#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

#define HASH_BYTES 16 /* of the directory's SHA-256, in the name */

static void format_name(char *name, size_t size, const struct ac_plan *plan)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	int used = snprintf(name, size, "%s-", plan->harness);

	SHA256((const unsigned char *)plan->cwd, strlen(plan->cwd), hash);
	for (unsigned i = 0; i < HASH_BYTES; i++)
		snprintf(name + used + 2 * i, size - (size_t)used - 2 * i, "%02x", hash[i]);
}

static int open_of_user(const struct ac_plan *plan, bool is_made, struct ac_err *err)
{
	ac_autoclose int parent = is_made ? ac_make_directory(AC_KEPT_DIRECTORY, 0711, err)
					  : ac_open_trusted_directory(AC_KEPT_DIRECTORY, err);
	struct stat status;
	bool is_new;

	if (parent < 0)
		return parent;
	is_new = is_made && mkdirat(parent, plan->user, 0700) == 0;
	ac_autoclose int fd = openat(
		parent, plan->user, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return ac_fail_errno(
			err, errno, "cannot open " AC_KEPT_DIRECTORY "/%s", plan->user);
	if (is_new && fchownat(fd, "", plan->user_uid, plan->user_gid, AT_EMPTY_PATH) != 0)
		return ac_fail_errno(
			err, errno, "cannot give " AC_KEPT_DIRECTORY "/%s away", plan->user);
	if (fstat(fd, &status) != 0 || status.st_uid != plan->user_uid || (status.st_mode & 077))
		return ac_fail(err, EPERM,
			AC_KEPT_DIRECTORY "/%s must belong to uid %u with mode 0700", plan->user,
			(unsigned)plan->user_uid);
	return ac_take_fd(&fd);
}

struct make {
	int fd;
	const char *name;
};

static int make_directory(void *context)
{
	const struct make *make = context;

	return mkdirat(make->fd, make->name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int ac_kept_open(const struct ac_plan *plan, bool is_made, struct ac_err *err)
{
	const struct ac_identity who = { plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
	char name[AC_NAME_MAX + 2 * HASH_BYTES + 2];
	ac_autoclose int parent = open_of_user(plan, is_made, err);
	struct make make = { parent, name };
	int result = 0;

	if (parent < 0)
		return parent;
	format_name(name, sizeof(name), plan);
	if (is_made)
		result = ac_identity_run(&who, make_directory, &make, err);
	const struct ac_tree_side side = { parent, &who, (uid_t)-1, (gid_t)-1 };
	int fd = result < 0 ? result : ac_tree_open(&side, name, O_PATH | O_DIRECTORY);

	return fd < 0 ? ac_fail_errno(err, -fd, "cannot open " AC_KEPT_DIRECTORY "/%s/%s",
				plan->user, name)
		      : fd;
}

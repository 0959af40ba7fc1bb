/* SPDX-License-Identifier: ISC */
/*
 * The profile's files in /etc, and the session's home to begin with: seeds, then credentials, then what
 * earlier sessions kept.  The admin's files must be root's; the user's are read with her rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credential.h"
#include "kept.h"
#include "placement.h"
#include "resolve.h"
#include "safefile.h"
#include "tree.h"
#include "util.h"
#include "view_parts.h"

/* The admin's file with its words replaced; *text is the caller's. */
static int load(const struct ac_view *view, const char *source, char **text, size_t *length,
	struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(AT_FDCWD, source, AC_PLACED_FILE_MAX, err);

	if (fd < 0)
		return fd;
	ac_autofree char *bytes = malloc(AC_PLACED_FILE_MAX);
	ssize_t size = bytes ? ac_read_all(fd, bytes, AC_PLACED_FILE_MAX) : -ENOMEM;

	if (size < 0)
		return ac_fail_errno(err, (int)-size, "cannot read %s", source);
	FILE *stream = open_memstream(text, length);

	if (!stream)
		return ac_fail_errno(err, ENOMEM, "cannot read %s", source);
	ac_placement_expand(stream, bytes, (size_t)size, view->session, view->variables);
	if (fclose(stream) != 0 || !*text)
		return ac_fail_errno(err, ENOMEM, "cannot read %s", source);
	return 0;
}

/* The session's own and not root's, since the launcher has no rights but hers; the view's root is
 * sealed, so it stays what it is. */
int ac_view_variables(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_policy *policy = &view->session->policy;
	ac_autoclose int fd = -1;
	size_t total = 0;
	int result = 0;

	if (!view->variables || !view->variables[0])
		return 0;
	fd = openat(view->root_fd, &AC_PRIVATE_FILE[1],
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ac_fail_errno(err, errno, "cannot make %s in the view", AC_PRIVATE_FILE);
	for (size_t i = 0; !result && view->variables[i]; i++) {
		size_t length = strlen(view->variables[i]) + 1;

		total += length;
		result = total > AC_PRIVATE_MAX ? -E2BIG
						: ac_write_all(fd, view->variables[i], length);
	}
	if (!result && (fchmod(fd, 0400) != 0 || fchown(fd, policy->uid, policy->gid) != 0))
		result = -errno;
	return result ? ac_fail_errno(err, -result, "cannot write %s in the view", AC_PRIVATE_FILE)
		      : 0;
}

int ac_view_files(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_placements *placements = &view->session->policy.placements;
	int result = 0;

	for (unsigned i = 0; !result && i < placements->count; i++) {
		const struct ac_placement *placement = &placements->placement[i];
		ac_autofree char *text = NULL;
		size_t length = 0;

		if (placement->kind != AC_PLACE_FILE)
			continue;
		result = load(view, placement->source, &text, &length, err);
		if (!result && text && strlen(text) != length)
			result = ac_fail(err, EINVAL, "%s has a NUL byte", placement->source);
		if (!result)
			result = ac_view_write(view, placement->target, text, 0444, err);
	}
	return result;
}

static int place_seed(const struct ac_view *view, const struct ac_tree_side *home,
	const struct ac_placement *placement, struct ac_err *err)
{
	ac_autofree char *text = NULL;
	size_t length = 0;
	int result = load(view, placement->source, &text, &length, err);

	return result ? result : ac_tree_write(home, placement->target, text, length, err);
}

static int open_credential(void *context)
{
	int fd = open(context, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Who has no login yet has nothing to copy. */
static int place_credential(const struct ac_identity *who, const struct ac_plan *plan,
	const struct ac_tree_side *home, const char *target, struct ac_err *err)
{
	char path[2 * AC_PATH_MAX];
	struct stat status;

	snprintf(path, sizeof path, "%s/%s", plan->user_home, target);
	ac_autoclose int fd = ac_identity_run(who, open_credential, path, err);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return ac_fail_errno(err, -fd, "cannot open %s as %s", path, plan->user);
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return ac_fail(err, EINVAL, "%s is not a regular file", path);
	ac_autofree char *bytes = malloc(AC_CREDENTIAL_MAX);
	ssize_t length = bytes ? ac_read_all(fd, bytes, AC_CREDENTIAL_MAX) : -ENOMEM;

	if (length < 0)
		return ac_fail_errno(err, (int)-length, "cannot read %s", path);
	int result = ac_tree_write(home, target, bytes, (size_t)length, err);

	explicit_bzero(bytes, AC_CREDENTIAL_MAX);
	return result;
}

static int place_kept(const struct ac_tree_side *store, const struct ac_tree_side *home,
	const char *target, struct ac_err *err)
{
	struct ac_tree_limits left = AC_KEPT_LIMITS;
	int result = ac_tree_copy(store, home, target, &left, err);

	return result == -ENOENT ? 0 : result;
}

int ac_view_home(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_plan *plan = &view->session->plan;
	const struct ac_policy *policy = &view->session->policy;
	const struct ac_identity who = { plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
	struct ac_err ignored;
	ac_autoclose int home_fd = ac_view_open(view, policy->home, err);
	ac_autoclose int store_fd = ac_kept_open(plan, false, &ignored);
	const struct ac_tree_side home = { home_fd, NULL, policy->uid, policy->gid };
	const struct ac_tree_side store = { store_fd, &who, (uid_t)-1, (gid_t)-1 };
	int result = home_fd < 0 ? home_fd : 0;

	for (unsigned i = 0; !result && i < policy->placements.count; i++) {
		const struct ac_placement *placement = &policy->placements.placement[i];

		switch (placement->kind) {
		case AC_PLACE_SEED:
			result = place_seed(view, &home, placement, err);
			break;
		case AC_PLACE_CREDENTIAL:
			result = place_credential(&who, plan, &home, placement->target, err);
			break;
		case AC_PLACE_KEEP:
			if (store_fd >= 0)
				result = place_kept(&store, &home, placement->target, err);
			break;
		case AC_PLACE_FILE:
			break;
		}
	}
	return result;
}

/* SPDX-License-Identifier: ISC */
/*
 * A command in the user's home is looked up with her rights, and the profile's patterns say how much
 * around it the view shows.  Nothing is trusted that somebody else could have put there.
 */
#include "plan_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path.h"
#include "placement.h"
#include "resolve.h"
#include "util.h"

static int open_path(void *context)
{
	int fd = open(context, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* What name leads to when this user follows it: its canonical path, and an O_PATH fd. */
static int look_up(
	const struct ac_plan *plan, const char *name, char path[AC_PATH_MAX], struct ac_err *err)
{
	const struct ac_identity who = { plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
	char copy[AC_PATH_MAX];
	ac_autoclose int fd = -1;

	snprintf(copy, sizeof copy, "%s", name);
	fd = ac_identity_run(&who, open_path, copy, err);
	if (fd < 0)
		return ac_fail_errno(err, -fd, "cannot open %s as %s", name, plan->user);
	ssize_t length = readlink(ac_fd_name(fd).text, path, AC_PATH_MAX - 1);

	if (length <= 0)
		return ac_fail_errno(err, errno, "cannot tell what %s leads to", name);
	path[length] = '\0';
	return ac_take_fd(&fd);
}

static bool is_in(const struct ac_path_list *list, const char *path)
{
	for (unsigned i = 0; i < list->count; i++)
		if (ac_path_covers(list->entry[i].path, path))
			return true;
	return false;
}

static bool is_in_view(const struct ac_policy *policy, const char *path)
{
	static const char *const baseline[] = { "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64" };

	for (size_t i = 0; i < AC_COUNT(baseline); i++)
		if (ac_path_covers(baseline[i], path))
			return true;
	return is_in(&policy->write_paths, path) || is_in(&policy->read_paths, path) ||
	       is_in(&policy->tool_paths, path);
}

/* The part of path that some pattern covers, or 0. */
static size_t match(const struct ac_harness *harness, const char *home, const char *path)
{
	size_t base = strlen(home) + 1, length = 0;

	if (!ac_path_covers(home, path) || strlen(path) <= base)
		return 0;
	for (unsigned i = 0; !length && i < harness->packages.count; i++)
		length = ac_package_match(harness->packages.text[i], path + base);
	return length ? base + length : 0;
}

static int add_tool(
	const struct ac_plan *plan, struct ac_policy *policy, const char *path, struct ac_err *err)
{
	struct ac_path_list *list = &policy->tool_paths;
	struct ac_path_entry *entry = &list->entry[list->count];
	struct stat status;

	if (list->count == AC_PATHS_MAX)
		return ac_fail(err, E2BIG, "%s: more than %d tool paths", path, AC_PATHS_MAX);
	ac_autoclose int fd = look_up(plan, path, entry->path, err);

	if (fd < 0)
		return fd;
	if (strcmp(entry->path, path) != 0 || fstat(fd, &status) != 0)
		return ac_fail(err, ESTALE, "%s changed while it was looked at", path);
	if ((status.st_uid != plan->user_uid && status.st_uid != 0) ||
		(status.st_mode & (S_IWGRP | S_IWOTH)))
		return ac_fail(err, EPERM,
			"%s must belong to you and be writable by nobody else (uid %u, mode %04o)",
			path, (unsigned)status.st_uid, status.st_mode & 07777u);
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return ac_fail(err, EPERM, "%s is neither a file nor a directory", path);
	entry->kind = S_ISDIR(status.st_mode) ? AC_PATH_DIRECTORY : AC_PATH_FILE;
	entry->device = status.st_dev;
	entry->inode = status.st_ino;
	list->count++;
	return 0;
}

static int find_command(const struct ac_plan_input *input, struct ac_plan *plan,
	struct ac_policy *policy, struct ac_err *err)
{
	char path[AC_PATH_MAX], home[AC_PATH_MAX];
	ac_autoclose int fd = look_up(plan, plan->command, path, err);

	if (fd < 0)
		return fd;
	if (is_in_view(policy, path))
		return 0;
	ac_autoclose int home_fd = look_up(plan, plan->user_home, home, err);
	size_t length = home_fd < 0 ? 0 : match(input->harness, home, path);

	if (!length)
		return ac_fail(err, EPERM,
			"%s is not in the session's view: install it below /usr or /opt, or have "
			"it "
			"listed in tool_paths of %s or in packages of the harness profile %s",
			path, AC_CONFIG_FILE, input->harness->name);
	/* The launcher finds no link of the user's home in the view. */
	memcpy(plan->command, path, sizeof path);
	path[length] = '\0';
	return add_tool(plan, policy, path, err);
}

int ac_plan_harness(
	const struct ac_plan_input *input, struct ac_session_policy *session, struct ac_err *err)
{
	session->policy.placements = input->harness->placements;
	return find_command(input, &session->plan, &session->policy, err);
}

/* SPDX-License-Identifier: ISC */
/*
 * Bait: root-only and empty, where secrets would be.  Opening it, or anything below it, is refused by
 * plain file permissions, which the audit rules record; what is not there at all would leave no record.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path.h"
#include "resolve.h"
#include "util.h"
#include "view_parts.h"

#define HOMES_MAX 256

static struct ac_identity user_of(const struct ac_view *view)
{
	const struct ac_plan *plan = &view->session->plan;

	return (struct ac_identity){ plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
}

static bool is_declared(const struct ac_policy *policy, const char *path)
{
	const struct ac_path_list *lists[] = { &policy->write_paths, &policy->read_paths,
		&policy->tool_paths };

	for (size_t i = 0; i < AC_COUNT(lists); i++)
		for (unsigned k = 0; k < lists[i]->count; k++)
			if (ac_path_covers(lists[i]->entry[k].path, path) ||
				ac_path_covers(path, lists[i]->entry[k].path))
				return true;
	return false;
}

static int look_at_kind(void *context)
{
	struct stat status;

	if (fstatat(AT_FDCWD, context, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
		return -errno;
	return S_ISREG(status.st_mode);
}

static int place(const struct ac_view *view, const char *path, bool is_file, struct ac_err *err)
{
	if (is_declared(&view->session->policy, path))
		return 0;
	int fd = is_file ? ac_view_file(view, path, 0, err)
			 : ac_view_directory(view, path, 0700, err);

	if (fd == -EEXIST)
		return 0;
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* A file where the user has a file.  Looked at with her rights: it is a name that she rules. */
static int place_bait(
	const struct ac_view *view, const struct ac_path_entry *entry, struct ac_err *err)
{
	const struct ac_identity who = user_of(view);
	char path[AC_PATH_MAX];
	struct ac_err ignored;

	memcpy(path, entry->path, sizeof path);
	return place(view, path, ac_identity_run(&who, look_at_kind, path, &ignored) == 1, err);
}

static int open_list(void *context)
{
	int fd = open(context, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The neighbours' homes, by name only, as far as the user could list them. */
static int place_homes(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_identity who = user_of(view);
	char parent[AC_PATH_MAX], path[AC_PATH_MAX + 256];
	struct ac_err ignored;
	unsigned count = 0;
	int result = 0;

	memcpy(parent, view->session->plan.user_home, sizeof parent);
	char *slash = strrchr(parent, '/');

	if (!slash || slash == parent)
		return 0;
	*slash = '\0';
	int fd = ac_identity_run(&who, open_list, parent, &ignored);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return 0; /* what she cannot list, the session need not see */
	}
	for (struct dirent *entry; !result && count < HOMES_MAX && (entry = readdir(stream));) {
		if (entry->d_name[0] == '.' ||
			(entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
		if (ac_path_covers(path, view->session->plan.user_home))
			continue;
		result = place(view, path, false, err);
		count++;
	}
	closedir(stream);
	return result;
}

int ac_view_bait(const struct ac_view *view, struct ac_err *err)
{
	const struct ac_path_list *list = &view->session->policy.bait_paths;
	int result = 0;

	for (unsigned i = 0; !result && i < list->count; i++)
		result = place_bait(view, &list->entry[i], err);
	return result ? result : place_homes(view, err);
}

/* SPDX-License-Identifier: ISC */
/*
 * Repositories whose .git is not a directory.  In a linked worktree and in a submodule it is a file that
 * names the real one, elsewhere.  That file is part of the project and may say anything, so the
 * directory is added only when git's own record in it names the declared path back: what a project says
 * about itself must never widen a session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path.h"
#include "plan_paths.h"
#include "safefile.h"
#include "tree.h"
#include "util.h"

#define LINE_MAX_BYTES 4096
#define CONFIG_MAX_BYTES 65536

/* A small file, without links on the way, NUL-terminated.  -errno. */
static int read_small(const struct ac_tree_side *side, const char *name, char *text, size_t size)
{
	ac_autoclose int fd = ac_tree_open(
		side, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return -EINVAL;
	ssize_t length = ac_read_all(fd, text, size - 1);

	if (length < 0)
		return (int)length;
	text[length] = '\0';
	return 0;
}

/* A file that holds one path. */
static int read_line(const struct ac_tree_side *side, const char *name, char line[LINE_MAX_BYTES])
{
	int result = read_small(side, name, line, LINE_MAX_BYTES);

	if (!result)
		line[strcspn(line, "\r\n")] = '\0';
	return result;
}

static bool is_same(int fd, const struct stat *wanted)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == wanted->st_dev &&
	       status.st_ino == wanted->st_ino;
}

/* Does name, as the user follows it from side, lead to this object? */
static bool leads_to(const struct ac_tree_side *side, const char *name, const struct stat *wanted)
{
	char path[AC_PATH_MAX];
	struct ac_err ignored;
	ac_autoclose int fd = ac_resolve_canonical(side->who, side->fd, name, path, &ignored);

	return is_same(fd, wanted);
}

/* The value of core.worktree; "" when there is none. */
static void find_worktree(char *config, char *value, size_t size)
{
	bool is_core = false;
	char *line;

	*value = '\0';
	while ((line = strsep(&config, "\n"))) {
		line += strspn(line, " \t");
		if (*line == '[')
			is_core = strncasecmp(line, "[core]", 6) == 0;
		if (!is_core || strncasecmp(line, "worktree", 8) != 0)
			continue;
		line += 8;
		line += strspn(line, " \t");
		if (*line++ == '=')
			snprintf(value, size, "%s", line + strspn(line, " \t"));
	}
}

static bool submodule_names_back(const struct ac_tree_side *git, const struct stat *project)
{
	ac_autofree char *config = calloc(1, CONFIG_MAX_BYTES);
	char worktree[AC_PATH_MAX];

	if (!config || read_small(git, "config", config, CONFIG_MAX_BYTES) != 0)
		return false;
	find_worktree(config, worktree, sizeof worktree);
	return *worktree && leads_to(git, worktree, project);
}

static bool worktree_names_back(const struct ac_tree_side *git, const struct stat *link)
{
	char back[LINE_MAX_BYTES];

	return read_line(git, "gitdir", back) == 0 && leads_to(git, back, link);
}

/* <common>/worktrees/<name>, as git makes them and no other way. */
static bool is_worktree_of(const char *git, const char *common)
{
	size_t length = strlen(common);
	static const char middle[] = "/worktrees/";

	return strncmp(git, common, length) == 0 &&
	       strncmp(git + length, middle, strlen(middle)) == 0 && git[length + strlen(middle)] &&
	       !strchr(git + length + strlen(middle), '/');
}

struct repository {
	const struct ac_path_entry *project;
	struct stat status, link; /* of the project and of its .git */
	struct ac_path_entry git,
		common; /* where git keeps its things: the worktree's, everything */
	bool is_worktree;
};

/* Resolves and judges what .git names, and what commondir in it names. */
static int find(const struct ac_plan_look *look, const struct ac_tree_side *project,
	struct repository *found, const char *name, struct ac_err *err)
{
	const struct ac_config *config = look->input->config;
	const char *home = look->plan->user_home;
	char common[LINE_MAX_BYTES];
	ac_autoclose int git_fd = ac_resolve_declared(
		config, &look->who, home, project->fd, name, AC_RESOLVE_WRITE, &found->git, err);
	const struct ac_tree_side git = { git_fd, &look->who, (uid_t)-1, (gid_t)-1 };

	if (git_fd < 0)
		return git_fd;
	found->common = found->git;
	found->is_worktree = read_line(&git, "commondir", common) == 0;
	if (found->is_worktree) {
		ac_autoclose int fd = ac_resolve_declared(config, &look->who, home, git_fd, common,
			AC_RESOLVE_WRITE, &found->common, err);

		if (fd < 0)
			return fd;
		if (!is_worktree_of(found->git.path, found->common.path))
			return ac_fail(err, EPERM, "%s is no worktree of %s", found->git.path,
				found->common.path);
	}
	if (ac_plan_has(&look->policy->write_paths, found->common.path))
		return 0;
	if (found->is_worktree ? !worktree_names_back(&git, &found->link)
			       : !submodule_names_back(&git, &found->status))
		return ac_fail(err, EPERM,
			"%s does not name the project back; declare both in AGENTCELL_PATHS",
			found->git.path);
	return 0;
}

static int add(const struct ac_plan_look *look, const struct repository *found, struct ac_err *err)
{
	struct ac_path_list *list = &look->policy->write_paths;
	const char *path = found->common.path;

	if (ac_plan_has(list, path))
		return 0;
	if (!ac_plan_is_in_roots(look, path))
		return ac_fail(
			err, EPERM, "%s lies outside the administrator's project_roots", path);
	if (list->count == AC_PATHS_MAX)
		return ac_fail(err, E2BIG, "more than %d paths", AC_PATHS_MAX);
	ac_autoclose int fd = ac_resolve_again(&look->who, &found->common, err);
	int result = fd < 0 ? fd : ac_plan_fit(look, fd, AC_RESOLVE_WRITE, &found->common, err);

	if (result)
		return result;
	list->entry[list->count++] = found->common;
	ac_plan_note(
		look, "%s is read-write, too: the git directory of %s", path, found->project->path);
	return 0;
}

static void note_link(const struct ac_plan_look *look, const struct ac_tree_side *project,
	const struct ac_path_entry *entry)
{
	char path[AC_PATH_MAX];
	struct ac_err ignored;
	ac_autoclose int fd = ac_resolve_canonical(&look->who, project->fd, ".git", path, &ignored);

	if (fd >= 0 && !ac_plan_has(&look->policy->write_paths, path))
		ac_plan_note(look,
			"git will not work in %s: its .git is a link to %s; declare both in "
			"AGENTCELL_PATHS",
			entry->path, path);
}

/* A directory in a repository, without the top of it. */
static void note_above(const struct ac_plan_look *look, const struct ac_path_entry *entry)
{
	char above[AC_PATH_MAX], name[AC_PATH_MAX + 8], path[AC_PATH_MAX];
	struct ac_err ignored;
	char *slash;

	memcpy(above, entry->path, sizeof above);
	while ((slash = strrchr(above, '/')) && slash != above) {
		*slash = '\0';
		snprintf(name, sizeof name, "%s/.git", above);
		ac_autoclose int fd = ac_resolve_canonical(
			&look->who, AT_FDCWD, name, path, &ignored);

		if (fd < 0)
			continue;
		if (!ac_plan_has(&look->policy->write_paths, above))
			ac_plan_note(look,
				"git will not work in %s: the top of its repository is %s; start "
				"the session there, or declare it",
				entry->path, above);
		return;
	}
}

static int look_at(const struct ac_plan_look *look, const struct ac_path_entry *entry,
	struct repository *found, struct ac_err *err)
{
	char text[LINE_MAX_BYTES];
	struct ac_err reason = { 0 };
	ac_autoclose int project_fd = ac_resolve_again(&look->who, entry, err);
	const struct ac_tree_side project = { project_fd, &look->who, (uid_t)-1, (gid_t)-1 };
	ac_autoclose int link = project_fd < 0
					? -1
					: ac_tree_open(&project, ".git", O_PATH | O_NOFOLLOW);

	if (project_fd < 0)
		return project_fd;
	if (link == -ENOENT)
		note_above(look, entry);
	if (link < 0 || fstat(link, &found->link) != 0 || fstat(project_fd, &found->status) != 0)
		return 0;
	if (S_ISLNK(found->link.st_mode))
		note_link(look, &project, entry);
	if (!S_ISREG(found->link.st_mode) || read_line(&project, ".git", text) != 0 ||
		strncmp(text, "gitdir: ", 8) != 0)
		return 0;
	found->project = entry;
	int result = find(look, &project, found, text + 8, &reason);

	if (!result)
		result = add(look, found, &reason);
	if (result)
		ac_plan_note(look, "git will not work in %s: %s", entry->path, reason.text);
	return 0;
}

int ac_plan_git(const struct ac_plan_look *look, struct ac_err *err)
{
	const struct ac_path_list *list = &look->policy->write_paths;
	ac_autofree struct repository *found = calloc(1, sizeof *found);
	unsigned count = list->count;
	int result = 0;

	if (!found)
		return ac_fail_errno(err, ENOMEM, "no memory to look for git directories");
	for (unsigned i = 0; !result && i < count; i++)
		if (list->entry[i].kind == AC_PATH_DIRECTORY)
			result = look_at(look, &list->entry[i], found, err);
	return result;
}

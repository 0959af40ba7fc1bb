/* SPDX-License-Identifier: ISC */
/*
 * Fills declared, read-only, excluded, tool and bait paths.  A path is whatever the descriptor that
 * was opened with the user's own rights turned out to be; names only say where to start looking.
 */
#include "plan_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "path.h"
#include "util.h"

void ac_plan_note(const struct ac_plan_look *look, const char *format, ...)
{
	char text[AC_ERR_TEXT_MAX];
	va_list args;

	if (!look->input->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	look->input->note(look->input->note_context, text);
}

bool ac_plan_has(const struct ac_path_list *list, const char *path)
{
	for (unsigned i = 0; i < list->count; i++)
		if (ac_path_covers(list->entry[i].path, path))
			return true;
	return false;
}

static bool is_listed(const struct ac_path_list *list, const char *path)
{
	for (unsigned i = 0; i < list->count; i++)
		if (strcmp(list->entry[i].path, path) == 0)
			return true;
	return false;
}

static int add_path(const struct ac_plan_look *look, const char *name, enum ac_resolve_use use,
	struct ac_path_list *list, struct ac_err *err)
{
	if (list->count == AC_PATHS_MAX)
		return ac_fail(err, E2BIG, "%s: more than %d paths", name, AC_PATHS_MAX);
	struct ac_path_entry *entry = &list->entry[list->count];
	ac_autoclose int fd = ac_resolve_declared(look->input->config, &look->who,
		look->plan->user_home, look->cwd_fd, name, use, entry, err);

	if (fd < 0)
		return fd;
	if (is_listed(list, entry->path))
		return 0;
	int result = ac_plan_fit(look, fd, use, entry, err);

	if (!result)
		list->count++;
	return result;
}

/* A colon-separated list as in PATH; "\:" stands for a colon in a name. */
static int add_list(const struct ac_plan_look *look, const char *text, const char *setting,
	enum ac_resolve_use use, struct ac_path_list *list, struct ac_err *err)
{
	char name[AC_PATH_MAX];
	size_t used = 0;

	for (;; text++) {
		if (*text && *text != ':') {
			if (*text == '\\' && text[1] == ':')
				text++;
			if (used + 1 >= sizeof name)
				return ac_fail(
					err, ENAMETOOLONG, "%s: a path is too long", setting);
			name[used++] = *text;
			continue;
		}
		name[used] = '\0';
		if (used) {
			int result = add_path(look, name, use, list, err);

			if (result == -ENOENT && use == AC_RESOLVE_EXCLUDE)
				ac_plan_note(look,
					"%s: %s is not there, so nothing is hidden by it", setting,
					name);
			else if (result)
				return ac_fail_within(err, "%s", setting);
		}
		used = 0;
		if (!*text)
			return 0;
	}
}

/* Paths of the configuration; a missing one is no error where it only would have hidden something
 * or where the admin lists what some machines have. */
static int add_configured(const struct ac_plan_look *look, const struct ac_strings *strings,
	const char *key, enum ac_resolve_use use, struct ac_path_list *list, struct ac_err *err)
{
	for (unsigned i = 0; i < strings->count; i++) {
		struct ac_err reason;
		int result = add_path(look, strings->text[i], use, list, &reason);

		if (result == -ENOENT && use != AC_RESOLVE_WRITE)
			continue;
		if (result) {
			*err = reason;
			return ac_fail_within(err, "%s of %s", key, AC_CONFIG_FILE);
		}
	}
	return 0;
}

bool ac_plan_is_in_roots(const struct ac_plan_look *look, const char *path)
{
	const struct ac_strings *roots = &look->input->config->project_roots;

	for (unsigned i = 0; i < roots->count; i++)
		if (ac_path_covers(roots->text[i], path))
			return true;
	return roots->count == 0;
}

static int check_roots(
	const struct ac_plan_look *look, const struct ac_path_list *list, struct ac_err *err)
{
	const struct ac_strings *roots = &look->input->config->project_roots;

	for (unsigned i = 0; i < list->count; i++)
		if (!ac_plan_is_in_roots(look, list->entry[i].path))
			return ac_fail(err, EPERM,
				"%s lies outside the administrator's project_roots (%s%s)",
				list->entry[i].path, roots->text[0],
				roots->count > 1 ? ", ..." : "");
	return 0;
}

static int fill_cwd(
	const struct ac_plan_look *look, const struct ac_policy *policy, struct ac_err *err)
{
	char *cwd = look->plan->cwd;
	ssize_t length = readlink(ac_fd_name(look->cwd_fd).text, cwd, sizeof look->plan->cwd - 1);

	if (length <= 0)
		return ac_fail_errno(err, errno, "cannot tell the current directory");
	cwd[length] = '\0';
	if (ac_plan_has(&policy->excluded_paths, cwd))
		return ac_fail(
			err, EPERM, "%s is excluded from the session; start it elsewhere", cwd);
	if (ac_plan_has(&policy->write_paths, cwd) || ac_plan_has(&policy->read_paths, cwd))
		return 0;
	return ac_fail(err, EPERM,
		"the current directory %s is not in a declared path; cd into one, or name it in "
		"AGENTCELL_PATHS or AGENTCELL_READ_PATHS",
		cwd);
}

static int check_excluded(const struct ac_policy *policy, struct ac_err *err)
{
	const struct ac_path_list *list = &policy->write_paths;

	for (unsigned i = 0; i < list->count; i++)
		if (ac_plan_has(&policy->excluded_paths, list->entry[i].path))
			return ac_fail(err, EPERM, "%s is declared and excluded at once; drop one",
				list->entry[i].path);
	return 0;
}

/* Which of the two holds would be anybody's guess. */
static int check_doubles(const struct ac_policy *policy, struct ac_err *err)
{
	const struct ac_path_list *list = &policy->write_paths;

	for (unsigned i = 0; i < list->count; i++)
		if (is_listed(&policy->read_paths, list->entry[i].path) ||
			is_listed(&policy->tool_paths, list->entry[i].path))
			return ac_fail(err, EPERM,
				"%s is declared read-write and read-only at once (the "
				"administrator's read_paths and tool_paths count, too)",
				list->entry[i].path);
	return 0;
}

/* Judged and baited is the home as it is reached.  One that is not there has nothing to hide. */
static void find_home(const struct ac_plan_look *look)
{
	char real[AC_PATH_MAX];
	struct ac_err ignored;
	ac_autoclose int fd = ac_resolve_canonical(
		&look->who, AT_FDCWD, look->plan->user_home, real, &ignored);

	if (fd >= 0)
		memcpy(look->plan->user_home, real, sizeof real);
}

/* The home that a passwd entry names may be a link's: that name leads nowhere in the view, and who
 * goes there wants the person's own things. */
static void add_named_home(const struct ac_plan_look *look, const char *name)
{
	struct ac_path_list *list = &look->policy->bait_paths;
	struct ac_path_entry *entry = &list->entry[list->count];

	if (strcmp(name, look->plan->user_home) == 0 || list->count == AC_PATHS_MAX)
		return;
	snprintf(entry->path, sizeof entry->path, "%s", name);
	entry->kind = AC_PATH_DIRECTORY;
	list->count++;
}

static int add_bait(const struct ac_plan_look *look, struct ac_policy *policy, struct ac_err *err)
{
	const struct ac_strings *bait = &look->input->config->bait;
	struct ac_path_list *list = &policy->bait_paths;

	for (unsigned i = 0; i < bait->count; i++) {
		struct ac_path_entry *entry = &list->entry[list->count];

		if (list->count == AC_PATHS_MAX)
			return ac_fail(err, E2BIG, "more than %d bait paths in %s", AC_PATHS_MAX,
				AC_CONFIG_FILE);
		if (ac_path_join(entry->path, sizeof entry->path, look->plan->user_home,
			    bait->text[i]) != 0 ||
			!ac_path_is_canonical(entry->path))
			return ac_fail(err, EINVAL, "bait %s makes no usable path", bait->text[i]);
		entry->kind = AC_PATH_DIRECTORY;
		list->count++;
	}
	return 0;
}

static int add_wished(const struct ac_plan_look *look, struct ac_policy *policy, struct ac_err *err)
{
	const struct ac_wishes *wishes = &look->input->request->wishes;
	const struct ac_config *config = look->input->config;
	int result;

	if (wishes->paths && *wishes->paths)
		result = add_list(look, wishes->paths, "AGENTCELL_PATHS", AC_RESOLVE_WRITE,
			&policy->write_paths, err);
	else if (config->declared_paths.count)
		result = add_configured(look, &config->declared_paths, "declared_paths",
			AC_RESOLVE_WRITE, &policy->write_paths, err);
	else
		result = add_path(look, ".", AC_RESOLVE_WRITE, &policy->write_paths, err);
	if (!result && wishes->read_paths)
		result = add_list(look, wishes->read_paths, "AGENTCELL_READ_PATHS", AC_RESOLVE_READ,
			&policy->read_paths, err);
	if (!result && wishes->exclude)
		result = add_list(look, wishes->exclude, "AGENTCELL_EXCLUDE", AC_RESOLVE_EXCLUDE,
			&policy->excluded_paths, err);
	return result;
}

static int open_directory(void *context)
{
	const char *path = context;
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int fill_all(const struct ac_plan_look *look, struct ac_policy *policy, struct ac_err *err)
{
	const struct ac_config *config = look->input->config;
	int result = add_wished(look, policy, err);

	if (!result)
		result = add_configured(look, &config->read_paths, "read_paths", AC_RESOLVE_READ,
			&policy->read_paths, err);
	if (!result)
		result = add_configured(look, &config->excluded_paths, "excluded_paths",
			AC_RESOLVE_EXCLUDE, &policy->excluded_paths, err);
	if (!result)
		result = add_configured(look, &config->tool_paths, "tool_paths", AC_RESOLVE_TOOL,
			&policy->tool_paths, err);
	if (!result)
		result = check_roots(look, &policy->write_paths, err);
	if (!result)
		result = ac_plan_git(look, err);
	if (!result)
		result = check_excluded(policy, err);
	if (!result)
		result = check_doubles(policy, err);
	if (!result)
		result = fill_cwd(look, policy, err);
	return result ? result : add_bait(look, policy, err);
}

int ac_plan_paths(const struct ac_plan_input *input, struct ac_plan *plan, struct ac_policy *policy,
	struct ac_err *err)
{
	const char *cwd = input->cwd ? input->cwd : input->request->cwd;
	struct ac_plan_look look = { .input = input,
		.plan = plan,
		.policy = policy,
		.who = { plan->user_uid, plan->user_gid, plan->group_count, plan->groups } };
	char start[AC_PATH_MAX], named[AC_PATH_MAX];

	if (!cwd || *cwd != '/' || snprintf(start, sizeof start, "%s", cwd) >= (int)sizeof start)
		return ac_fail(err, ENOENT,
			"the current directory is gone or cannot be named; cd into "
			"the project first");
	look.cwd_fd = ac_identity_run(&look.who, open_directory, start, err);
	if (look.cwd_fd < 0)
		return ac_fail_errno(err, -look.cwd_fd, "cannot open %s as %s", start, plan->user);
	snprintf(named, sizeof named, "%s", plan->user_home);
	find_home(&look);
	int result = fill_all(&look, policy, err);

	close(look.cwd_fd);
	if (!result) {
		add_named_home(&look, named);
		ac_plan_submounts(&look);
		plan->declared_paths = policy->write_paths;
		plan->read_paths = policy->read_paths;
		plan->excluded_paths = policy->excluded_paths;
	}
	return result;
}

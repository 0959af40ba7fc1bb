/* SPDX-License-Identifier: ISC */
/*
 * Moving aside and telling.  Both act with the user's rights only; the comparison with the backup is
 * made by a child that is the user for good, and of its answer nothing is believed but the form.
 */
#include "aftermath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backup_child.h"
#include "escape.h"
#include "hostfile.h"
#include "log.h"
#include "path.h"
#include "resolve.h"
#include "util.h"

#define SHOWN_MAX 20 /* lines on the terminal */
#define LINES_MAX 200 /* in the log */
#define NAME_SHOWN 300
#define SECONDS_MAX 30

struct line {
	char path[NAME_SHOWN]; /* escaped, the front cut off where it is longer */
	char by[48];
	unsigned count; /* of files, when it is a tree of packages */
};

struct findings { /* shared with the child */
	unsigned count, more;
	struct line line[LINES_MAX];
};

struct after {
	const struct ac_config *config;
	const struct ac_session_policy *session;
	void (*say)(void *context, const char *text);
	void *context;
};

static void tell(const struct after *after, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(const struct after *after, const char *format, ...)
{
	char text[2 * AC_PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	after->say(after->context, text);
}

static struct ac_identity user_of(const struct ac_plan *plan)
{
	return (struct ac_identity){ plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
}

/* --- Moving aside --- */

struct move {
	char *path; /* cut at its last slash */
	const char *name, *aside;
};

/* As the user: she may have replaced any directory of the path, by a link as well. */
static int move_aside(void *context)
{
	const struct move *move = context;
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	ac_autoclose int parent = (int)syscall(SYS_openat2, AT_FDCWD, move->path, &how, sizeof how);

	if (parent < 0)
		return -errno;
	return renameat2(parent, move->name, parent, move->aside, RENAME_NOREPLACE) ? -errno : 0;
}

static void put_aside(const struct after *after, const char *absent)
{
	const struct ac_plan *plan = &after->session->plan;
	const struct ac_identity who = user_of(plan);
	char path[AC_PATH_MAX], aside[128], shown[3 * AC_PATH_MAX];
	struct ac_err err = { 0 };

	memcpy(path, absent, sizeof path);
	char *slash = strrchr(path, '/');

	snprintf(aside, sizeof aside, "%.64s.agentcell-%s", slash + 1, plan->session_id);
	*slash = '\0';
	struct move move = { path, slash + 1, aside };
	int result = ac_identity_run(&who, move_aside, &move, &err);

	if (result == -ENOENT || result == -ENOTDIR || result == -ELOOP)
		return;
	ac_escape(shown, sizeof shown, absent, strlen(absent));
	if (result)
		tell(after,
			"agentcell: WARNING: the session made %s, which your git obeys, and it "
			"cannot "
			"be moved aside: %s",
			shown, err.code ? err.text : strerror(-result));
	else
		tell(after,
			"agentcell: the session made %s, which your git would obey; it was moved "
			"to %s "
			"beside it",
			shown, aside);
}

/* --- Telling, in the child --- */

static bool is_program(const struct ac_backup_change *change)
{
	const unsigned executable = S_IXUSR | S_IXGRP | S_IXOTH;

	return change->new_type == 'f' && change->new_mode & executable &&
	       (!(change->old_mode & executable) ||
		       change->change & (AC_CHANGE_ADDED | AC_CHANGE_CONTENT));
}

/* A link that leads out of every declared path: what is written to it lands elsewhere. */
static bool leads_out(
	const struct ac_session_policy *session, const struct ac_backup_change *change)
{
	const struct ac_path_list *list = &session->policy.write_paths;
	char parent[AC_PATH_MAX], target[AC_PATH_MAX];
	const char *slash = strrchr(change->path, '/');

	if (change->new_type != 'l' || !change->new_target || !slash ||
		(size_t)(slash - change->path) >= sizeof parent)
		return false;
	memcpy(parent, change->path, (size_t)(slash - change->path));
	parent[slash - change->path] = '\0';
	if (ac_path_join(target, sizeof target, parent, change->new_target) != 0)
		return true;
	for (unsigned i = 0; i < list->count; i++)
		if (ac_path_covers(list->entry[i].path, target))
			return false;
	return true;
}

static void put_path(struct line *line, const char *path, size_t length)
{
	const size_t room = sizeof line->path / 3;

	if (length > room) {
		path += length - room;
		length = room;
	}
	ac_escape(line->path, sizeof line->path, path, length);
}

/* git brings a dozen of them into each new repository. */
static bool is_sample(const char *path)
{
	size_t length = strlen(path);

	return length > 7 && strcmp(path + length - 7, ".sample") == 0 && strstr(path, "/hooks/");
}

struct comparing {
	const struct ac_session_policy *session;
	struct findings *findings;
};

/* A tree of packages is one line, which counts. */
static void add(struct findings *findings, const struct ac_backup_change *change, const char *by)
{
	unsigned tree = ac_hostfile_package_tree(change->path);
	struct line line = { .count = tree ? 1 : 0 };

	put_path(&line, change->path, tree ? tree : strlen(change->path));
	snprintf(line.by, sizeof line.by, "%s", tree ? "whoever runs the packages" : by);
	for (unsigned i = 0; tree && i < findings->count; i++) {
		if (findings->line[i].count && strcmp(findings->line[i].path, line.path) == 0) {
			findings->line[i].count++;
			return;
		}
	}
	if (findings->count == LINES_MAX)
		findings->more++;
	else
		findings->line[findings->count++] = line;
}

static int on_change(void *context, const struct ac_backup_change *change)
{
	struct comparing *comparing = context;
	const unsigned matters = AC_CHANGE_ADDED | AC_CHANGE_TYPE | AC_CHANGE_CONTENT |
				 AC_CHANGE_MODE | AC_CHANGE_LINK;
	const char *by = NULL;

	if (!(change->change & matters) || change->new_type == '-' || change->new_type == 'd' ||
		is_sample(change->path))
		return 0;
	if (leads_out(comparing->session, change))
		by = "whoever writes to it: a link to elsewhere";
	else
		by = ac_hostfile_heeded_by(change->path);
	if (!by && is_program(change))
		by = "whoever runs it";
	if (by || ac_hostfile_package_tree(change->path))
		add(comparing->findings, change, by);
	return 0;
}

static int compare(int store_fd, const struct ac_backup_request *request, void *context,
	struct ac_backup_totals *totals, struct ac_err *err)
{
	const struct ac_backup_compare wanted = { .store_fd = store_fd,
		.id = request->backup_id,
		.opener = request->opener,
		.patch_fd = -1,
		.each = on_change,
		.context = context };

	(void)totals;
	alarm(SECONDS_MAX); /* a person waits */
	return ac_backup_diff(&wanted, err);
}

/* --- Telling, in sudo --- */

static int by_path(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	return strcmp(left->path, right->path);
}

/* The child is the user's: its numbers and strings are put in bounds before they are used. */
static void tidy(struct findings *findings)
{
	if (findings->count > LINES_MAX)
		findings->count = LINES_MAX;
	for (unsigned i = 0; i < findings->count; i++) {
		struct line *line = &findings->line[i];

		line->path[sizeof line->path - 1] = line->by[sizeof line->by - 1] = '\0';
		for (char *c = line->path; *c; c++)
			if (*c < 0x20 || *c > 0x7e)
				*c = '?';
		for (char *c = line->by; *c; c++)
			if (*c < 0x20 || *c > 0x7e)
				*c = '?';
	}
	qsort(findings->line, findings->count, sizeof findings->line[0], by_path);
}

static void show(const struct after *after, const struct findings *findings)
{
	unsigned shown = findings->count < SHOWN_MAX ? findings->count : SHOWN_MAX;
	unsigned rest = findings->count - shown + findings->more;

	tell(after, "agentcell: changed in this session, and run or obeyed outside of it:");
	for (unsigned i = 0; i < shown; i++) {
		const struct line *line = &findings->line[i];

		if (line->count)
			tell(after, "  %s  (%u files: %s)", line->path, line->count, line->by);
		else
			tell(after, "  %s  (%s)", line->path, line->by);
	}
	if (rest)
		tell(after, "  and %u more", rest);
	tell(after, "  all changes: agentcell diff %s", after->session->policy.backup_id);
}

/* As many names as a log line holds; the number says how many there were. */
static void write_log(const struct after *after, const struct findings *findings)
{
	ac_autofree char *names = malloc(32768);
	size_t used = 0;
	struct ac_err err = { 0 };

	if (!names)
		return;
	names[0] = '\0';
	for (unsigned i = 0; i < findings->count && used < 32768 - NAME_SHOWN - 8; i++)
		used += (size_t)snprintf(
			names + used, 32768 - used, "%s%s", i ? ", " : "", findings->line[i].path);
	const struct ac_log_field fields[] = {
		{ "user", after->session->plan.user, 0 },
		{ "count", NULL, (int64_t)findings->count + findings->more },
		{ "files", names, 0 },
		{ "backup_id", after->session->policy.backup_id, 0 },
	};

	if (ac_log_write(after->config->log_path, AC_LOG_CHANGED, after->session->plan.session_id,
		    fields, AC_COUNT(fields), true, &err) != 0)
		tell(after, "agentcell: the list of changed files is not in the log: %s", err.text);
}

static void report(const struct after *after)
{
	const struct ac_plan *plan = &after->session->plan;
	struct findings *findings = mmap(
		NULL, sizeof *findings, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct comparing comparing = { after->session, findings };
	const struct ac_backup_request request = {
		.directory = after->session->policy.backup_directory,
		.backup_id = after->session->policy.backup_id,
		.session_id = plan->session_id,
		.user = plan->user,
		.identity = user_of(plan),
	};
	struct ac_backup_totals totals;
	struct ac_err err = { 0 };

	if (findings == MAP_FAILED)
		return;
	int result = ac_backup_as_user(&request, compare, &comparing, NULL, 0, &totals, &err);

	if (result && result != -ENOENT) /* pruned already: retention keeps no more */
		tell(after, "agentcell: the session's changes cannot be listed: %s", err.text);
	tidy(findings);
	if (!result && findings->count) {
		write_log(after, findings);
		show(after, findings);
	}
	munmap(findings, sizeof *findings);
}

void ac_aftermath(const struct ac_config *config, const struct ac_session_policy *session,
	const struct ac_absent *absent, void (*say)(void *context, const char *text), void *context)
{
	const struct after after = { config, session, say, context };

	for (unsigned i = 0; absent && i < absent->count; i++)
		put_aside(&after, absent->path[i]);
	report(&after);
}

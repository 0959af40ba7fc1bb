/* SPDX-License-Identifier: ISC */
/*
 * What the judge makes of names through symlinks and descriptors, by records of Linux 6.1, which tells
 * less of them than later kernels do: tests/unit/names-6.1.log, whose head says what was where.  Each
 * event is known by its comm.  What becomes of RESOLVE is check_resolve.c's.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../auditd_rules/judge.h"
#include "util.h"

#define UID 71099
#define RECORDS "tests/unit/names-6.1.log"

/* The log's directories, by their inodes. */
enum place { NOTHING, PROJECT, BELOW, OPEN, BAIT, SYSTEM, FILE_THERE };
static const uint64_t inodes[] = { 0, 132204, 132213, 132206, 132209, 5 };

struct row {
	const char *comm;
	enum ac_verdict_kind kind;
	const char *target;
	bool lost; /* these and below: of RESOLVE */
	enum place object;
	bool barred, nofollow;
	int start, other; /* descriptors; 0: none */
	const char *also; /* NULL: nothing */
};

static struct ac_session_policy session;
static struct ac_silent silent;
static struct ac_judge judge = { &session, &silent, NULL, NULL };
static struct ac_event event;
static struct ac_verdict verdict;

static void add(struct ac_path_list *list, const char *path)
{
	(void)snprintf(list->entry[list->count++].path, AC_PATH_MAX, "%s", path);
}

static void set_up(void)
{
	struct ac_policy *policy = &session.policy;
	ac_autofclose FILE *file = fopen("auditd_rules/silent.conf", "re");
	static char text[65536];
	struct ac_err err;
	size_t length;

	ck_assert_ptr_nonnull(file);
	length = fread(text, 1, sizeof(text), file);
	ck_assert_msg(!ac_silent_parse("silent.conf", text, length, &silent, &err), "%s", err.text);
	memset(&session, 0, sizeof(session));
	policy->uid = policy->gid = UID;
	policy->risk = AC_RISK_MEDIUM;
	(void)strcpy(policy->home, "/home/agentcell");
	(void)strcpy(session.plan.user_home, "/home/dev");
	(void)strcpy(session.plan.cwd, "/home/dev/project");
	add(&policy->write_paths, "/home/dev/project");
	add(&policy->bait_paths, "/home/dev/.ssh");
	add(&policy->bait_paths, "/home/dev/bait");
}

/* Judges the event with this comm, record by record, as the listener would. */
static void replay(const char *comm)
{
	ac_autofclose FILE *log = fopen(RECORDS, "re");
	static char line[16384];
	uint64_t serial = 0;
	bool wanted = false;

	ck_assert_ptr_nonnull(log);
	verdict.kind = AC_VERDICT_WAIT;
	while (verdict.kind == AC_VERDICT_WAIT && fgets(line, sizeof(line), log)) {
		struct ac_record record;

		if (ac_record_parse_line(line, strlen(line), &record))
			continue;
		if (record.serial != serial)
			ac_event_init(&event, &record);
		serial = record.serial;
		ac_event_add(&event, &record);
		wanted = !strcmp(event.comm, comm);
		if (wanted)
			ac_judge_event(&judge, &event, event.seen & AC_SEEN_END, &verdict);
	}
	ck_assert_msg(verdict.kind != AC_VERDICT_WAIT, "%s: not in the records", comm);
}

static bool starts_there(const struct row *row)
{
	int start = row->start ? row->start : AT_FDCWD, other = row->other ? row->other : start;

	return verdict.relative == (row->start || row->other) &&
	       (!verdict.relative || (verdict.directory == start && verdict.other == other));
}

static bool came_there(enum place place)
{
	return place == FILE_THERE ? verdict.object.inode != 0
				   : verdict.object.inode == inodes[place];
}

static const struct row rows[] = {
	{ "create-rel", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true, .object = PROJECT },
	{ "create-abs", AC_VERDICT_RESOLVE, "/home/dev/project/", .lost = true, .object = PROJECT },
	{ "create-dir", AC_VERDICT_RESOLVE, "/home/dev/project/d/", .lost = true, .object = BELOW },
	{ "create-fd", AC_VERDICT_RESOLVE, ".", .lost = true, .object = BELOW, .start = 6 },
	{ "create-2", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true, .object = PROJECT },
	{ "creat", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true, .object = PROJECT },
	{ "create-chain", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true, .object = BELOW },
	{ "create-new", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true, .object = OPEN },
	{ "create-there", AC_VERDICT_RESOLVE, "/home/dev/project/there", .object = FILE_THERE },
	{ "create-system", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true,
		.object = SYSTEM },
	{ "create-bait", AC_VERDICT_RESOLVE, "/home/dev/project", .lost = true, .object = BAIT },
	{ "create-outside", AC_VERDICT_DENIED, "/home/dev/open", .lost = false },
	{ "create-fdout", AC_VERDICT_RESOLVE, ".", .lost = true, .object = OPEN, .start = 4 },
	{ "create-fdssh", AC_VERDICT_RESOLVE, "z", .barred = true, .start = 5 },
	{ "create-dots", AC_VERDICT_RESOLVE, "/home/dev/project/d/../", .lost = true,
		.object = PROJECT },
	{ "open-rel", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "mkdir-ssh", AC_VERDICT_RESOLVE, "/home/dev/project/ssh/x", .barred = true,
		.nofollow = true },
	{ "mkdir-open", AC_VERDICT_RESOLVE, "/home/dev/project/open/x", .nofollow = true },
	{ "mkdir-bait", AC_VERDICT_RESOLVE, "/home/dev/project/bait/x", .nofollow = true },
	{ "mkdir-fd", AC_VERDICT_RESOLVE, "x", .nofollow = true, .start = 4 },
	{ "mkdir-out", AC_VERDICT_DENIED, "/home/dev/open/x", .lost = false },
	{ "mknod-bait", AC_VERDICT_RESOLVE, "/home/dev/project/bait/x", .nofollow = true },
	{ "symlink-open", AC_VERDICT_RESOLVE, "/home/dev/project/open/", .object = OPEN },
	{ "symlink-fd", AC_VERDICT_RESOLVE, ".", .object = OPEN, .start = 4 },
	{ "rename-ssh", AC_VERDICT_RESOLVE, "/home/dev/project/ssh/x", .nofollow = true },
	{ "rename-open", AC_VERDICT_RESOLVE, "/home/dev/project/open/x", .nofollow = true },
	{ "rename-bait", AC_VERDICT_RESOLVE, "/home/dev/project/bait/x", .nofollow = true },
	{ "rename-from", AC_VERDICT_RESOLVE, "/home/dev/project/open/there", .object = FILE_THERE },
	{ "rename-frombt", AC_VERDICT_RESOLVE, "/home/dev/project/bait/there",
		.object = FILE_THERE },
	{ "rename-fd", AC_VERDICT_RESOLVE, "x", .nofollow = true, .other = 4 },
	{ "rename-fdssh", AC_VERDICT_RESOLVE, "x", .nofollow = true, .other = 5 },
	{ "rename-fdfrom", AC_VERDICT_RESOLVE, "there", .object = FILE_THERE, .start = 4,
		.other = AT_FDCWD },
	{ "link-ssh", AC_VERDICT_RESOLVE, "/home/dev/project/ssh/x", .barred = true,
		.nofollow = true },
	{ "link-open", AC_VERDICT_RESOLVE, "/home/dev/project/open/x", .nofollow = true },
	{ "link-bait", AC_VERDICT_RESOLVE, "/home/dev/project/bait/x", .nofollow = true },
	{ "link-from", AC_VERDICT_RESOLVE, "/home/dev/project/open/there", .object = FILE_THERE,
		.also = "/home/dev/project" },
	{ "link-fromssh", AC_VERDICT_RESOLVE, "/home/dev/project/hard", .barred = true,
		.nofollow = true, .also = "/home/dev/project/ssh/key" },
	{ "link-follow", AC_VERDICT_RESOLVE, "/home/dev/project/hard", .barred = true,
		.also = "/home/dev/project/key" },
	{ "link-fd", AC_VERDICT_RESOLVE, "x", .other = 4 },
	{ "link-fdssh", AC_VERDICT_RESOLVE, "x", .barred = true, .other = 5 },
	{ "chown", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "chown-there", AC_VERDICT_RESOLVE, "/home/dev/project/there", .object = FILE_THERE },
	{ "fchownat", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "fchownat-no", AC_VERDICT_RESOLVE, "/home/dev/project/key", .object = FILE_THERE,
		.nofollow = true },
	{ "lchown", AC_VERDICT_RESOLVE, "/home/dev/project/key", .object = FILE_THERE,
		.nofollow = true },
	{ "chmod", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "chmod-there", AC_VERDICT_RESOLVE, "/home/dev/project/there", .object = FILE_THERE },
	{ "setxattr", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "setxattr-there", AC_VERDICT_RESOLVE, "/home/dev/project/there", .object = FILE_THERE },
	{ "removexattr", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "truncate", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "truncate-there", AC_VERDICT_RESOLVE, "/home/dev/project/there", .object = FILE_THERE },
	{ "unlink-open", AC_VERDICT_RESOLVE, "/home/dev/project/open/there", .object = FILE_THERE },
	{ "unlink-fd", AC_VERDICT_RESOLVE, "there", .object = FILE_THERE, .start = 4 },
	{ "unlink-ssh", AC_VERDICT_RESOLVE, "/home/dev/project/ssh/key", .barred = true,
		.nofollow = true },
	{ "rmdir-bait", AC_VERDICT_RESOLVE, "/home/dev/project/bait/dir", .object = FILE_THERE },
	{ "exec", AC_VERDICT_RESOLVE, "/home/dev/project/key", .barred = true },
	{ "exec-there", AC_VERDICT_RESOLVE, "/home/dev/project/there", .object = FILE_THERE },
	{ "mkdir-open+", AC_VERDICT_RESOLVE, "/home/dev/project/open/", .object = OPEN },
	{ "mkdir-bait+", AC_VERDICT_RESOLVE, "/home/dev/project/bait/", .object = BAIT },
	{ "mkdir-fd+", AC_VERDICT_RESOLVE, ".", .object = OPEN, .start = 4 },
	{ "mkdir-out+", AC_VERDICT_DENIED, "/home/dev/open", .lost = false },
	{ "mknod-bait+", AC_VERDICT_RESOLVE, "/home/dev/project/bait/", .object = BAIT },
	{ "symlink-fd+", AC_VERDICT_RESOLVE, ".", .object = OPEN, .start = 4 },
	{ "rename-open+", AC_VERDICT_RESOLVE, "/home/dev/project/open/", .object = OPEN,
		.also = "/home/dev/project" },
	{ "rename-bait+", AC_VERDICT_RESOLVE, "/home/dev/project/bait/", .object = BAIT,
		.also = "/home/dev/project" },
	{ "rename-from+", AC_VERDICT_RESOLVE, "/home/dev/project", .object = PROJECT,
		.also = "/home/dev/project/open/" },
	{ "rename-frombt+", AC_VERDICT_RESOLVE, "/home/dev/project", .object = PROJECT,
		.also = "/home/dev/project/bait/" },
	{ "rename-fd+", AC_VERDICT_RESOLVE, ".", .object = OPEN, .other = 4 },
	{ "rename-fdfrom+", AC_VERDICT_RESOLVE, ".", .object = PROJECT, .start = 4,
		.other = AT_FDCWD },
	{ "link-open+", AC_VERDICT_RESOLVE, "/home/dev/project/mine", .object = FILE_THERE,
		.also = "/home/dev/project/open/" },
	{ "link-bait+", AC_VERDICT_RESOLVE, "/home/dev/project/mine", .object = FILE_THERE,
		.also = "/home/dev/project/bait/" },
	{ "link-fd+", AC_VERDICT_RESOLVE, "mine", .object = FILE_THERE, .other = 4, .also = "." },
	{ "unlink-open+", AC_VERDICT_RESOLVE, "/home/dev/project/open/", .object = OPEN },
	{ "unlink-fd+", AC_VERDICT_RESOLVE, ".", .object = OPEN, .start = 4 },
	{ "rmdir-bait+", AC_VERDICT_RESOLVE, "/home/dev/project/bait/", .object = BAIT },
};

START_TEST(all)
{
	const struct row *row = &rows[_i];

	replay(row->comm);
	ck_assert_msg(verdict.kind == row->kind && !strcmp(verdict.target, row->target),
		"%s: %s %s (%s)", row->comm, ac_verdict_name(verdict.kind), verdict.target,
		verdict.reason);
	if (verdict.kind != AC_VERDICT_RESOLVE)
		return;
	ck_assert_msg(verdict.lost == row->lost, "%s: lost", row->comm);
	ck_assert_msg(came_there(row->object), "%s: came to %llu", row->comm,
		(unsigned long long)verdict.object.inode);
	ck_assert_msg(verdict.barred == row->barred, "%s: barred", row->comm);
	ck_assert_msg(verdict.follow != row->nofollow, "%s: followed", row->comm);
	ck_assert_msg(starts_there(row), "%s: from %d or %d", row->comm, verdict.directory,
		verdict.other);
	ck_assert_str_eq(verdict.also, row->also ? row->also : "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *cases = tcase_create("names");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, set_up, NULL);
	tcase_add_loop_test(cases, all, 0, (int)AC_COUNT(rows));
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * What a refused name stood for.  Of names that the kernel lost: the directory's symlinks, how far it
 * came, and whether the directory explains the refusal by itself.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../auditd_rules/cell.h"

#define STRANGER 70000 /* who is neither owner nor group here */

static char top[64];
static struct ac_session_policy session;
static struct ac_silent silent;
static struct ac_cell cell;
static struct ac_report report;

static void name(char path[AC_PATH_MAX], const char *below)
{
	(void)snprintf(path, AC_PATH_MAX, "%s/%s", top, below);
}

static uint64_t inode_of(const char *below)
{
	char path[AC_PATH_MAX];
	struct stat st;

	name(path, below);
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_ino;
}

static void make(void)
{
	struct ac_policy *policy = &session.policy;

	(void)strcpy(top, "/tmp/check_resolve.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chmod(top, 0755) | chdir(top), 0);
	ck_assert_int_eq(mkdir("project", 0700) | mkdir("project/shut", 0700), 0);
	ck_assert_int_eq(mkdir("secret", 0700) | mkdir("other", 0700), 0);
	ck_assert_int_eq(chmod("secret", 0600) | chmod("other", 0755), 0); /* umask or not */
	memset(&session, 0, sizeof(session));
	policy->risk = AC_RISK_MEDIUM;
	policy->write_paths.count = policy->bait_paths.count = 1;
	name(policy->write_paths.entry[0].path, "project");
	name(policy->bait_paths.entry[0].path, "secret");
	cell.session.policy = &session;
	cell.session.cgroup_fd = -1;
	cell.judge = (struct ac_judge){ &session, &silent, NULL, NULL };
	cell.uid = geteuid();
}

static void clear(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "chmod -R u+rwx %s && rm -r %s", top, top);
	ck_assert_int_eq(chdir("/") | system(command), 0); /* NOLINT(cert-env33-c): a test's own */
}

/* A name in a directory was refused, and its last component lost; the kernel came to `further`. */
static void lose(const char *directory, int code, const char *further)
{
	memset(&report, 0, sizeof(report));
	report.pid = getpid();
	report.uid = geteuid();
	report.kind = AC_VERDICT_RESOLVE;
	report.follow = true;
	report.directory = report.other = AT_FDCWD;
	report.exit = -code;
	report.lost = true;
	report.object.inode = inode_of(further);
	name(report.target, directory);
}

#define EXPECT(wanted, below) \
	do { \
		char path[AC_PATH_MAX]; \
		ac_resolve(&cell, &report); \
		name(path, below); \
		ck_assert_msg(report.kind == AC_VERDICT_##wanted && !strcmp(report.target, path), \
			"%s %s (%s)", ac_verdict_name(report.kind), report.target, report.reason); \
		ck_assert_int_eq(report.operation, AC_OPERATION_WRITE); \
	} while (0)

static void point(const char *link, const char *target)
{
	(void)unlink(link);
	ck_assert_int_eq(symlink(target, link), 0);
}

START_TEST(symlinks_that_lead_so_far)
{
	point("project/text", "mine");
	point("project/outside", "../other/new");
	lose("project", EACCES, "other");
	EXPECT(DENIED, "other/new");
	/* It would have led the kernel there: then it was none of these. */
	lose("project", EACCES, "project");
	EXPECT(DENIED, "project");
	ck_assert_str_eq(report.reason, "refused; what was named there is gone");

	point("project/key", "../secret/key");
	lose("project", EACCES, "project");
	EXPECT(ESCAPE, "secret/key");
	/* A directory that may not be searched is EACCES and nothing else. */
	lose("project", EROFS, "project");
	EXPECT(SILENT, "project");
	(void)unlink("project/key");
	point("project/key", "shut/text");
	point("project/shut/text", "../../secret/key");
	lose("project", EACCES, "project/shut");
	EXPECT(ESCAPE, "secret/key");
	(void)unlink("project/shut/text");
	ck_assert_int_eq(chmod("project/shut", 0600), 0);
	lose("project", EACCES, "project");
	EXPECT(SILENT, "project/shut/text");
}
END_TEST

START_TEST(directories_that_refuse)
{
	/* The session's own, read-only as caches are; symlinks or not. */
	ck_assert_int_eq(chmod("project", 0500), 0);
	lose("project", EACCES, "project");
	EXPECT(SILENT, "project");
	ck_assert_int_eq(chmod("project", 0700), 0);
	point("project/key", "../secret/key");
	ck_assert_int_eq(chmod("project", 0500), 0);
	lose("project", EACCES, "project");
	EXPECT(ESCAPE, "secret/key");
	/* Somebody else's, where it can make nothing: a new file there is what was refused. */
	ck_assert_int_eq(chmod("project", 0755), 0);
	lose("project", EACCES, "project");
	report.uid = STRANGER;
	EXPECT(SILENT, "project");
	ck_assert_int_eq(chmod("project", 0777), 0);
	lose("project", EACCES, "project");
	report.uid = STRANGER;
	EXPECT(ESCAPE, "secret/key");
	/* It stands in a directory that it could not come to by name. */
	point("project/key", "mine");
	ck_assert_int_eq(chmod(top, 0700), 0);
	lose("project", EACCES, "project");
	report.uid = STRANGER;
	EXPECT(DENIED, "project");
	ck_assert_str_eq(report.reason, "refused; what was named there is gone");
	ck_assert_int_eq(chmod(top, 0755), 0);
	/* No place that the session could fill. */
	lose("other", EACCES, "other");
	EXPECT(DENIED, "other");
}
END_TEST

START_TEST(what_is_known_without_looking)
{
	struct ac_secret bait = { { inode_of("secret"), 0, 0 },
		session.policy.bait_paths.entry[0].path };

	lose("project", EACCES, "secret");
	report.operation = AC_OPERATION_WRITE;
	cell.secrets = &bait;
	cell.secret_count = 1;
	EXPECT(ESCAPE, "secret");
	cell.secret_count = 0;
	lose("project", EACCES, "project");
	report.object.inode++;
	EXPECT(DENIED, "project");
	ck_assert_str_eq(report.reason, "refused; what was named there is gone");
}
END_TEST

START_TEST(descriptors)
{
	int project = open("project", O_PATH | O_CLOEXEC),
	    secret = open("secret", O_PATH | O_CLOEXEC);

	point("project/key", "../secret/key");
	lose("project", EACCES, "project");
	(void)strcpy(report.target, ".");
	report.relative = true;
	report.directory = report.other = project;
	EXPECT(ESCAPE, "secret/key");
	/* Not lost, but it may start at either of two. */
	lose("project", EACCES, "project");
	report.operation = AC_OPERATION_WRITE;
	report.lost = false;
	(void)strcpy(report.target, "x");
	report.relative = true;
	report.directory = report.other = project;
	EXPECT(SILENT, "project/x");
	(void)strcpy(report.target, "x");
	report.other = secret;
	EXPECT(ESCAPE, "secret/x");
	/* Nor is it told which of two names it was. */
	lose("project", EACCES, "project");
	report.operation = AC_OPERATION_WRITE;
	report.lost = false;
	name(report.target, "project/x");
	name(report.also, "project/key");
	EXPECT(ESCAPE, "secret/key");
	/* Nor is it told which of two names it was. */
	lose("project", EACCES, "project");
	report.operation = AC_OPERATION_WRITE;
	report.lost = false;
	name(report.target, "project/x");
	name(report.also, "project/key");
	EXPECT(ESCAPE, "secret/key");
	(void)close(project);
	(void)close(secret);
}
END_TEST

START_TEST(too_many)
{
	char link[64];

	for (unsigned i = 0; i < 8200; i++) {
		(void)snprintf(link, sizeof(link), "project/%u", i);
		point(link, "../other/new");
	}
	lose("project", EACCES, "project");
	EXPECT(DENIED, "project");
	ck_assert_str_eq(report.reason, "refused; more lies there than can be looked through");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("resolve");
	TCase *cases = tcase_create("resolve");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, make, clear);
	tcase_add_test(cases, symlinks_that_lead_so_far);
	tcase_add_test(cases, directories_that_refuse);
	tcase_add_test(cases, what_is_known_without_looking);
	tcase_add_test(cases, descriptors);
	tcase_add_test(cases, too_many);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

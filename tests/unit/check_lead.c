/* SPDX-License-Identifier: ISC */
/*
 * Where a refused name leads: through symlinks, "..", descriptors and /proc; and when the process that
 * asked is gone, by another one of its cell, as far as nothing of the dead one's own is needed.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../auditd_rules/cell.h"

static char top[64], wanted[AC_PATH_MAX];
static struct ac_lead led;
static struct ac_report report;

static void make(void)
{
	char name[128];

	(void)strcpy(top, "/tmp/check_lead.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	ck_assert_int_eq(mkdir("secret", 0700) | mkdir("project", 0700), 0);
	ck_assert_int_eq(symlink("../secret/key", "project/plain"), 0);
	ck_assert_int_eq(symlink("/proc/self/cwd/secret", "project/own"), 0);
	ck_assert_int_eq(symlink("loop", "project/loop"), 0);
	(void)snprintf(name, sizeof(name), "%s/secret", top);
	ck_assert_int_eq(symlink(name, "project/absolute"), 0);
	memset(&report, 0, sizeof(report));
	report.pid = getpid();
	report.follow = true;
	report.directory = AT_FDCWD;
}

static void clear(void)
{
	static const char *const names[] = { "project/plain", "project/own", "project/loop",
		"project/absolute" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(names[i]);
	(void)rmdir("project");
	(void)rmdir("secret");
	(void)rmdir(top);
}

static int lead(const char *below)
{
	(void)snprintf(report.target, sizeof(report.target), "%s/%s", top, below);
	return ac_lead(&report, getpid(), &led);
}

static const char *in_top(const char *below)
{
	(void)snprintf(wanted, sizeof(wanted), "%s/%s", top, below);
	return wanted;
}

static pid_t dead_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* A directory that the session may not search is told: as others than its owner see it. */
START_TEST(shut_directories)
{
	report.uid = 70000;
	ck_assert_int_eq(chmod(top, 0711), 0);
	ck_assert_int_eq(lead("project"), 0);
	ck_assert(!led.barred);
	ck_assert_int_eq(lead("secret/key"), 0);
	ck_assert(led.barred);
	/* By ACL what is the user's is searched; to be root's is no user's. */
	report.owner = geteuid() ? geteuid() : 4242;
	ck_assert_int_eq(chown(in_top("secret"), report.owner, (gid_t)-1), 0);
	ck_assert_int_eq(lead("secret/key"), 0);
	ck_assert(!led.barred);
	ck_assert_int_eq(chown(in_top("secret"), geteuid(), (gid_t)-1), 0);
	report.owner = 0;
	report.uid = geteuid();
	ck_assert_int_eq(lead("secret/key"), 0);
	ck_assert(!led.barred);
}
END_TEST

/* What needs nothing of the process itself. */
static void walk_all(void)
{
	ck_assert_int_eq(lead("project/plain"), 0);
	ck_assert_str_eq(led.path, in_top("secret/key"));
	ck_assert_int_eq(lead("project/absolute/other"), 0);
	ck_assert_str_eq(led.path, in_top("secret/other"));
	ck_assert_int_eq(lead("project/absolute/../project/./plain"), 0);
	ck_assert_str_eq(led.path, in_top("secret/key"));
	ck_assert_int_eq(lead("project/none/../deeper"), 0);
	ck_assert_str_eq(led.path, in_top("project/deeper"));
	ck_assert_int_eq(lead("project/loop"), -ELOOP);
	(void)strcpy(report.target, "/proc/1/environ");
	ck_assert_int_eq(ac_lead(&report, getpid(), &led), 0);
	ck_assert_str_eq(led.path, "/proc/1/environ");
}

START_TEST(a_living_process)
{
	walk_all();
	ck_assert_int_eq(lead("project/own/key"), 0);
	ck_assert_str_eq(led.path, in_top("secret/key"));
	report.follow = false;
	ck_assert_int_eq(lead("project/plain"), 0);
	ck_assert_str_eq(led.path, in_top("project/plain"));
	report.relative = true;
	(void)strcpy(report.target, "project/absolute/x");
	ck_assert_int_eq(ac_lead(&report, 0, &led), 0);
	ck_assert_str_eq(led.path, in_top("secret/x"));
}
END_TEST

START_TEST(a_dead_one)
{
	report.pid = dead_process();
	walk_all();
	/* Its own descriptors and directory are nobody's now, and not those of whoever is asked. */
	ck_assert_int_eq(lead("project/own/key"), -ESRCH);
	(void)strcpy(report.target, "/proc/thread-self/cwd/secret");
	ck_assert_int_eq(ac_lead(&report, getpid(), &led), -ESRCH);
	report.relative = true;
	(void)strcpy(report.target, "project/plain");
	ck_assert_int_eq(ac_lead(&report, getpid(), &led), -ENOENT);
	report.directory = 0;
	ck_assert_int_eq(ac_lead(&report, getpid(), &led), -ENOENT);
}
END_TEST

START_TEST(all_dead)
{
	pid_t gone = dead_process();

	report.pid = gone;
	(void)strcpy(report.target, top);
	ck_assert_int_eq(ac_lead(&report, gone, &led), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lead");
	TCase *cases = tcase_create("lead");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, make, clear);
	tcase_add_test(cases, a_living_process);
	tcase_add_test(cases, a_dead_one);
	tcase_add_test(cases, all_dead);
	tcase_add_test(cases, shut_directories);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

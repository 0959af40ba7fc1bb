/* SPDX-License-Identifier: ISC */
/* Copies of small trees: what is taken, what is left out, and that neither side's links lead away. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safefile.h"
#include "tree.h"
#include "util.h"

static char directory[64];
static struct ac_tree_side from, to;
static struct ac_tree_limits left;
static struct ac_err err;

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
	char command[1024];
	va_list args;
	int length = snprintf(command, sizeof(command), "cd %s && ", directory);

	va_start(args, format);
	vsnprintf(command + length, sizeof(command) - (size_t)length, format, args);
	va_end(args);
	/* NOLINTNEXTLINE(cert-env33-c): a test, and no word of it comes from outside */
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void setup(void)
{
	strcpy(directory, "/tmp/check-tree-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	run("mkdir from to outside && echo secret >outside/secret");
	char path[128];

	snprintf(path, sizeof(path), "%s/from", directory);
	from = (struct ac_tree_side){ open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), NULL, (uid_t)-1,
		(gid_t)-1 };
	snprintf(path, sizeof(path), "%s/to", directory);
	to = (struct ac_tree_side){ open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), NULL, (uid_t)-1,
		(gid_t)-1 };
	left = (struct ac_tree_limits){ 1 << 20, 100, 8 };
	memset(&err, 0, sizeof(err));
}

static void teardown(void)
{
	close(from.fd);
	close(to.fd);
	run("cd / && rm -rf %s", directory);
}

static int copy(const char *path)
{
	return ac_tree_copy(&from, &to, path, &left, &err);
}

START_TEST(test_copies_whole)
{
	run("mkdir -p from/a/b/c from/a/empty && echo one >from/a/b/c/one && echo two >from/a/two");
	run("touch -d 2020-02-03T04:05:06.789 from/a/two && chmod 777 from/a/two && "
	    "touch 'from/a/b/-odd name\n'");
	ck_assert_msg(copy("a") == 0, "%s", err.text);
	run("diff -r from/a to/a && [ -d to/a/empty ]");
	run("[ \"$(stat -c %%Y-%%y from/a/two)\" = \"$(stat -c %%Y-%%y to/a/two)\" ]");
	run("[ \"$(stat -c %%a to/a to/a/two | tr '\\n' ' ')\" = '700 600 ' ]");
	ck_assert_uint_eq(left.entries, 100 - 7);
	ck_assert_uint_eq(left.bytes, (1 << 20) - 8);
}
END_TEST

START_TEST(test_path_in_depth_and_missing)
{
	run("mkdir -p from/x/y && echo 1 >from/x/y/f && echo 2 >from/x/other");
	ck_assert_int_eq(copy("x/y/f"), 0);
	run("[ \"$(cat to/x/y/f)\" = 1 ] && [ ! -e to/x/other ]");
	ck_assert_int_eq(copy("x/z"), -ENOENT);
	ck_assert_int_eq(copy("q/z"), -ENOENT);
	run("[ ! -e to/q ] && [ ! -e to/x/z ]");
}
END_TEST

START_TEST(test_merges_and_replaces)
{
	run("mkdir -p from/a to/a && echo new >from/a/f && echo old >to/a/f && echo mine >to/a/g");
	run("touch to/a/.agentcell.partial");
	ck_assert_msg(copy("a") == 0, "%s", err.text);
	run("[ \"$(cat to/a/f to/a/g | tr '\\n' ' ')\" = 'new mine ' ]");
	run("[ ! -e to/a/.agentcell.partial ]");
	run("echo NEW >from/a/f");
	left.bytes = 3;
	ck_assert_int_eq(copy("a"), -EFBIG);
	run("[ \"$(cat to/a/f)\" = new ] && [ ! -e to/a/.agentcell.partial ]");
}
END_TEST

START_TEST(test_source_links_lead_nowhere)
{
	run("mkdir from/a && ln -s ../../outside from/a/d && ln -s ../../outside/secret from/a/f");
	run("mkfifo from/a/p && echo x >from/a/x && ln -s a from/l");
	ck_assert_msg(copy("a") == 0, "%s", err.text);
	run("[ \"$(ls to/a)\" = x ]");
	ck_assert_int_eq(copy("l"), -ELOOP);
	ck_assert_int_eq(copy("l/x"), -ELOOP);
	ck_assert_int_eq(copy("../outside/secret"), -EXDEV);
}
END_TEST

START_TEST(test_target_links_lead_nowhere)
{
	run("mkdir -p from/a/b && echo x >from/a/secret && echo x >from/a/b/secret");
	run("ln -s ../outside to/a");
	ck_assert_int_lt(copy("a"), 0);
	run("[ \"$(cat outside/secret)\" = secret ] && [ \"$(ls outside)\" = secret ]");
	run("rm to/a && mkdir to/a && ln -s ../../outside to/a/b");
	ck_assert_int_lt(copy("a"), 0);
	run("[ \"$(cat outside/secret)\" = secret ] && [ \"$(ls outside)\" = secret ]");
	/* a link in the place of a file is replaced, not followed */
	run("rm to/a/b && ln -sf ../../outside/secret to/a/secret && "
	    "ln -sf ../../outside/secret to/a/.agentcell.partial");
	ck_assert_msg(copy("a") == 0, "%s", err.text);
	run("[ \"$(cat outside/secret to/a/secret | tr '\\n' ' ')\" = 'secret x ' ]");
}
END_TEST

START_TEST(test_limits)
{
	run("mkdir -p from/a && for i in 1 2 3 4 5; do echo $i >from/a/$i; done");
	left.entries = 5;
	ck_assert_int_eq(copy("a"), -E2BIG);
	left.entries = 6;
	ck_assert_msg(copy("a") == 0, "%s", err.text);
	run("mkdir -p from/d/1/2/3");
	left = (struct ac_tree_limits){ 1000, 100, 3 };
	ck_assert_int_eq(copy("d"), -ELOOP);
	left = (struct ac_tree_limits){ 1000, 100, 4 };
	ck_assert_msg(copy("d") == 0, "%s", err.text);
	ck_assert_uint_eq(left.depth, 4);
}
END_TEST

START_TEST(test_write)
{
	ck_assert_msg(ac_tree_write(&to, "a/b/f", "text", 4, &err) == 0, "%s", err.text);
	ck_assert_msg(ac_tree_write(&to, "a/b/f", "more", 4, &err) == 0, "%s", err.text);
	run("[ \"$(cat to/a/b/f)\" = more ] && [ \"$(ls -A to/a/b)\" = f ]");
	run("ln -s ../outside to/l");
	ck_assert_int_lt(ac_tree_write(&to, "l/f", "x", 1, &err), 0);
	run("[ \"$(ls outside)\" = secret ]");
}
END_TEST

/* Each side with other rights: the user cannot read the session's home, nor write elsewhere. */
START_TEST(test_rights)
{
	const struct ac_identity user = { 4711, 4712, 0, NULL };

	if (geteuid() != 0) {
		puts("SKIP: rights of each side (needs root)");
		return;
	}
	run("chmod 711 . && chown 4711:4712 to && chmod 700 to && chown -R 4713:4713 from && "
	    "chmod 700 from");
	run("mkdir from/a && echo 1 >from/a/f && chmod 600 from/a/f && chown 4713 from/a/f");
	to.who = &user;
	ck_assert_msg(copy("a") == 0, "%s", err.text);
	run("[ \"$(stat -c %%u:%%g to/a to/a/f | tr '\\n' ' ')\" = '4711:4712 4711:4712 ' ]");
	ck_assert_uint_eq(geteuid(), 0);
	/* read as the user: refused */
	from.who = &user;
	ck_assert_int_eq(copy("a"), -EACCES);
	/* the way back: read as the user, given to the session */
	to.uid = to.gid = 4713;
	to.who = NULL;
	run("mkdir back");
	struct ac_tree_side store = { to.fd, &user, (uid_t)-1, (gid_t)-1 };
	char path[128];

	snprintf(path, sizeof(path), "%s/back", directory);
	struct ac_tree_side home = { open(path, O_PATH | O_CLOEXEC), NULL, 4713, 4714 };

	ck_assert_msg(ac_tree_copy(&store, &home, "a", &left, &err) == 0, "%s", err.text);
	run("[ \"$(stat -c %%u:%%g back/a back/a/f | tr '\\n' ' ')\" = '4713:4714 4713:4714 ' ]");
	/* a directory of root's in the store stops the user's side */
	run("mkdir from/r && echo 1 >from/r/f && mkdir to/r && chmod 755 to/r");
	from.who = NULL;
	to.who = &user;
	to.uid = (uid_t)-1;
	ck_assert_int_eq(copy("r"), -EACCES);
	to.who = NULL;
	close(home.fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tree");
	TCase *tcase = tcase_create("tree");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_copies_whole);
	tcase_add_test(tcase, test_path_in_depth_and_missing);
	tcase_add_test(tcase, test_merges_and_replaces);
	tcase_add_test(tcase, test_source_links_lead_nowhere);
	tcase_add_test(tcase, test_target_links_lead_nowhere);
	tcase_add_test(tcase, test_limits);
	tcase_add_test(tcase, test_write);
	tcase_add_test(tcase, test_rights);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

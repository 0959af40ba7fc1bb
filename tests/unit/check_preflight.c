/* SPDX-License-Identifier: ISC */
/* The preflight snapshot: what it says, and that a repository made by an agent cannot lead it astray. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preflight.h"
#include "util.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define OTHER_ID "89abcdef0123456789abcdef0123456789abcdef"

static char base[64];
static struct ac_session_policy session;
static struct ac_path_list paths;
static int root_fd;

static void in_base(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", base, name);
}

static void put(const char *name, const char *content)
{
	char path[256];

	in_base(path, name);
	ac_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
}

static void put_directory(const char *name)
{
	char path[256];

	in_base(path, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void setup(void)
{
	snprintf(base, sizeof base, "/tmp/check-preflight.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	memset(&session, 0, sizeof session);
	snprintf(session.plan.harness, sizeof session.plan.harness, "claude");
	snprintf(session.plan.command, sizeof session.plan.command, "%s/bin/claude", base);
	session.policy.limits.wall_clock_s = 3600;
	session.policy.risk = AC_RISK_HIGH;
	paths.count = 1;
	snprintf(paths.entry[0].path, AC_PATH_MAX, "%s", base);
	root_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put("config", "abc");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void teardown(void)
{
	close(root_fd);
	ck_assert_int_eq(nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static json_object *snapshot(const char *variables, int fd)
{
	char config[256];

	in_base(config, "config");
	ac_autofree char *first = ac_preflight_dup(&session, config, variables);

	ck_assert_ptr_nonnull(first);
	ac_autofree char *text = ac_preflight_complete_dup(first, &paths, &fd);

	ck_assert_ptr_nonnull(text);
	json_object *object = json_tokener_parse(text);

	ck_assert_ptr_nonnull(object);
	return object;
}

/* "a.b.0" in words; "-" where there is nothing. */
static const char *value_at(json_object *object, const char *key)
{
	char copy[64], *rest = copy;

	snprintf(copy, sizeof copy, "%s", key);
	for (const char *part; object && (part = strsep(&rest, "."));)
		if (json_object_is_type(object, json_type_array))
			object = json_object_array_get_idx(object, strtoul(part, NULL, 10));
		else if (!json_object_object_get_ex(object, part, &object))
			object = NULL;
	return object ? json_object_get_string(object) : "-";
}

static void expect(json_object *object, const char *key, const char *want)
{
	ck_assert_msg(!strcmp(value_at(object, key), want), "%s is %s, not %s", key,
		value_at(object, key), want);
}

START_TEST(test_words)
{
	json_object *object = snapshot("HOME PATH ANTHROPIC_API_KEY ", root_fd);

	expect(object, "variables", "[ \"HOME\", \"PATH\", \"ANTHROPIC_API_KEY\" ]");
	expect(object, "harness.name", "claude");
	expect(object, "harness.path", session.plan.command);
	expect(object, "harness.size", "-"); /* it is not there */
	expect(object, "config.sha256",
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"); /* FIPS 180 */
	expect(object, "policy.risk", "high");
	expect(object, "policy.wall_clock_s", "3600");
	expect(object, "git", "[ ]");
	ck_assert_uint_gt(strlen(value_at(object, "kernel.release")), 2);
	json_object_put(object);
}
END_TEST

START_TEST(test_harness)
{
	char path[256];

	put_directory("lib");
	put_directory("bin");
	put("lib/cli.js", "12345");
	put("lib/package.json", "{\"name\":\"x\",\"version\":\"2.1.3\\n\"}");
	in_base(path, "bin/claude");
	ck_assert_int_eq(symlink("../lib/cli.js", path), 0);
	json_object *object = snapshot("", root_fd);

	expect(object, "harness.size", "5");
	expect(object, "harness.version", "2.1.3%0A");
	in_base(path, "lib/cli.js");
	expect(object, "harness.program", path);
	json_object_put(object);
}
END_TEST

START_TEST(test_git)
{
	put_directory(".git");
	put_directory(".git/refs");
	put_directory(".git/refs/heads");
	put(".git/HEAD", "ref: refs/heads/main\n");
	json_object *object = snapshot(NULL, root_fd);

	expect(object, "git.0.path", base);
	expect(object, "git.0.branch", "refs/heads/main");
	expect(object, "git.0.head", "-");
	json_object_put(object);
	put(".git/packed-refs", "# pack-refs\n" OTHER_ID " refs/heads/mai\n" ID
				" refs/heads/main\n" OTHER_ID " refs/heads/main2\n");
	object = snapshot(NULL, -1); /* by its path */
	expect(object, "git.0.head", ID);
	json_object_put(object);
	put(".git/refs/heads/main", OTHER_ID "\n"); /* a loose one is newer */
	put(".git/MERGE_HEAD", ID "\n");
	object = snapshot(NULL, root_fd);
	expect(object, "git.0.head", OTHER_ID);
	expect(object, "git.0.state", "merging");
	json_object_put(object);
	put(".git/HEAD", ID "\n");
	object = snapshot(NULL, root_fd);
	expect(object, "git.0.head", ID);
	expect(object, "git.0.branch", "-");
	json_object_put(object);
}
END_TEST

START_TEST(test_worktree)
{
	put(".git", "gitdir: /somewhere/.git/worktrees/x\n");
	json_object *object = snapshot(NULL, root_fd);

	expect(object, "git.0.elsewhere", "gitdir: /somewhere/.git/worktrees/x");
	json_object_put(object);
}
END_TEST

/* Nothing outside is read, whatever an earlier agent left; nothing waits. */
START_TEST(test_hostile)
{
	char path[256], target[256];
	json_object *object;

	put("secret", ID "\n");
	put_directory("away");
	put("away/HEAD", ID "\n");
	in_base(path, ".git");
	switch (_i) {
	case 0: /* the whole is a symlink */
		in_base(target, "away");
		ck_assert_int_eq(symlink(target, path), 0);
		break;
	case 1: /* HEAD is */
		put_directory(".git");
		in_base(path, ".git/HEAD");
		ck_assert_int_eq(symlink("../secret", path), 0);
		break;
	case 2: /* a name leads out of it, or out of all */
		put_directory(".git");
		put(".git/HEAD", "ref: refs/../../secret\n");
		break;
	case 3:
		put_directory(".git");
		put(".git/HEAD", "ref: /etc/passwd\n");
		break;
	case 4: /* nobody writes into it */
		put_directory(".git");
		in_base(path, ".git/HEAD");
		ck_assert_int_eq(mkfifo(path, 0644), 0);
		break;
	default: /* not in the words of git */
		put_directory(".git");
		put(".git/HEAD", "ref: refs/heads/\x1b[31m\xff\n");
		break;
	}
	object = snapshot(NULL, root_fd);
	expect(object, "git.0.head", "-");
	if (_i == 5)
		expect(object, "git.0.branch", "refs/heads/%1B[31m%FF");
	json_object_put(object);
}
END_TEST

START_TEST(test_no_json)
{
	ck_assert_ptr_null(ac_preflight_complete_dup("[", &paths, &root_fd));
	ck_assert_ptr_null(ac_preflight_complete_dup("[1]", &paths, &root_fd));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("preflight");
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_words);
	tcase_add_test(tests, test_harness);
	tcase_add_test(tests, test_git);
	tcase_add_test(tests, test_worktree);
	tcase_add_loop_test(tests, test_hostile, 0, 6);
	tcase_add_test(tests, test_no_json);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed != 0;
}

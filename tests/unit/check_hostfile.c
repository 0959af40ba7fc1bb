/* SPDX-License-Identifier: ISC */
/* Which files of a project the host heeds. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile.h"

static const struct {
	const char *path, *by; /* NULL: nobody */
} cases[] = {
	{ "/p/.envrc", "direnv" },
	{ "/p/sub/.envrc", "direnv" },
	{ "/p/.envrc/x", NULL },
	{ "/p/x.envrc", NULL },
	{ "/p/.vscode/tasks.json", "the editor" },
	{ "/p/.vscode/deep/down", "the editor" },
	{ "/p/.vscode", NULL },
	{ "/p/.mcp.json", "agents" },
	{ "/p/package.json", "npm" },
	{ "/p/package.json.bak", NULL },
	{ "/p/Makefile", "make" },
	{ "/p/Makefile.am", "make" },
	{ "/p/rules.mk", "make" },
	{ "/p/rules.mkv", NULL },
	{ "/p/.husky/pre-commit", "git" },
	{ "/p/.git/hooks/post-checkout", "git" },
	{ "/p/.git/config", "git" },
	{ "/p/.git", "git" },
	{ "/p/.git/modules/a/config", "git" },
	{ "/p/.git/objects/ab/cdef", NULL },
	{ "/p/.git/index", NULL },
	{ "/p/git/config", NULL },
	{ "/p/nested/.git/config", "git" },
	{ "/p/.github/workflows/ci.yml", "CI" },
	{ "/p/.gitlab-ci.yml", "CI" },
	{ "/p/vite.config.ts", "node tools" },
	{ "/p/src/main.c", NULL },
	{ "/p/README.md", NULL },
	{ "/", NULL },
	{ "", NULL },
	{ "Makefile", "make" },
	{ "/p/\377\376/Makefile", "make" },
	{ "/p/*", NULL },
	{ "/p/a\nb/.envrc", "direnv" },
};

START_TEST(test_heeded)
{
	const char *by = ac_hostfile_heeded_by(cases[_i].path);

	if (cases[_i].by)
		ck_assert_msg(by && !strcmp(by, cases[_i].by), "%s: %s", cases[_i].path,
			by ? by : "nobody");
	else
		ck_assert_msg(!by, "%s: %s", cases[_i].path, by);
}
END_TEST

START_TEST(test_long_names)
{
	char path[9000];

	memset(path, 'a', sizeof path);
	path[0] = '/';
	path[sizeof path - 1] = '\0';
	ck_assert_ptr_null(ac_hostfile_heeded_by(path));
	strcpy(path + sizeof path - 10, "/Makefile");
	ck_assert_str_eq(ac_hostfile_heeded_by(path), "make");
}
END_TEST

START_TEST(test_package_trees)
{
	ck_assert_uint_eq(ac_hostfile_package_tree("/p/node_modules/x/package.json"), 15);
	ck_assert_uint_eq(ac_hostfile_package_tree("/p/node_modules/x/node_modules/y"), 15);
	ck_assert_uint_eq(ac_hostfile_package_tree("/p/node_modules"), 0);
	ck_assert_uint_eq(ac_hostfile_package_tree("/p/my_node_modules/x"), 0);
	ck_assert_uint_eq(ac_hostfile_package_tree("/p/.venv/bin/activate"), 8);
	ck_assert_uint_eq(ac_hostfile_package_tree("/p/src/main.c"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostfile");
	TCase *group = tcase_create("table");

	tcase_add_loop_test(group, test_heeded, 0, sizeof cases / sizeof cases[0]);
	tcase_add_test(group, test_long_names);
	tcase_add_test(group, test_package_trees);
	suite_add_tcase(suite, group);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed != 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * The policy decision: one policy with everything in it, and what each access to it must be told.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide.h"

static struct ac_policy *policy;

static void list(struct ac_path_list *paths, const char *path)
{
	snprintf(paths->entry[paths->count++].path, AC_PATH_MAX, "%s", path);
}

static void set_up(void)
{
	policy = calloc(1, sizeof(*policy));
	ck_assert_ptr_nonnull(policy);
	list(&policy->write_paths, "/home/u/project");
	list(&policy->write_paths, "/home/u/.config/tool");
	list(&policy->write_paths, "/srv/ro/hole");
	list(&policy->read_paths, "/srv/ro");
	list(&policy->read_paths, "/home/u/project/vendor");
	list(&policy->tool_paths, "/opt/node");
	list(&policy->excluded_paths, "/home/u/project/secret");
	list(&policy->excluded_paths, "/home/u/.config/tool/keys");
	list(&policy->bait_paths, "/home/u/.ssh");
	list(&policy->bait_paths, "/home/u/.config");
	list(&policy->bait_paths, "/home/u/project/.env");
	strcpy(policy->home, "/home/agent");
}

static void tear_down(void)
{
	free(policy);
}

#define D AC_DECISION_DENIED
#define A AC_DECISION_ALLOWED
#define X AC_DECISION_EXCLUDED
#define B AC_DECISION_BAIT

static const struct {
	const char *path;
	enum ac_decision read, write, execute;
} cases[] = {
	{ "/home/u/project", A, A, A },
	{ "/home/u/project/src/main.c", A, A, A },
	{ "/home/u/projects", D, D, D },
	{ "/home/u/project/vendor/lib", A, D, A }, /* the longer entry says read-only */
	{ "/home/u/project/secret", X, X, X },
	{ "/home/u/project/secret/key", X, X, X },
	{ "/home/u/project/secrets", A, A, A },
	{ "/home/u/project/.env", B, B, B },
	{ "/home/u/project/.environment", A, A, A },
	{ "/srv/ro/x", A, D, A },
	{ "/srv/ro/hole/x", A, A, A },
	{ "/opt/node/bin/node", A, D, A },
	{ "/home/u/.ssh/id_ed25519", B, B, B },
	{ "/home/u/.config", B, B, B },
	{ "/home/u/.config/other", B, B, B },
	{ "/home/u/.config/tool/x", A, A, A }, /* declared below bait */
	{ "/home/u/.config/tool/keys/x", X, X, X },
	{ "/home/agent/.cache/x", A, A, A },
	{ "/home/agents", D, D, D },
	{ "/home/u", D, D, D },
	{ "/", D, D, D },
	{ "/etc/passwd", D, D, D },
	{ "", D, D, D },
	{ "home/u/project", D, D, D },
	{ "/home/u/project/../.ssh/id", D, D, D }, /* not canonical */
	{ "/home/u/project/", D, D, D },
};

START_TEST(each_access)
{
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = cases[i].path;

		ck_assert_msg(ac_policy_decide(policy, AC_OPERATION_READ, path) == cases[i].read,
			"read '%s'", path);
		ck_assert_msg(ac_policy_decide(policy, AC_OPERATION_WRITE, path) == cases[i].write,
			"write '%s'", path);
		ck_assert_msg(
			ac_policy_decide(policy, AC_OPERATION_EXECUTE, path) == cases[i].execute,
			"execute '%s'", path);
	}
}
END_TEST

START_TEST(no_path_operations)
{
	const char *path = "/home/u/project";

	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, path), A);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_NETWORK, path), D);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_PRIVILEGE, path), D);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_COUNT, path), D);
	ck_assert_int_eq(ac_policy_decide(policy, (enum ac_operation)77, path), D);
}
END_TEST

START_TEST(empty_policy)
{
	memset(policy, 0, sizeof(*policy));
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, "/"), D);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, "/home/u/project"), D);
	policy->write_paths.count = 1; /* an entry that was never filled in covers nothing */
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, "/home/u/project"), D);
}
END_TEST

/* Deny wins: bait or an exclusion on the very path that is declared. */
START_TEST(the_same_path_twice)
{
	const char *path = "/home/u/project";

	list(&policy->read_paths, path);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, path), A);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_WRITE, path), D);
	list(&policy->excluded_paths, path);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, path), X);
	list(&policy->bait_paths, path);
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_READ, path), B);
}
END_TEST

START_TEST(full_lists)
{
	memset(policy, 0, sizeof(*policy));
	for (unsigned i = 0; i < AC_PATHS_MAX; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/p/%u", i);
		list(&policy->write_paths, path);
	}
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_WRITE, "/p/31/x"), A);
	policy->write_paths.count = 4000000000u; /* no count leads behind the array */
	ck_assert_int_eq(ac_policy_decide(policy, AC_OPERATION_WRITE, "/p/32"), D);
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(ac_operation_name(AC_OPERATION_READ), "read");
	ck_assert_str_eq(ac_operation_name(AC_OPERATION_WRITE), "write");
	ck_assert_str_eq(ac_operation_name(AC_OPERATION_EXECUTE), "execute");
	ck_assert_str_eq(ac_operation_name(AC_OPERATION_NETWORK), "network");
	ck_assert_str_eq(ac_operation_name(AC_OPERATION_PRIVILEGE), "privilege");
	ck_assert_ptr_null(ac_operation_name(AC_OPERATION_COUNT));
	ck_assert_ptr_null(ac_operation_name((enum ac_operation)77));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decide");
	TCase *tests = tcase_create("decide");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, each_access);
	tcase_add_test(tests, no_path_operations);
	tcase_add_test(tests, empty_policy);
	tcase_add_test(tests, the_same_path_twice);
	tcase_add_test(tests, full_lists);
	tcase_add_test(tests, names);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/* sudo's vectors -> struct ac_request; wishes; refused options. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../sudo_plugin/request.h"
#include "util.h"

static struct ac_request request;
static struct ac_err err;

static char *user_info[] = { (char[]){ "user=dev" }, (char[]){ "uid=1000" }, (char[]){ "gid=1001" },
	(char[]){ "groups=1001,27,100" }, (char[]){ "cwd=/home/dev/p" }, (char[]){ "umask=0027" },
	NULL };

static void setup(void)
{
	memset(&request, 0, sizeof request);
	memset(&err, 0, sizeof err);
}

START_TEST(last_value_wins)
{
	char *const vector[] = { (char[]){ "a=1" }, (char[]){ "ab=2" }, (char[]){ "a=3" }, NULL };

	ck_assert_str_eq(ac_vector_get(vector, "a"), "3");
	ck_assert_str_eq(ac_vector_get(vector, "ab"), "2");
	ck_assert_ptr_null(ac_vector_get(vector, "b"));
	ck_assert_ptr_null(ac_vector_get(NULL, "b"));
}
END_TEST

START_TEST(numbers_are_exact)
{
	unsigned long number = 7;
	static const char *const bad[] = { "", " 1", "1 ", "+1", "-1", "0x1", "1a", "4294967295",
		"99999999999999999999999" };

	for (size_t i = 0; i < AC_COUNT(bad); i++)
		ck_assert_int_ne(ac_number_parse(bad[i], 4294967294ul, &number), 0);
	ck_assert_int_ne(ac_number_parse(NULL, 10, &number), 0);
	ck_assert_uint_eq(number, 7);
	ck_assert_int_eq(ac_number_parse("4294967294", 4294967294ul, &number), 0);
	ck_assert_uint_eq(number, 4294967294ul);
	ck_assert_int_eq(ac_number_parse("18446744073709551615", ~0ul, &number), 0);
	ck_assert_int_ne(ac_number_parse("18446744073709551616", ~0ul, &number), 0);
	ck_assert_int_ne(ac_number_parse("9", 5, &number), 0);
}
END_TEST

START_TEST(reads_the_user)
{
	char *const settings[] = { (char[]){ "runas_user=agentcell-worker" }, NULL };

	ck_assert_int_eq(ac_request_read(&request, settings, user_info, &err), 0);
	ck_assert_str_eq(request.user, "dev");
	ck_assert_uint_eq(request.uid, 1000);
	ck_assert_uint_eq(request.gid, 1001);
	ck_assert_uint_eq(request.group_count, 3);
	ck_assert_uint_eq(request.groups[1], 27);
	ck_assert(request.has_umask);
	ck_assert_uint_eq(request.umask, 027);
	ck_assert_ptr_null(request.forbidden);
}
END_TEST

static const struct {
	const char *entry;
} bad_info[] = { { "uid=" }, { "uid=-1" }, { "uid=4294967295" }, { "gid=x" }, { "groups=1,,2x" },
	{ "groups=99999999999" }, { "user=" }, { "user=../x" }, { "user=.x" }, { "umask=9" },
	{ "umask=777777777777" } };

START_TEST(refuses_bad_user_info)
{
	char entry[64];
	char *info[8];

	strcpy(entry, bad_info[_i].entry);
	memcpy(info, user_info, sizeof user_info);
	info[6] = entry;
	info[7] = NULL;
	ck_assert_int_lt(ac_request_read(&request, NULL, info, &err), 0);
	ck_assert_int_ne(err.code, 0);
}
END_TEST

static const char *const options[] = { "sudoedit=true", "run_shell=true", "login_shell=true",
	"implied_shell=true", "preserve_environment=true", "preserve_groups=true",
	"runas_group=root", "cmnd_chroot=/x", "closefrom=5", "remote_host=h", "set_home=true",
	"selinux_role=r", "selinux_type=t", "apparmor_profile=p" };

START_TEST(names_each_forbidden_option)
{
	char entry[64];
	char *settings[] = { entry, NULL };

	strcpy(entry, options[_i]);
	ck_assert_int_eq(ac_request_read(&request, settings, user_info, &err), 0);
	ck_assert_ptr_nonnull(request.forbidden);
	/* "false" is how sudo says that an option was not given. */
	if (strstr(entry, "=true")) {
		strcpy(strchr(entry, '='), "=false");
		ck_assert_int_eq(ac_request_read(&request, settings, user_info, &err), 0);
		ck_assert_ptr_null(request.forbidden);
	}
}
END_TEST

START_TEST(takes_wishes_out_of_env_add)
{
	struct ac_wishes wishes;
	char *env_add[] = { (char[]){ "A=1" }, (char[]){ "AGENTCELL_PATHS=/a:/b" },
		(char[]){ "B=2" }, (char[]){ "AGENTCELL_RISK=high" }, NULL };
	char *const user_env[] = { (char[]){ "AGENTCELL_RISK=low" },
		(char[]){ "AGENTCELL_HARNESS=codex" }, (char[]){ "AGENTCELL_SESSION=x" }, NULL };

	ck_assert_int_eq(ac_wishes_take(&wishes, env_add, user_env, &err), 0);
	ck_assert_str_eq(env_add[0], "A=1");
	ck_assert_str_eq(env_add[1], "B=2");
	ck_assert_ptr_null(env_add[2]);
	ck_assert_str_eq(wishes.paths, "/a:/b");
	ck_assert_str_eq(wishes.risk, "high"); /* the command line wins */
	ck_assert_str_eq(wishes.harness, "codex");
	ck_assert_ptr_null(wishes.exclude);
}
END_TEST

START_TEST(refuses_unknown_wishes)
{
	struct ac_wishes wishes;
	char *env_add[] = { (char[]){ "AGENTCELL_PATH=/a" }, NULL };

	ck_assert_int_lt(ac_wishes_take(&wishes, env_add, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "AGENTCELL_PATH"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("request");
	TCase *test = tcase_create("all");

	tcase_add_checked_fixture(test, setup, NULL);
	tcase_add_test(test, last_value_wins);
	tcase_add_test(test, numbers_are_exact);
	tcase_add_test(test, reads_the_user);
	tcase_add_loop_test(test, refuses_bad_user_info, 0, (int)AC_COUNT(bad_info));
	tcase_add_loop_test(test, names_each_forbidden_option, 0, (int)AC_COUNT(options));
	tcase_add_test(test, takes_wishes_out_of_env_add);
	tcase_add_test(test, refuses_unknown_wishes);
	suite_add_tcase(suite, test);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

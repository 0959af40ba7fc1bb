/* SPDX-License-Identifier: ISC */
/*
 * The built agentcell_policy.so between a scripted front end (this program) and a scripted
 * sudoers.so.  Each test runs in a process of its own: the plugin's state is one per process.
 */
#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fake_sudoers.h"
#include "util.h"

#ifndef TEST_BUILD
#define TEST_BUILD "build"
#endif

static struct policy_plugin *plugin;
static struct fake *fake;
static const char *directory = TEST_BUILD "/fake/";
static const char *errstr;
static char *environment[] = { NULL };
static char *const user_info[] = { (char[]){ "user=dev" }, (char[]){ "uid=1000" },
	(char[]){ "gid=1000" }, (char[]){ "groups=1000" }, (char[]){ "cwd=/tmp" }, NULL };

/* What libsudo_util exports inside sudo. */
__attribute__((visibility("default"))) const char *sudo_conf_plugin_dir_path_v1(void);
const char *sudo_conf_plugin_dir_path_v1(void)
{
	return directory;
}

static struct sudo_plugin_event *event_alloc(void)
{
	return NULL;
}

static int print(int type, const char *format, ...)
{
	(void)type;
	(void)format;
	return 0;
}

static int no_hooks(struct sudo_hook *hook)
{
	(void)hook;
	return 0;
}

static void load(void)
{
	void *handle = dlopen(TEST_BUILD "/agentcell_policy.so", RTLD_LAZY | RTLD_GLOBAL);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	plugin = dlsym(handle, "sudoers_agentcell");
	ck_assert_ptr_nonnull(plugin);
	plugin->event_alloc = event_alloc;
	plugin->register_hooks(SUDO_HOOK_VERSION, no_hooks);
	void *sudoers = dlopen(TEST_BUILD "/fake/sudoers.so", RTLD_LAZY | RTLD_NOLOAD);

	if (!sudoers)
		return;
	fake = dlsym(sudoers, "fake");
	((struct audit_plugin *)dlsym(sudoers, "sudoers_audit"))->event_alloc = event_alloc;
	((struct io_plugin *)dlsym(sudoers, "sudoers_io"))->event_alloc = event_alloc;
}

static int open_with(char *const settings[])
{
	return plugin->open(
		SUDO_API_VERSION, NULL, print, settings, user_info, environment, NULL, &errstr);
}

static int check(char *env_add[], char ***info)
{
	char *argv[] = { (char[]){ "id" }, NULL };
	char **argv_out = NULL, **env_out = NULL;

	fake->argv = argv;
	fake->environment = environment;
	int result = plugin->check_policy(1, argv, env_add, info, &argv_out, &env_out, &errstr);

	if (result == 1) {
		ck_assert_ptr_eq(argv_out, argv);
		ck_assert_ptr_eq(env_out, environment);
	}
	return result;
}

static char *root_info[] = { (char[]){ "command=/usr/bin/id" }, (char[]){ "runas_uid=0" },
	(char[]){ "runas_user=root" }, NULL };
static char *role_info[] = { (char[]){ "command=/usr/bin/id" }, (char[]){ "runas_uid=998" },
	(char[]){ "runas_user=agentcell-worker" }, NULL };

START_TEST(opens_sudoers_with_our_event_loop)
{
	char *const settings[] = { (char[]){ "progname=sudo" }, NULL };

	load();
	fake->open_result = _i;
	fake->errstr = "said by sudoers";
	ck_assert_int_eq(open_with(settings), _i);
	ck_assert_uint_eq(fake->opened, 1);
	ck_assert_ptr_eq(fake->settings, settings);
	ck_assert(fake->event_alloc == (void *)event_alloc);
	if (_i != 1)
		ck_assert_str_eq(errstr, "said by sudoers");
}
END_TEST

START_TEST(hands_every_answer_on)
{
	static const int answers[] = { 1, 0, -1, -2 };
	char *const settings[] = { NULL };
	char **info = NULL;

	load();
	ck_assert_int_eq(open_with(settings), 1);
	fake->command_info = root_info;
	fake->errstr = "said by sudoers";
	fake->check_result = answers[_i];
	ck_assert_int_eq(check(NULL, &info), answers[_i]);
	ck_assert_ptr_eq(info, root_info);
	if (answers[_i] != 1)
		ck_assert_str_eq(errstr, "said by sudoers");
	plugin->close(0x700, 5);
	ck_assert_uint_eq(fake->closed, 1);
	ck_assert_int_eq(fake->close_status, 0x700);
	ck_assert_int_eq(fake->close_error, 5);
}
END_TEST

START_TEST(delegates_the_rest)
{
	char *const settings[] = { NULL };
	struct passwd *account = (struct passwd *)(void *)environment;
	char **env_out = NULL;

	load();
	ck_assert_int_eq(open_with(settings), 1);
	ck_assert_int_eq(plugin->list(0, NULL, 1, NULL, &errstr), 1);
	ck_assert_int_eq(plugin->validate(&errstr), 1);
	plugin->invalidate(1);
	ck_assert_int_eq(plugin->show_version(1), 1);
	ck_assert_int_eq(plugin->init_session(account, &env_out, &errstr), 1);
	ck_assert_ptr_eq(fake->init_account, account);
	ck_assert_uint_eq(fake->listed + fake->validated + fake->invalidated + fake->versions, 4);
	ck_assert_int_eq(fake->removed_credentials, 1);
	fake->list_result = fake->validate_result = fake->init_result = 0;
	ck_assert_int_eq(plugin->list(0, NULL, 1, NULL, &errstr), 0);
	ck_assert_int_eq(plugin->validate(&errstr), 0);
	ck_assert_int_eq(plugin->init_session(account, &env_out, &errstr), 0);
}
END_TEST

START_TEST(leaves_other_peoples_variables_alone)
{
	char *const settings[] = { (char[]){ "runas_user=root" }, NULL };
	char *env_add[] = { (char[]){ "AGENTCELL_PATHS=/a" }, (char[]){ "A=1" }, NULL };
	char **info = NULL;

	load();
	ck_assert_int_eq(open_with(settings), 1);
	fake->command_info = root_info;
	ck_assert_int_eq(check(env_add, &info), 1);
	ck_assert_str_eq(fake->env_add[0], "AGENTCELL_PATHS=/a");
	ck_assert_str_eq(fake->env_add[1], "A=1");
}
END_TEST

START_TEST(takes_settings_away_from_sudoers_for_the_role)
{
	char *const settings[] = { (char[]){ "runas_user=agentcell-worker" }, NULL };
	char *env_add[] = { (char[]){ "AGENTCELL_PATHS=/a" }, (char[]){ "A=1" }, NULL };
	char **info = NULL;

	load();
	ck_assert_int_eq(open_with(settings), 1);
	fake->command_info = role_info;
	fake->check_result = 0;
	ck_assert_int_eq(check(env_add, &info), 0);
	ck_assert_str_eq(fake->env_add[0], "A=1");
	ck_assert_ptr_null(fake->env_add[1]);
}
END_TEST

/* Whatever is broken behind it, the role account is never run as sudoers would have run it. */
START_TEST(never_accepts_the_role_unconfined)
{
	char *const settings[] = { NULL };
	char **info = NULL;

	load();
	ck_assert_int_eq(open_with(settings), 1);
	fake->command_info = role_info;
	int result = check(NULL, &info);

	ck_assert_int_ne(result, 1);
	ck_assert_ptr_nonnull(errstr);
}
END_TEST

START_TEST(refuses_the_role_without_a_command_log)
{
	char *const settings[] = { NULL };
	char **info = NULL;

	load();
	void *sudoers = dlopen(TEST_BUILD "/fake/sudoers.so", RTLD_LAZY | RTLD_NOLOAD);

	((struct audit_plugin *)dlsym(sudoers, "sudoers_audit"))->event_alloc = NULL;
	ck_assert_int_eq(open_with(settings), 1);
	fake->command_info = role_info;
	ck_assert_int_ne(check(NULL, &info), 1);
	ck_assert_ptr_nonnull(strstr(errstr, "sudoers_audit"));
	/* Others are not locked out. */
	fake->command_info = root_info;
	ck_assert_int_eq(check(NULL, &info), 1);
}
END_TEST

static const char *const session_ids[] = { "runas_uid=70001", "runas_euid=70999", "runas_gid=70000",
	"runas_egid=70500" };

START_TEST(lets_nobody_into_the_session_range)
{
	char entry[32];
	char *const settings[] = { NULL };
	char *info_in[] = { (char[]){ "command=/usr/bin/id" }, (char[]){ "runas_uid=1000" }, entry,
		NULL };
	char **info = NULL;

	strcpy(entry, session_ids[_i]);
	load();
	ck_assert_int_eq(open_with(settings), 1);
	fake->command_info = info_in;
	ck_assert_int_ne(check(NULL, &info), 1);
	/* Control: the same request for an ordinary id. */
	strcpy(strchr(entry, '='), "=1001");
	ck_assert_int_eq(check(NULL, &info), 1);
}
END_TEST

START_TEST(says_so_when_sudoers_is_missing)
{
	char *const settings[] = { NULL };

	directory = TEST_BUILD "/nowhere";
	load();
	ck_assert_int_eq(open_with(settings), -1);
	ck_assert_ptr_nonnull(strstr(errstr, "sudoers.so"));
	plugin->close(0, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin");
	TCase *test = tcase_create("all");

	tcase_add_loop_test(test, opens_sudoers_with_our_event_loop, -1, 2);
	tcase_add_loop_test(test, hands_every_answer_on, 0, 4);
	tcase_add_test(test, delegates_the_rest);
	tcase_add_test(test, leaves_other_peoples_variables_alone);
	tcase_add_test(test, takes_settings_away_from_sudoers_for_the_role);
	tcase_add_test(test, never_accepts_the_role_unconfined);
	tcase_add_test(test, refuses_the_role_without_a_command_log);
	tcase_add_loop_test(test, lets_nobody_into_the_session_range, 0, 4);
	tcase_add_test(test, says_so_when_sudoers_is_missing);
	suite_add_tcase(suite, test);
	SRunner *runner = srunner_create(suite);

	/* One process a test, always: the plugin keeps static state. */
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

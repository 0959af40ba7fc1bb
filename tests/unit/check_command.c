/* SPDX-License-Identifier: ISC */
/* command_info, argv and environment of an agent session; terms; id maps. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../sudo_plugin/command.h"
#include "../../sudo_plugin/terms.h"
#include "idmap.h"
#include "util.h"

static struct ac_session_policy *session;
static struct ac_harness *harness;
static struct ac_request request;

static void setup(void)
{
	session = calloc(1, sizeof *session);
	harness = calloc(1, sizeof *harness);
	memset(&request, 0, sizeof request);
	strcpy(session->plan.session_id, "0123456789ab");
	strcpy(session->plan.cwd, "/home/dev/p");
	strcpy(session->plan.command, "/usr/bin/claude");
	strcpy(session->plan.user, "dev");
	strcpy(session->plan.harness, "claude_code");
	strcpy(session->policy.session_id, "0123456789ab");
	strcpy(session->policy.role_user, "agentcell-worker");
	strcpy(session->policy.os_user, "agentcell-0123456789ab");
	strcpy(session->policy.home, "/home/agentcell-0123456789ab");
	session->policy.uid = session->policy.gid = 70001;
	session->policy.limits.wall_clock_s = 3600;
}

/* sudo keeps what it was given; a test gives it back. */
static char **kept[16];
static unsigned kept_count;

static char **keep(char **vector)
{
	ck_assert_uint_lt(kept_count, AC_COUNT(kept));
	return kept[kept_count++] = vector;
}

static void teardown(void)
{
	while (kept_count > 0) {
		char **vector = kept[--kept_count];

		for (size_t i = 0; vector && vector[i]; i++)
			free(vector[i]);
		free(vector);
	}
	free(session);
	free(harness);
}

static char *const sudoers_info[] = { (char[]){ "command=/usr/bin/claude" },
	(char[]){ "runas_uid=998" }, (char[]){ "runas_user=agentcell-worker" },
	(char[]){ "preserve_groups=true" }, (char[]){ "chroot=/x" }, (char[]){ "execfd=5" },
	(char[]){ "intercept=true" }, (char[]){ "use_ptrace=true" }, (char[]){ "preserve_fds=1,9" },
	(char[]){ "login_class=x" }, (char[]){ "set_utmp=true" }, (char[]){ "nice=-5" },
	(char[]){ "iolog_path=/var/log/x" }, (char[]){ "iolog_ttyout=true" },
	(char[]){ "log_servers=h" }, (char[]){ "timeout=60" }, NULL };

START_TEST(info_is_an_allowlist)
{
	char **info = keep(ac_command_info_dup(session, &request, sudoers_info, 5));
	static const char *const absent[] = { "preserve_groups", "chroot", "execfd", "intercept",
		"use_ptrace", "login_class", "nice", "runas_euid", "runas_egid", "noexec" };

	ck_assert_ptr_nonnull(info);
	for (size_t i = 0; i < AC_COUNT(absent); i++)
		ck_assert_ptr_null(ac_vector_get(info, absent[i]));
	ck_assert_str_eq(ac_vector_get(info, "command"), AC_LAUNCHER);
	ck_assert_str_eq(ac_vector_get(info, "runas_uid"), "70001");
	ck_assert_str_eq(ac_vector_get(info, "runas_gid"), "70001");
	ck_assert_str_eq(ac_vector_get(info, "runas_groups"), "70001");
	ck_assert_str_eq(ac_vector_get(info, "use_pty"), "true");
	ck_assert_str_eq(ac_vector_get(info, "closefrom"), "3");
	ck_assert_str_eq(ac_vector_get(info, "preserve_fds"), "5");
	ck_assert_str_eq(ac_vector_get(info, "set_utmp"), "false");
	ck_assert_str_eq(ac_vector_get(info, "iolog_path"), "/var/log/x");
	ck_assert_str_eq(ac_vector_get(info, "iolog_ttyout"), "true");
	ck_assert_str_eq(ac_vector_get(info, "log_servers"), "h");
	ck_assert_str_eq(ac_vector_get(info, "timeout"), "60"); /* the smaller one */
}
END_TEST

/* The user's; in what a group shares, the group may write what it may read. */
START_TEST(umask_of_shared_projects)
{
	static const struct {
		bool has, shared;
		mode_t umask;
		const char *wanted;
	} rows[] = { { false, false, 0, "022" }, { true, false, 027, "027" },
		{ true, false, 0, "00" }, { false, true, 0, "02" }, { true, true, 022, "02" },
		{ true, true, 002, "02" }, { true, true, 027, "07" }, { true, true, 077, "077" },
		{ true, true, 0, "00" } };

	for (size_t i = 0; i < AC_COUNT(rows); i++) {
		request.has_umask = rows[i].has;
		request.umask = rows[i].umask;
		session->policy.group_count = rows[i].shared;
		session->policy.groups[0] = 2000;
		char **info = keep(ac_command_info_dup(session, &request, sudoers_info, 5));

		ck_assert_str_eq(ac_vector_get(info, "umask"), rows[i].wanted);
	}
}
END_TEST

START_TEST(info_never_runs_as_root)
{
	session->policy.uid = 0;
	ck_assert_ptr_null(ac_command_info_dup(session, &request, sudoers_info, 5));
}
END_TEST

START_TEST(argv_is_not_interpreted)
{
	char *const argv[] = { (char[]){ "claude" }, (char[]){ "-p" }, (char[]){ "$(id); `x`\n" },
		NULL };
	char **made = keep(ac_command_argv_dup(session, 7, argv));

	ck_assert_ptr_nonnull(made);
	ck_assert_str_eq(made[0], "agentcell-launch");
	ck_assert_str_eq(made[1], "7");
	ck_assert_str_eq(made[2], "--");
	ck_assert_str_eq(made[3], "/usr/bin/claude");
	ck_assert_str_eq(made[4], "-p");
	ck_assert_str_eq(made[5], "$(id); `x`\n");
	ck_assert_ptr_null(made[6]);
}
END_TEST

static void allow(const char *name)
{
	struct ac_names *list = &session->policy.env_allowlist;

	strcpy(list->name[list->count++], name);
}

START_TEST(environment_is_an_allowlist)
{
	char *const env[] = { (char[]){ "ANTHROPIC_API_KEY=k" }, (char[]){ "AWS_SECRET=s" },
		(char[]){ "LC_ALL=C" }, (char[]){ "TERM=() { :; }" }, (char[]){ "LD_PRELOAD=/x" },
		(char[]){ "HOME=/home/dev" }, (char[]){ "PATH=/home/dev/bin" },
		(char[]){ "NOEQUAL" }, (char[]){ "GIT_DIR=/x" }, NULL };

	allow("ANTHROPIC_API_KEY");
	allow("LC_*");
	allow("TERM");
	allow("LD_*"); /* even an admin's slip does not let these in */
	allow("HOME");
	allow("GIT_*");
	char **made = keep(ac_command_environment_dup(session, harness, env));

	ck_assert_ptr_nonnull(made);
	ck_assert_str_eq(ac_vector_get(made, "ANTHROPIC_API_KEY"), "k");
	ck_assert_str_eq(ac_vector_get(made, "LC_ALL"), "C");
	ck_assert_ptr_null(ac_vector_get(made, "AWS_SECRET"));
	ck_assert_ptr_null(ac_vector_get(made, "TERM"));
	ck_assert_ptr_null(ac_vector_get(made, "LD_PRELOAD"));
	ck_assert_ptr_null(ac_vector_get(made, "GIT_DIR"));
	ck_assert_str_eq(ac_vector_get(made, "HOME"), "/home/agentcell-0123456789ab");
	ck_assert_str_eq(ac_vector_get(made, "PATH"), "/usr/local/bin:/usr/bin:/bin");
}
END_TEST

/* sudo's logs may show the environment: what a profile lets through is not in it. */
START_TEST(keys_go_another_way)
{
	char *const env[] = { (char[]){ "API_KEY=user's" }, (char[]){ "OTHER_KEY=o" },
		(char[]){ "SET=user's" }, (char[]){ "LC_ALL=C" }, (char[]){ "LD_PRELOAD=/x" },
		NULL };
	static struct ac_settings keys = { 1, { { "API_KEY", "file's" } } };
	static const char *const names[] = { "API_KEY", "OTHER_KEY", "SET", "LD_PRELOAD" };

	allow("LC_ALL");
	for (size_t i = 0; i < AC_COUNT(names); i++) {
		allow(names[i]);
		strcpy(harness->env_allowlist.name[harness->env_allowlist.count++], names[i]);
	}
	strcpy(harness->environment.setting[0].name, "SET");
	strcpy(harness->environment.setting[0].value, "profile's");
	harness->environment.count = 1;
	char **shown = keep(ac_command_environment_dup(session, harness, env));
	char **private = keep(ac_command_private_dup(&session->policy, harness, &keys, env));

	ck_assert_ptr_null(ac_vector_get(shown, "API_KEY"));
	ck_assert_ptr_null(ac_vector_get(shown, "OTHER_KEY"));
	ck_assert_str_eq(ac_vector_get(shown, "SET"), "profile's");
	ck_assert_str_eq(ac_vector_get(shown, "LC_ALL"), "C");
	ck_assert_str_eq(private[0], "API_KEY=file's");
	ck_assert_str_eq(private[1], "OTHER_KEY=o");
	ck_assert_ptr_null(private[2]);
	ck_assert_ptr_null(keep(ac_command_private_dup(
		&session->policy, harness, &(struct ac_settings){ 0 }, NULL))[0]);
}
END_TEST

START_TEST(profile_variables_come_before_the_defaults)
{
	strcpy(harness->environment.setting[0].name, "PATH");
	strcpy(harness->environment.setting[0].value, "/opt/x/bin:/usr/bin");
	harness->environment.count = 1;
	char **made = keep(ac_command_environment_dup(session, harness, NULL));
	unsigned seen = 0;

	for (size_t i = 0; made[i]; i++)
		seen += strncmp(made[i], "PATH=", 5) == 0;
	ck_assert_uint_eq(seen, 1);
	ck_assert_str_eq(ac_vector_get(made, "PATH"), "/opt/x/bin:/usr/bin");
}
END_TEST

static const char *const proxies[] = { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
	"https_proxy", "all_proxy" };

START_TEST(everybody_is_told_of_the_proxy)
{
	char *const env[] = { (char[]){ "HTTP_PROXY=http://evil:1" },
		(char[]){ "http_proxy=http://evil:1" }, (char[]){ "NO_PROXY=*" }, NULL };
	static struct ac_settings keys = { 1, { { "ALL_PROXY", "http://user:word@proxy:3128" } } };

	allow("HTTP_PROXY");
	allow("http_proxy");
	strcpy(harness->env_allowlist.name[harness->env_allowlist.count++], "http_proxy");
	strcpy(harness->env_allowlist.name[harness->env_allowlist.count++], "NO_PROXY");
	char **without = keep(ac_command_environment_dup(session, harness, env));

	ck_assert_str_eq(ac_vector_get(without, "HTTP_PROXY"), "http://evil:1");
	ck_assert_ptr_null(ac_vector_get(without, "https_proxy"));
	strcpy(session->policy.egress_proxy, "[2001:db8::1]:3128");
	char **made = keep(ac_command_environment_dup(session, harness, env));
	char **private = keep(ac_command_private_dup(&session->policy, harness, &keys, env));

	for (size_t i = 0; i < AC_COUNT(proxies); i++)
		ck_assert_str_eq(ac_vector_get(made, proxies[i]), "http://[2001:db8::1]:3128");
	ck_assert_str_eq(ac_vector_get(made, "NO_PROXY"), "localhost,127.0.0.1,::1");
	ck_assert_str_eq(ac_vector_get(made, "no_proxy"), "localhost,127.0.0.1,::1");
	ck_assert_str_eq(private[0], "ALL_PROXY=http://user:word@proxy:3128"); /* the admin's */
	ck_assert_ptr_null(private[1]);
}
END_TEST

START_TEST(names_what_sudoers_asks_and_no_agent_can_have)
{
	char *const noexec[] = { (char[]){ "noexec=true" }, NULL };
	char *const fine[] = { (char[]){ "noexec=false" }, (char[]){ "iolog_path=x" }, NULL };

	ck_assert_ptr_nonnull(ac_command_unsupported(noexec));
	ck_assert_ptr_null(ac_command_unsupported(fine));
}
END_TEST

START_TEST(terms_cannot_be_forged_by_a_name)
{
	char text[65536];

	session->policy.write_paths.count = 1;
	strcpy(session->policy.write_paths.entry[0].path,
		"/home/dev/p\n  network    everything\033[2J");
	size_t length = ac_terms_format(text, sizeof text, session);

	ck_assert_uint_eq(length, strlen(text));
	ck_assert_ptr_null(strstr(text, "\n  network    everything"));
	ck_assert_ptr_null(strchr(text, '\033'));
	ck_assert_ptr_nonnull(strstr(text, "agentcell session 0123456789ab"));
	ck_assert_ptr_nonnull(strstr(text, "%0A"));
	/* Cut, never overrun. */
	char small[40];

	ck_assert_uint_eq(ac_terms_format(small, sizeof small, session), length);
	ck_assert_uint_eq(strlen(small), sizeof small - 1);
}
END_TEST

/* Every id that exists has exactly one image, and only the user's changes. */
static void check_map(unsigned from, unsigned to)
{
	char text[256];
	unsigned long long mapped = 0;
	bool has_pair = false;
	unsigned inside, outside, count;
	int used = 0;

	ck_assert_int_gt(ac_idmap_format(text, sizeof text, from, to), 0);
	for (char *line = text; sscanf(line, "%u %u %u\n%n", &inside, &outside, &count, &used) == 3;
		line += used) {
		if (inside == from && outside == to && count == 1)
			has_pair = true;
		else
			ck_assert_uint_eq(inside, outside);
		if (inside == outside) {
			ck_assert(!(from >= inside && from - inside < count));
			ck_assert(!(to >= inside && to - inside < count));
		}
		ck_assert_uint_gt(count, 0);
		mapped += count;
	}
	ck_assert(has_pair);
	/* 0..4294967294 but the two, plus the pair. */
	ck_assert_uint_eq(mapped, 4294967295ull - 2 + 1);
}

START_TEST(maps_everything_but_the_user_to_itself)
{
	check_map(1000, 70001);
	check_map(100000, 70001);
	check_map(1, 2);
	check_map(2, 1);
	check_map(4294967000u, 70001);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("command");
	TCase *test = tcase_create("all");

	tcase_add_checked_fixture(test, setup, teardown);
	tcase_add_test(test, info_is_an_allowlist);
	tcase_add_test(test, info_never_runs_as_root);
	tcase_add_test(test, umask_of_shared_projects);
	tcase_add_test(test, argv_is_not_interpreted);
	tcase_add_test(test, environment_is_an_allowlist);
	tcase_add_test(test, keys_go_another_way);
	tcase_add_test(test, profile_variables_come_before_the_defaults);
	tcase_add_test(test, everybody_is_told_of_the_proxy);
	tcase_add_test(test, names_what_sudoers_asks_and_no_agent_can_have);
	tcase_add_test(test, terms_cannot_be_forged_by_a_name);
	tcase_add_test(test, maps_everything_but_the_user_to_itself);
	suite_add_tcase(suite, test);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

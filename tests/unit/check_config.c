/* SPDX-License-Identifier: ISC */
/*
 * agentcell.conf: every syntax, and every way to be refused.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "util.h"

static struct ac_config config;
static struct ac_err err;

static int memory_file(const void *bytes, size_t length)
{
	int fd = memfd_create("config", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int read_bytes(const void *bytes, size_t length)
{
	ac_autoclose int fd = memory_file(bytes, length);

	memset(&err, 0, sizeof(err));
	return ac_config_check(fd, "f", &config, NULL, NULL, &err);
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

START_TEST(test_empty_file_gives_defaults)
{
	ck_assert_msg(read_text("") == 0, "%s", err.text);
	ck_assert_str_eq(config.role_user, "agentcell-worker");
	ck_assert_str_eq(config.default_harness, "generic");
	ck_assert_uint_eq(config.uid_first, 70000);
	ck_assert_uint_eq(config.uid_last, 70999);
	ck_assert_uint_eq(config.wall_clock_limit_s, 4 * 3600);
	ck_assert_uint_eq(config.limits.wall_clock_s, 4 * 3600);
	ck_assert_uint_eq(config.wall_clock_max_s, 24 * 3600);
	ck_assert_int_eq(config.risk, AC_RISK_MEDIUM);
	ck_assert_uint_eq(config.declared_paths.count, 0);
	ck_assert_uint_eq(config.bait.count, 20);
	ck_assert_str_eq(config.bait.text[0], ".ssh");
	ck_assert(config.protect_git && config.firewall_enabled && config.enable_audit);
	ck_assert(!config.access_acl);
	ck_assert(!config.allow_torn && !config.allow_unreadable && !config.request_endpoints);
	ck_assert(!config.dev_server);
	ck_assert_str_eq(config.backup_directory, "/var/lib/agentcell/backups");
	ck_assert_str_eq(config.log_path, "/var/log/agentcell/agentcell.jsonl");
	ck_assert_uint_eq(config.limits.memory_bytes, 4ULL << 30);
	ck_assert_uint_eq(config.max_age_s, 30 * 86400);
	ck_assert_uint_eq(config.egress_proxy.port, 0);
	ck_assert_uint_eq(config.refresh_interval_s, 60);
	ck_assert_uint_eq(config.refresh_overlap_s, 3600);
	ck_assert_uint_eq(config.refresh_stale_s, 12 * 3600);
}
END_TEST

START_TEST(test_values)
{
	ck_assert_msg(
		read_text("# comment, of any length: "
			  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"
			  "; another\n"
			  "\n"
			  "   \t\n"
			  "[session]  \n"
			  "risk=high\n"
			  "wall_clock_limit =  90 \n"
			  "wall_clock_max\t=\t15m\n"
			  "uid_range = 100000-100099\n"
			  "env_allowlist = A  B_2\tc\n"
			  "[paths]\n"
			  "declared_paths = /a /b%20c\n"
			  "declared_paths = /d%25\n"
			  "bait =\n"
			  "[firewall]\n"
			  "endpoints = Example.COM:443 10.0.0.0/8:80 [2001:DB8::1]:1\n"
			  "egress_proxy = Proxy.Example:3128\n"
			  "[session]\n"
			  "role_user = bot") == 0,
		"%s", err.text);
	ck_assert_int_eq(config.risk, AC_RISK_HIGH);
	ck_assert_uint_eq(config.wall_clock_limit_s, 90);
	ck_assert_uint_eq(config.wall_clock_max_s, 900);
	ck_assert_uint_eq(config.uid_last, 100099);
	ck_assert_uint_eq(config.env_allowlist.count, 3);
	ck_assert_str_eq(config.env_allowlist.name[1], "B_2");
	ck_assert_uint_eq(config.declared_paths.count, 3);
	ck_assert_str_eq(config.declared_paths.text[1], "/b c");
	ck_assert_str_eq(config.declared_paths.text[2], "/d%");
	ck_assert_uint_eq(config.bait.count, 0);
	ck_assert_uint_eq(config.endpoint_count, 3);
	ck_assert_str_eq(config.endpoints[0].host, "example.com");
	ck_assert_uint_eq(config.endpoints[1].prefix, 8);
	ck_assert_str_eq(config.endpoints[2].host, "2001:db8::1");
	ck_assert_str_eq(config.egress_proxy.host, "proxy.example");
	ck_assert_uint_eq(config.egress_proxy.port, 3128);
	ck_assert_str_eq(config.role_user, "bot");
}
END_TEST

/* Everything that must refuse the file, with a part of the message. */
static const struct refused {
	const char *text, *message;
} refused_files[] = {
	{ "x = 1\n", "f:1: key 'x' stands before any [section]" },
	{ "[session]\nrisk = low\nrisk = low\n", "f:3: 'risk' stands there twice" },
	{ "[session]\nRisk = low\n", "f:2: unknown key 'Risk'" },
	{ "[sessions]\n", "f:1: unknown section [sessions]" },
	{ "[session\nrisk = low\n", "f:1: malformed section" },
	{ "[session] x\n", "f:1: malformed section" },
	{ "[]\n", "f:1: malformed section" },
	{ "[session]\nrisk\n", "f:2: not of the form" },
	{ "[session]\nrisk : low\n", "f:2: not of the form" },
	{ "[session]\n= low\n", "f:2: not of the form" },
	{ "[session]\nrisk = low ; really\n", "f:2: a comment needs a line of its own" },
	{ "[session]\nrisk =;\n", "f:2: a comment needs a line of its own" },
	{ "[session]\nrisk = low\n  high\n", "f:3: the line begins with white space" },
	{ "[session]\n risk = low\n", "f:2: the line begins with white space" },
	{ "[session]\r\n", "f:1: malformed section" },
	{ "[session]\nrisk = low\r\n", "f:2: carriage return" },
	{ "[session]\nrisk = l\033[2J\n", "f:2: control character" },
	{ "\357\273\277[session]\n", "f:1: not of the form" },
	{ "[session]\nrisk = \n", "f:2: risk: '' is no risk" },
	{ "[session]\nrisk = Low\n", "is no risk" },
	{ "[paths]\naccess = ACL\n", "f:2: access: 'ACL' is neither idmap nor acl" },
	{ "[session]\nwall_clock_limit = 0\n", "is no duration" },
	{ "[session]\nwall_clock_limit = -1\n", "is no duration" },
	{ "[session]\nwall_clock_limit = 5 h\n", "is no duration" },
	{ "[session]\nwall_clock_limit = 5hh\n", "is no duration" },
	{ "[session]\nwall_clock_limit = 99999999999999999999d\n", "is no duration" },
	{ "[session]\nwall_clock_limit = 25h\n", "f: wall_clock_limit is longer" },
	{ "[session]\nuid_range = 70000\n", "is no range" },
	{ "[session]\nuid_range = 70999-70000\n", "is no range" },
	{ "[session]\nuid_range = 0-999\n", "overlaps" },
	{ "[session]\nuid_range = 61000-61999\n", "overlaps" },
	{ "[session]\nuid_range = 65519-70000\n", "overlaps" },
	{ "[session]\nuid_range = 70000-4294967294\n", "is no range" },
	{ "[session]\nuid_range = 70000-200000\n", "more than 100000" },
	{ "[session]\nrole_user = ../x\n", "is no name" },
	{ "[session]\nrole_user = Root\n", "is no name" },
	{ "[session]\nenv_allowlist = LD_PRELOAD\n", "LD_PRELOAD is set by agentcell" },
	{ "[session]\nenv_allowlist = A=B\n", "is no name of an environment variable" },
	{ "[session]\nenv_allowlist = LC_*\n", "is no name of an environment variable" },
	{ "[session]\nenv_allowlist = A A\n", "stands there twice" },
	{ "[session]\nenv_allowlist = A\nenv_allowlist = A\n", "f:3: env_allowlist: 'A' stands" },
	{ "[paths]\ndeclared_paths = relative\n", "must be an absolute path" },
	{ "[paths]\ndeclared_paths = /a/../b\n", "must be an absolute path" },
	{ "[paths]\ndeclared_paths = /a/\n", "must be an absolute path" },
	{ "[paths]\ndeclared_paths = /a%\n", "two hex digits" },
	{ "[paths]\ndeclared_paths = /a%00\n", "two hex digits" },
	{ "[paths]\nbait = ../x\n", "one below a home" },
	{ "[paths]\nprotect_git = true\n", "neither yes nor no" },
	{ "[firewall]\nendpoints = *.example.com:443\n", "wildcards" },
	{ "[firewall]\ndev_server = yes\n", "neither allow nor deny" },
	{ "[firewall]\negress_proxy = proxy.example\n", "write host:port" },
	{ "[firewall]\negress_proxy = http://proxy.example:3128\n", "egress_proxy" },
	{ "[firewall]\negress_proxy = 10.0.0.0/8:3128\n", "a proxy is one host" },
	{ "[firewall]\negress_proxy = a.example:1 b.example:2\n", "egress_proxy" },
	{ "[firewall]\nrefresh_interval = 0\n", "is no duration" },
	{ "[limits]\ncpu_weight = 0\n", "from 1 to 10000" },
	{ "[limits]\nprocesses = 1\n", "at least 16" },
	{ "[limits]\nmemory = 1g\n", "is no size" },
	{ "[limits]\nmemory = 9999999T\n", "is no size" },
};

START_TEST(test_refused)
{
	const struct refused *refused = &refused_files[_i];

	ck_assert_msg(read_text("") == 0, "the control must pass: %s", err.text);
	ck_assert_msg(read_text(refused->text) < 0, "accepted: %s", refused->text);
	ck_assert_msg(
		strstr(err.text, refused->message), "'%s' lacks '%s'", err.text, refused->message);
}
END_TEST

static const char *counted_text[8];
static unsigned counted;

static void count_error(void *context, const char *text)
{
	ck_assert_ptr_eq(context, &counted);
	ck_assert_uint_lt(counted, AC_COUNT(counted_text));
	counted_text[counted++] = strdup(text);
}

START_TEST(test_all_errors_are_reported)
{
	static const char text[] = "[session]\nrisk = x\n[nowhere]\ny = 1\n[limits]\nmemory = z\n";
	ac_autoclose int fd = memory_file(text, strlen(text));

	counted = 0;
	memset(&err, 0xff, sizeof(err)); /* garbage of the caller must not show */
	ck_assert_int_lt(ac_config_check(fd, "f", &config, count_error, &counted, &err), 0);
	ck_assert_uint_eq(counted, 4);
	ck_assert_ptr_nonnull(strstr(counted_text[0], "f:2: risk"));
	ck_assert_ptr_nonnull(strstr(counted_text[1], "f:3: unknown section"));
	ck_assert_ptr_nonnull(strstr(counted_text[2], "f:4: unknown key"));
	ck_assert_ptr_nonnull(strstr(counted_text[3], "f:6: memory"));
	ck_assert_ptr_nonnull(strstr(err.text, "f:2: "));
	ck_assert_ptr_nonnull(strstr(err.text, "f:6: "));
}
END_TEST

START_TEST(test_failure_leaves_the_target_alone)
{
	ck_assert_int_eq(read_text("[session]\nrisk = high\n"), 0);
	ck_assert_int_lt(read_text("[session]\nrisk = low\nnonsense\n"), 0);
	ck_assert_int_eq(config.risk, AC_RISK_HIGH);
}
END_TEST

START_TEST(test_nul_byte)
{
	static const char text[] = "[session]\nrisk = low\0high\n";

	ck_assert_int_lt(read_bytes(text, sizeof(text) - 1), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "f:2: NUL byte"));
}
END_TEST

/* The line that inih would deliver as two keys, the second named by the tail of the path. */
START_TEST(test_long_line)
{
	char text[600];
	int length;

	/* 17 bytes, and 180 of path: the longest that fits */
	length = snprintf(text, sizeof(text), "[paths]\nread_paths = /%0183d\n", 0);
	ck_assert_int_eq(length - 9, 197);
	ck_assert_msg(read_text(text) == 0, "%s", err.text);
	ck_assert_uint_eq(strlen(config.read_paths.text[0]), 184);
	snprintf(text, sizeof(text), "[paths]\nread_paths = /%0184d\n", 0);
	ck_assert_int_lt(read_text(text), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "f:2: the line has more than 197 bytes"));
	snprintf(text, sizeof(text), "[paths]\nread_paths = /%0250dprotect_git = no\n", 0);
	ck_assert_int_lt(read_text(text), 0);
	ck_assert_ptr_null(strstr(err.text, "protect_git"));
}
END_TEST

START_TEST(test_list_limit)
{
	char text[8192] = "[paths]\n";
	unsigned i;

	for (i = 0; i < AC_PATHS_MAX; i++)
		snprintf(
			text + strlen(text), sizeof(text) - strlen(text), "read_paths = /p%u\n", i);
	ck_assert_msg(read_text(text) == 0, "%s", err.text);
	ck_assert_uint_eq(config.read_paths.count, AC_PATHS_MAX);
	strcat(text, "read_paths = /one_too_many\n");
	ck_assert_int_lt(read_text(text), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 32 entries"));
}
END_TEST

START_TEST(test_trust)
{
	char directory[] = "/tmp/check-config-XXXXXX", path[64], link[80];

	if (geteuid() != 0) {
		puts("SKIP: owner and mode of configuration files (needs root)");
		return;
	}
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/f", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	ck_assert_int_eq(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)), 0);
	ck_assert_msg(ac_config_read(path, &config, &err) == 0, "%s", err.text);
	ck_assert_int_eq(chmod(path, 0664), 0);
	ck_assert_int_eq(ac_config_read(path, &config, &err), -EPERM);
	ck_assert_int_eq(chmod(path, 0646), 0);
	ck_assert_int_eq(ac_config_read(path, &config, &err), -EPERM);
	ck_assert_int_eq(chmod(path, 0644), 0);
	ck_assert_int_eq(chown(path, 1, 0), 0);
	ck_assert_int_eq(ac_config_read(path, &config, &err), -EPERM);
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(chmod(directory, 0770), 0);
	ck_assert_int_eq(ac_config_read(path, &config, &err), -EPERM);
	ck_assert_int_eq(chmod(directory, 0700), 0);
	ck_assert_int_eq(symlink("f", link), 0);
	ck_assert_int_eq(ac_config_read(link, &config, &err), -ELOOP);
	ck_assert_int_eq(ac_config_read(path, &config, &err), 0);
	unlink(link);
	unlink(path);
	ck_assert_int_eq(ac_config_read(path, &config, &err), -ENOENT);
	rmdir(directory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tcase = tcase_create("config");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, test_empty_file_gives_defaults);
	tcase_add_test(tcase, test_values);
	tcase_add_loop_test(tcase, test_refused, 0, (int)AC_COUNT(refused_files));
	tcase_add_test(tcase, test_all_errors_are_reported);
	tcase_add_test(tcase, test_failure_leaves_the_target_alone);
	tcase_add_test(tcase, test_nul_byte);
	tcase_add_test(tcase, test_long_line);
	tcase_add_test(tcase, test_list_limit);
	tcase_add_test(tcase, test_trust);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

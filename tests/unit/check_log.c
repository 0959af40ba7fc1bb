/* SPDX-License-Identifier: ISC */
/* The JSON log: lines that cannot be forged, whole lines only, and who may touch the file. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <json-c/json.h>
#include <libaudit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "safefile.h"
#include "util.h"

#define ID "0123456789ab"

static char directory[] = "/tmp/check-log-XXXXXX";
static char path[64], line[4096];
static struct ac_err err;

static void setup(void)
{
	strcpy(directory, "/tmp/check-log-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/log.jsonl", directory);
}

static void teardown(void)
{
	unlink(path);
	rmdir(directory);
}

START_TEST(test_format)
{
	const struct ac_log_field fields[] = {
		{ "target", "/home/dev/.ssh/id_ed25519", 0 },
		{ "pid", NULL, -42 },
		{ "bytes", NULL, INT64_MAX },
	};
	int length = ac_log_format(
		line, sizeof(line), 1790000000007ULL, AC_LOG_ESCAPE, ID, fields, AC_COUNT(fields));

	ck_assert_int_eq(length, (int)strlen(line));
	ck_assert_str_eq(line,
		"{\"time\":\"2026-09-21T14:13:20.007Z\",\"event\":\"escape\","
		"\"session_id\":\"" ID "\",\"status\":\"terminated\",\"cause\":\"escape\","
		"\"target\":\"/home/dev/.ssh/id_ed25519\",\"pid\":-42,"
		"\"bytes\":9223372036854775807}\n");
}
END_TEST

START_TEST(test_status_and_cause)
{
	const struct ac_log_field fields[] = {
		{ "cause", "wall_clock", 0 },
		{ "status", "ended", 0 },
		{ "x", "y", 0 },
	};

	ck_assert_int_gt(ac_log_format(line, sizeof(line), 0, AC_LOG_END, NULL, fields, 3), 0);
	ck_assert_str_eq(line,
		"{\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":\"end\",\"session_id\":\"\","
		"\"status\":\"ended\",\"cause\":\"wall_clock\",\"x\":\"y\"}\n");
}
END_TEST

START_TEST(test_nothing_can_be_forged)
{
	char bytes[256];
	struct ac_log_field field = { "target", bytes, 0 };
	json_object *object, *value;
	unsigned i;

	for (i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	ck_assert_int_gt(ac_log_format(line, sizeof(line), 0, AC_LOG_DENIED, ID, &field, 1), 0);
	ck_assert_uint_eq(strcspn(line, "\n"), strlen(line) - 1);
	for (i = 0; line[i + 1]; i++)
		ck_assert(line[i] >= 0x20 && line[i] <= 0x7e);
	object = json_tokener_parse(line);
	ck_assert_ptr_nonnull(object);
	ck_assert(json_object_object_get_ex(object, "target", &value));
	ck_assert_int_eq(strncmp(json_object_get_string(value), "%01%02%03", 9), 0);
	json_object_put(object);
}
END_TEST

START_TEST(test_bad_fields)
{
	const struct ac_log_field twice[] = { { "a", "1", 0 }, { "a", "2", 0 } };
	const struct ac_log_field reserved[] = { { "time", "1", 0 } };
	const struct ac_log_field odd[] = { { "A b", "1", 0 } };

	ck_assert_int_gt(ac_log_format(line, sizeof(line), 0, AC_LOG_END, ID, twice, 1), 0);
	ck_assert_int_eq(ac_log_format(line, sizeof(line), 0, AC_LOG_END, ID, twice, 2), -EINVAL);
	ck_assert_int_eq(
		ac_log_format(line, sizeof(line), 0, AC_LOG_END, ID, reserved, 1), -EINVAL);
	ck_assert_int_eq(ac_log_format(line, sizeof(line), 0, AC_LOG_END, ID, odd, 1), -EINVAL);
	ck_assert_int_eq(ac_log_format(line, sizeof(line), 0, AC_LOG_COUNT, ID, NULL, 0), -EINVAL);
	ck_assert_int_eq(ac_log_format(line, 20, 0, AC_LOG_END, ID, NULL, 0), -EMSGSIZE);
	ck_assert_ptr_null(ac_log_event_name(AC_LOG_COUNT));
}
END_TEST

static unsigned lines_in_file(void)
{
	ac_autofclose FILE *stream = fopen(path, "re");
	unsigned count = 0;

	ck_assert_ptr_nonnull(stream);
	while (fgets(line, sizeof(line), stream)) {
		json_object *object = json_tokener_parse(line);

		ck_assert_msg(object, "not JSON: %s", line);
		json_object_put(object);
		count++;
	}
	return count;
}

static int log_one(void)
{
	memset(&err, 0, sizeof(err));
	return ac_log_write(path, AC_LOG_RUNNING, ID, NULL, 0, true, &err);
}

START_TEST(test_write)
{
	const struct group *adm = getgrnam("adm");
	struct stat st;

	if (geteuid() != 0) {
		puts("SKIP: writing a log (needs root)");
		return;
	}
	umask(077);
	ck_assert_msg(log_one() == 0, "%s", err.text);
	ck_assert_int_eq(log_one(), 0);
	ck_assert_uint_eq(lines_in_file(), 2);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, adm ? 0640 : 0600);
	ck_assert_uint_eq(st.st_gid, adm ? adm->gr_gid : 0);
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_int_eq(chmod(path, 0660), 0);
	ck_assert_int_eq(log_one(), -EPERM);
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(chown(path, 1000, 0), 0);
	ck_assert_int_eq(log_one(), -EPERM);
	unlink(path);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(log_one(), -ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(log_one(), -EPERM);
	unlink(path);
	ck_assert_int_eq(log_one(), 0);
	ck_assert_uint_eq(lines_in_file(), 1);
}
END_TEST

START_TEST(test_torn_line_is_closed)
{
	struct rlimit limit = { 100, RLIM_INFINITY };
	ac_autofclose FILE *stream = NULL;
	unsigned count = 0;
	int rc;

	if (geteuid() != 0)
		return;
	signal(SIGXFSZ, SIG_IGN);
	/* no ck_assert here: Check writes to a file as well */
	setrlimit(RLIMIT_FSIZE, &limit);
	rc = log_one();
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(rc, -ENOSPC);
	ck_assert_int_eq(log_one(), 0);
	stream = fopen(path, "re");
	while (fgets(line, sizeof(line), stream)) {
		json_object *object = json_tokener_parse(line);

		ck_assert_int_eq(object != NULL, count == 1); /* the first one is the torn one */
		json_object_put(object);
		count++;
	}
	ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(test_many_writers)
{
	unsigned i, j;

	if (geteuid() != 0)
		return;
	for (i = 0; i < 4; i++) {
		if (fork() == 0) {
			for (j = 0; j < 50; j++)
				if (ac_log_write(path, AC_LOG_RUNNING, ID, NULL, 0, false, NULL) <
					0)
					_exit(1);
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(lines_in_file(), 200);
}
END_TEST

/* Whatever the machine's audit state is, the answer must be the truth about it. */
START_TEST(test_audit_tells_the_truth)
{
	ac_autoclose int fd = audit_open();
	int enabled = fd < 0 ? -1 : audit_is_enabled(fd);
	int rc = ac_log_audit(AUDIT_RESP_ANOMALY, "op=agentcell-unit-test", true, &err);

	if (fd < 0 || enabled == 0) {
		ck_assert_int_lt(rc, 0);
		ck_assert_uint_gt(strlen(err.text), 0);
		printf("NOTE: auditing is %s here; only the refusal was tested\n",
			fd < 0 ? "missing" : "off");
	} else if (enabled > 0) {
		ck_assert_msg(rc == 0, "%s", err.text);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_format);
	tcase_add_test(tcase, test_status_and_cause);
	tcase_add_test(tcase, test_nothing_can_be_forged);
	tcase_add_test(tcase, test_bad_fields);
	tcase_add_test(tcase, test_write);
	tcase_add_test(tcase, test_torn_line_is_closed);
	tcase_add_test(tcase, test_many_writers);
	tcase_add_test(tcase, test_audit_tells_the_truth);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

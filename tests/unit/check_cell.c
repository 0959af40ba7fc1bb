// SPDX-License-Identifier: ISC
/* The cell file: what is written is what is read, and nothing else is. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cell.h"

static struct ac_session_policy *session;
static struct ac_cell *cell;
static char *text;
static struct ac_err err;

static void add(struct ac_path_list *list, const char *path)
{
	snprintf(list->entry[list->count++].path, AC_PATH_MAX, "%s", path);
}

static void setup(void)
{
	session = calloc(1, sizeof(*session));
	cell = calloc(1, sizeof(*cell));
	text = malloc(AC_CELL_SIZE_MAX);
	ck_assert(session && cell && text);
	snprintf(session->policy.session_id, AC_SESSION_ID_SIZE, "0123456789ab");
	snprintf(session->policy.os_user, AC_NAME_MAX, "agentcell-0123456789ab");
	session->policy.uid = session->policy.gid = 70001;
	snprintf(session->policy.home, AC_PATH_MAX, "/home/agentcell-0123456789ab");
	snprintf(session->plan.cwd, AC_PATH_MAX, "/srv/project with space");
	snprintf(session->plan.command, AC_PATH_MAX, "/usr/bin/claude");
	add(&session->policy.write_paths, "/srv/project with space");
	add(&session->policy.write_paths, "/srv/line\nfeed/\"quote\"/\xff\xfe%41");
	add(&session->policy.read_paths, "/srv/read");
	add(&session->policy.tool_paths, "/opt/tools");
	add(&session->policy.excluded_paths, "/srv/project with space/.env");
	session->policy.limits.open_files = 1024;
	session->policy.limits.processes = 512;
	session->policy.limits.file_bytes = UINT64_C(1) << 40;
}

static void teardown(void)
{
	free(session);
	free(cell);
	free(text);
}

static int read_text(const char *bytes, size_t length)
{
	int fd = memfd_create("cell", MFD_CLOEXEC), code;

	ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	code = ac_cell_read(fd, cell, &err);
	close(fd);
	return code;
}

static size_t format(void)
{
	int length = ac_cell_format(session, text, AC_CELL_SIZE_MAX, &err);

	ck_assert_int_gt(length, 0);
	ck_assert_uint_eq(strlen(text), (size_t)length);
	return (size_t)length;
}

START_TEST(test_round_trip)
{
	size_t length = format();

	for (size_t i = 0; i < length; i++)
		ck_assert(text[i] >= 0x20 && text[i] < 0x7f);
	ck_assert_int_eq(read_text(text, length), 0);
	ck_assert_str_eq(cell->session_id, session->policy.session_id);
	ck_assert_str_eq(cell->os_user, session->policy.os_user);
	ck_assert_str_eq(cell->cwd, session->plan.cwd);
	ck_assert_str_eq(cell->home, session->policy.home);
	ck_assert_str_eq(cell->command, session->plan.command);
	ck_assert_uint_eq(cell->uid, 70001);
	ck_assert_uint_eq(cell->gid, 70001);
	ck_assert_uint_eq(cell->group_count, 0);
	ck_assert_uint_eq(cell->write_paths.count, 2);
	ck_assert_str_eq(cell->write_paths.path[1], session->policy.write_paths.entry[1].path);
	ck_assert_uint_eq(cell->read_paths.count, 2);
	ck_assert_str_eq(cell->read_paths.path[1], "/opt/tools");
	ck_assert_uint_eq(cell->excluded_paths.count, 1);
	ck_assert_uint_eq(cell->file_bytes, UINT64_C(1) << 40);
	ck_assert(!cell->nested_sandbox);
	session->policy.nested_sandbox = true;
	ck_assert_int_eq(read_text(text, format()), 0);
	ck_assert(cell->nested_sandbox);
}
END_TEST

/* The largest policy there can be. */
START_TEST(test_always_fits)
{
	struct ac_path_list *lists[] = { &session->policy.write_paths, &session->policy.read_paths,
		&session->policy.tool_paths, &session->policy.excluded_paths };

	for (unsigned i = 0; i < 4; i++) {
		lists[i]->count = AC_PATHS_MAX;
		for (unsigned k = 0; k < AC_PATHS_MAX; k++) {
			memset(lists[i]->entry[k].path, 0xff, AC_PATH_MAX - 1);
			lists[i]->entry[k].path[0] = '/';
			lists[i]->entry[k].path[AC_PATH_MAX - 1] = '\0';
		}
	}
	ck_assert_int_eq(read_text(text, format()), 0);
	ck_assert_uint_eq(cell->read_paths.count, 2 * AC_PATHS_MAX);
	ck_assert_int_eq(ac_cell_format(session, text, 1000, &err), -EMSGSIZE);
}
END_TEST

/* No prefix of the text is a cell, nor is the text with anything behind it. */
START_TEST(test_torn)
{
	size_t length = format();

	for (size_t i = 0; i < length; i++)
		ck_assert_int_eq(read_text(text, i), -EBADMSG);
	text[length] = '}';
	ck_assert_int_eq(read_text(text, length + 1), -EBADMSG);
	ck_assert_str_eq(cell->session_id, "");
}
END_TEST

static const struct {
	const char *from, *to;
} changes[] = {
	{ "\"uid\":70001", "\"uid\":0" },
	{ "\"gid\":70001", "\"gid\":0" },
	{ "\"uid\":70001", "\"uid\":4294967295" },
	{ "\"uid\":70001", "\"uid\":-1" },
	{ "\"uid\":70001", "\"uid\":\"70001\"" },
	{ "\"uid\":70001,", "" },
	{ "\"uid\":70001", "\"uid\":70001,\"extra\":1" },
	{ "0123456789ab", "0123456789ag" },
	{ "\"groups\":[]", "\"groups\":{}" },
	{ "\"groups\":[]", "\"groups\":[\"0\"]" },
	{ "/opt/tools", "/opt/../etc" },
	{ "/opt/tools", "opt/tools" },
	{ "/opt/tools", "/opt/%zz" },
	{ "/opt/tools", "/opt/%00" },
	{ "/usr/bin/claude", "" },
	{ "\"nested_sandbox\":false", "\"nested_sandbox\":0" },
	{ "\"open_files\":1024", "\"open_files\":-1" },
	{ "\"open_files\":1024", "\"open_files\":1.5" },
	{ "\"read_paths\":[", "\"read_paths\":[null," },
	{ "{\"session_id\"", "[{\"session_id\"" },
};

START_TEST(test_changed)
{
	static char changed[65536];
	char *place;
	int length;

	format();
	place = strstr(text, changes[_i].from);
	ck_assert_ptr_nonnull(place);
	length = snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(place - text), text,
		changes[_i].to, place + strlen(changes[_i].from));
	ck_assert_int_eq(read_text(changed, (size_t)length), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cell");
	TCase *tcase = tcase_create("cell");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_round_trip);
	tcase_add_test(tcase, test_always_fits);
	tcase_add_test(tcase, test_torn);
	tcase_add_loop_test(tcase, test_changed, 0, sizeof(changes) / sizeof(changes[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

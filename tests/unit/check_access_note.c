/* SPDX-License-Identifier: ISC */
/* Notes of access by ACL as text: there and back, and what is refused. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access_note.h"
#include "util.h"

static struct ac_access_note note, again;

static void set_up(void)
{
	memset(&note, 0, sizeof note);
	memset(&again, 0, sizeof again);
	snprintf(note.session_id, sizeof note.session_id, "0123456789ab");
	note.user_uid = 1000;
	note.user_gid = 1001;
	note.group_count = 2;
	note.groups[0] = 27;
	note.groups[1] = 4242;
	note.session_uid = note.session_gid = 70001;
	note.paths.count = 2;
	snprintf(note.paths.entry[0].path, AC_PATH_MAX, "/home/dev/project");
	note.paths.entry[0].device = 42;
	note.paths.entry[0].inode = 4711;
	snprintf(note.paths.entry[1].path, AC_PATH_MAX, "/home/dev/a\n\"b\\\xff%%41/file");
	note.paths.entry[1].device = UINT64_MAX;
	note.paths.entry[1].inode = UINT64_MAX;
	note.paths.entry[1].kind = AC_PATH_FILE;
}

static int parse(const char *text)
{
	struct ac_err err = { 0 };

	return ac_access_note_parse(text, strlen(text), &again, &err);
}

START_TEST(test_round_trip)
{
	size_t length = 0;
	ac_autofree char *text = ac_access_note_format(&note, &length);

	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(strlen(text), length);
	for (const char *byte = text; *byte; byte++)
		ck_assert(*byte == '\n' || (*byte >= ' ' && *byte <= '~'));
	ck_assert_int_eq(parse(text), 0);
	ck_assert_mem_eq(&again, &note, sizeof note);
}
END_TEST

/* The most that there may be. */
START_TEST(test_full)
{
	size_t length = 0;

	note.group_count = AC_GROUPS_MAX;
	note.paths.count = AC_PATHS_MAX;
	for (unsigned i = 0; i < AC_PATHS_MAX; i++) {
		memset(note.paths.entry[i].path, '\n', AC_PATH_MAX - 1);
		note.paths.entry[i].path[0] = '/';
	}
	ac_autofree char *text = ac_access_note_format(&note, &length);

	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(parse(text), 0);
	ck_assert_mem_eq(&again, &note, sizeof note);
	note.paths.count = AC_PATHS_MAX + 1;
	ck_assert_ptr_null(ac_access_note_format(&note, &length));
}
END_TEST

/* Nobody's, root's and the user's own entries are not what a session is to be taken. */
START_TEST(test_not_of_a_session)
{
	size_t length = 0;
	const struct ac_access_note good = note;

	for (unsigned i = 0; i < 9; i++) {
		note = good;
		if (i == 0)
			note.session_uid = 0;
		if (i == 1)
			note.session_uid = note.user_uid;
		if (i == 2)
			note.session_uid = (uid_t)-1;
		if (i == 3)
			note.session_gid = 0;
		if (i == 4)
			note.session_gid = note.user_gid;
		if (i == 5)
			note.user_uid = 0;
		if (i == 6)
			note.user_gid = (gid_t)-1;
		if (i == 7)
			note.paths.count = 0;
		if (i == 8)
			note.session_id[0] = '/';
		ck_assert_msg(!ac_access_note_format(&note, &length), "form %u is written", i);
	}
}
END_TEST

/* Each takes the place of a part of a good text. */
static const struct {
	const char *what, *by;
} refused[] = {
	{ "\"session_id\":\"0123456789ab\"", "\"session_id\":\"0123456789a/\"" },
	{ "\"session_id\":\"0123456789ab\"", "\"session_id\":\"0123456789abc\"" },
	{ "\"session_id\":\"0123456789ab\"", "\"session_id\":null" },
	{ "\"user_uid\":1000", "\"user_uid\":0" },
	{ "\"user_uid\":1000", "\"user_uid\":-1" },
	{ "\"user_uid\":1000", "\"user_uid\":4294967295" },
	{ "\"user_uid\":1000", "\"user_uid\":4294968296" },
	{ "\"user_uid\":1000", "\"user_uid\":\"1000\"" },
	{ "\"user_uid\":1000", "\"user_uid\":1000,\"user_uid\":1000" },
	{ "\"user_uid\":1000", "\"user_uid\":1000,\"more\":1" },
	{ "\"user_uid\":1000,", "" },
	{ "\"session_uid\":70001", "\"session_uid\":0" },
	{ "\"session_uid\":70001", "\"session_uid\":1000" },
	{ "\"session_uid\":70001", "\"session_uid\":070001" },
	{ "\"session_uid\":70001", "\"session_uid\":70001.0" },
	{ "\"session_gid\":70001", "\"session_gid\":1001" },
	{ "/home/dev/project", "home/dev/project" },
	{ "/home/dev/project", "/home/dev/../project" },
	{ "/home/dev/project", "/home/dev/%00project" },
	{ "/home/dev/project", "/home/dev/%70roject" },
	{ "/home/dev/project", "/home/dev/%zzroject" },
	{ "\"kind\":\"file\"", "\"kind\":\"socket\"" },
	{ "\"inode\":4711", "\"inode\":4711,\"inode\":4712" },
	{ "\"inode\":4711,", "" },
	{ "{", "[" },
	{ "{", " {" },
};

/* As it is refused, and not for lack of what was to be replaced. */
START_TEST(test_refused)
{
	size_t length = 0;
	ac_autofree char *text = ac_access_note_format(&note, &length);
	const char *what = refused[_i].what, *by = refused[_i].by;
	const char *at = strstr(text, what);

	ck_assert_msg(at != NULL, "no %s in %s", what, text);
	ac_autofree char *wrong = NULL;

	ck_assert(asprintf(&wrong, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what)) > 0);
	ck_assert_msg(parse(wrong) == -EBADMSG, "%s is taken", by);
}
END_TEST

/* Cut anywhere, or with something behind it. */
START_TEST(test_torn)
{
	size_t length = 0;
	struct ac_err err = { 0 };
	ac_autofree char *text = ac_access_note_format(&note, &length);
	static char longer[65536];

	ck_assert(text && length + 2 <= sizeof(longer));
	for (size_t i = 0; i < length; i++)
		ck_assert_int_eq(ac_access_note_parse(text, i, &again, &err), -EBADMSG);
	sprintf(longer, "%s\n", text);
	ck_assert_int_eq(parse(longer), -EBADMSG);
	sprintf(longer, "%s{", text);
	ck_assert_int_eq(parse(longer), -EBADMSG);
	ck_assert_int_eq(ac_access_note_parse(longer, length + 2, &again, &err), -EBADMSG);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("access_note");
	TCase *tests = tcase_create("access_note");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, test_round_trip);
	tcase_add_test(tests, test_full);
	tcase_add_test(tests, test_not_of_a_session);
	tcase_add_loop_test(tests, test_refused, 0, (int)AC_COUNT(refused));
	tcase_add_test(tests, test_torn);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

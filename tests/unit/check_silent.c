/* SPDX-License-Identifier: ISC */
/*
 * The silent list: its reader's errors, its matcher against a naive one on every short pattern and
 * text, and the shipped file.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../auditd_rules/silent.h"

static struct ac_silent silent;
static struct ac_err err;

static int parse(const char *text)
{
	return ac_silent_parse("test", text, strlen(text), &silent, &err);
}

START_TEST(lines)
{
	ck_assert_int_eq(
		parse("# comment\n\n  silent /x/*   -- a reason\nprogram sudo -- other"), 0);
	ck_assert_uint_eq(silent.count, 2);
	ck_assert_str_eq(silent.line[0].reason, "a reason");
	ck_assert_int_eq(silent.line[1].kind, AC_SILENT_PROGRAM);
}
END_TEST

START_TEST(errors)
{
	static const char *const texts[] = { "quiet /x -- r", "silent", "silent /x", "silent /x --",
		"silent /x - r", "silent x -- r", "program /bin/su -- r", "ancestor /x -- r",
		"silent /0123456789012345678901234567890123456789012345678901234567890123 -- r",
		("silent /x -- 0123456789012345678901234567890123456789"
		 "01234567890123456789012345678901234567890") };

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "# first\n%s\n", texts[i]);
		ck_assert_msg(parse(text) == -EINVAL, "%s", text);
		ck_assert_msg(!strncmp(err.text, "test:2: ", 8), "%s", err.text);
	}
	ck_assert_int_eq(ac_silent_parse("test", "silent /x\0y -- r", 16, &silent, &err), -EINVAL);
}
END_TEST

/* The obvious way, exponential: stars try every length. */
static bool naive(const char *pattern, const char *text)
{
	if (!strcmp(pattern, "/**"))
		return !*text || *text == '/';
	if (!*pattern)
		return !*text;
	if (*pattern == '*') {
		bool both = pattern[1] == '*';

		for (;; text++) {
			if (naive(pattern + 1 + both, text))
				return true;
			if (!*text || (!both && *text == '/'))
				return false;
		}
	}
	return *text == *pattern && naive(pattern + 1, text + 1);
}

static void every_text(const char *pattern, const struct ac_silent_line *line)
{
	static const char letters[] = "/ab";
	char text[8];

	for (unsigned number = 0; number < 3 * 3 * 3 * 3 * 3; number++) {
		unsigned rest;

		for (unsigned length = 0; length <= 5; length++) {
			memset(text, 0, sizeof(text));
			rest = number;
			for (unsigned i = 0; i < length; i++, rest /= 3)
				text[i] = letters[rest % 3];
			ck_assert_msg(ac_silent_line_matches(line, text) == naive(pattern, text),
				"%s against %s", pattern, text);
		}
	}
}

START_TEST(every_pattern)
{
	static const char letters[] = "/a*";
	char pattern[8], text[32];

	for (unsigned length = 1; length <= 6; length++)
		for (unsigned number = 0; number < 729; number++) {
			unsigned rest = number;

			memset(pattern, 0, sizeof(pattern));
			for (unsigned i = 0; i < length; i++, rest /= 3)
				pattern[i] = letters[rest % 3];
			/* Three stars in a row, or "/" "**" alone, are not in the language. */
			if (strstr(pattern, "***") || !strcmp(pattern, "/**") || pattern[0] == 'a')
				continue;
			(void)snprintf(text, sizeof(text), "silent %s -- r", pattern);
			ck_assert_msg(!parse(text), "%s", text);
			every_text(pattern, &silent.line[0]);
		}
}
END_TEST

START_TEST(long_text_is_fast)
{
	static char text[4096];

	ck_assert_int_eq(parse("silent /*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b -- r"), 0);
	memset(text, 'a', sizeof(text) - 1);
	text[0] = '/';
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(!ac_silent_line_matches(&silent.line[0], text));
}
END_TEST

START_TEST(shipped_file)
{
	FILE *file = fopen("auditd_rules/silent.conf", "re");
	static char text[65536];
	size_t length;

	ck_assert_ptr_nonnull(file);
	length = fread(text, 1, sizeof(text), file);
	(void)fclose(file);
	ck_assert_msg(!ac_silent_parse("silent.conf", text, length, &silent, &err), "%s", err.text);
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_SECRET, "/etc/shadow"));
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_SECRET, "/etc/shadow-"));
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_SECRET, "/root"));
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_SECRET, "/root/.ssh/id_rsa"));
	ck_assert_ptr_null(ac_silent_find(&silent, AC_SILENT_SECRET, "/rooted"));
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_BASELINE, "/usr"));
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_BASELINE, "/usr/lib/x"));
	ck_assert_ptr_nonnull(ac_silent_find(&silent, AC_SILENT_PROGRAM, "sudo"));
	ck_assert_ptr_null(ac_silent_find(&silent, AC_SILENT_PROGRAM, "sudoku"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("silent");
	TCase *cases = tcase_create("silent");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, lines);
	tcase_add_test(cases, errors);
	tcase_add_test(cases, every_pattern);
	tcase_add_test(cases, long_text_is_fast);
	tcase_add_test(cases, shipped_file);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/*
 * Path strings: written-out cases, then every short string against a second, naive implementation
 * that splits into components (OpenSSH's way of testing match.c).
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "path.h"

enum { PARTS_MAX = 16, LONG = 12 };

struct parts { /* the naive view of a path: its components */
	unsigned count;
	char part[PARTS_MAX][LONG];
};

/* Splits at slashes; empty components are kept. */
static void split(const char *path, struct parts *parts)
{
	unsigned n = 0;

	memset(parts, 0, sizeof(*parts));
	parts->count = 1;
	for (; *path; path++) {
		if (*path == '/') {
			parts->count++;
			n = 0;
		} else {
			parts->part[parts->count - 1][n++] = *path;
		}
	}
}

static bool naive_canonical(const char *path)
{
	struct parts parts;

	split(path, &parts);
	if (strcmp(path, "/") == 0)
		return true;
	if (parts.count < 2 || parts.part[0][0] != '\0')
		return false;
	for (unsigned i = 1; i < parts.count; i++)
		if (!strcmp(parts.part[i], "") || !strcmp(parts.part[i], ".") ||
			!strcmp(parts.part[i], ".."))
			return false;
	return true;
}

static bool naive_covers(const char *root, const char *path)
{
	struct parts a, b;

	split(root, &a);
	split(path, &b);
	if (strcmp(root, "/") == 0)
		return true;
	for (unsigned i = 0; i < a.count; i++)
		if (i >= b.count || strcmp(a.part[i], b.part[i]) != 0)
			return false;
	return true;
}

static void naive_join(char out[64], const char *base, const char *name)
{
	char both[64];
	struct parts in, kept = { 0 };
	int length = 0;

	snprintf(both, sizeof(both), "%s/%s", name[0] == '/' ? "" : base, name);
	split(both, &in);
	for (unsigned i = 0; i < in.count; i++) {
		if (!strcmp(in.part[i], "..")) {
			if (kept.count > 0)
				kept.count--;
		} else if (strcmp(in.part[i], "") != 0 && strcmp(in.part[i], ".") != 0) {
			memcpy(kept.part[kept.count++], in.part[i], LONG);
		}
	}
	for (unsigned i = 0; i < kept.count; i++)
		length += snprintf(out + length, 64 - (size_t)length, "/%s", kept.part[i]);
	if (length == 0)
		snprintf(out, 64, "/");
}

/* String number n over the alphabet, shortest first; false when it is longer than limit. */
static bool nth_string(char text[LONG], unsigned n, unsigned limit)
{
	static const char alphabet[] = "/.ab";
	unsigned length = 0, power = 1;

	while (n >= power) {
		n -= power;
		power *= 4;
		length++;
	}
	if (length > limit)
		return false;
	for (unsigned i = 0; i < length; i++, n /= 4)
		text[i] = alphabet[n % 4];
	text[length] = '\0';
	return true;
}

START_TEST(canonical_cases)
{
	static const char *const good[] = { "/", "/a", "/a/b", "/...", "/.a", "/a.", "/..a/b", "/ ",
		"/a\nb", "/\xff" };
	static const char *const bad[] = { "", "a", "//", "/a/", "/a//b", "/.", "/..", "/a/.",
		"/a/..", "/a/./b", "/a/../b", "./a", "//a" };

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(ac_path_is_canonical(good[i]), "'%s' is canonical", good[i]);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!ac_path_is_canonical(bad[i]), "'%s' is not canonical", bad[i]);
}
END_TEST

START_TEST(length_limit)
{
	char path[AC_PATH_MAX + 2];

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[AC_PATH_MAX - 1] = '\0';
	ck_assert(ac_path_is_canonical(path));
	path[AC_PATH_MAX - 1] = 'a';
	path[AC_PATH_MAX] = '\0';
	ck_assert(!ac_path_is_canonical(path));
	path[AC_PATH_MAX] = 'a';
	path[AC_PATH_MAX + 1] = '\0';
	ck_assert(!ac_path_is_canonical(path));
}
END_TEST

START_TEST(covers_cases)
{
	ck_assert(ac_path_covers("/srv/app", "/srv/app"));
	ck_assert(ac_path_covers("/srv/app", "/srv/app/x"));
	ck_assert(ac_path_covers("/", "/"));
	ck_assert(ac_path_covers("/", "/srv"));
	ck_assert(!ac_path_covers("/srv/app", "/srv/apple"));
	ck_assert(!ac_path_covers("/srv/app", "/srv/ap"));
	ck_assert(!ac_path_covers("/srv/app", "/srv"));
	ck_assert(!ac_path_covers("/srv/app", "/"));
	ck_assert_msg(!ac_path_covers("", "/srv"), "an empty entry covers nothing");
}
END_TEST

START_TEST(join_cases)
{
	static const char *const cases[][3] = {
		{ "/a/b", "c", "/a/b/c" },
		{ "/a/b", "/c", "/c" },
		{ "/a/b", "..", "/a" },
		{ "/a/b", "../../../..", "/" },
		{ "/", ".", "/" },
		{ "/a", "./x//y/./..", "/a/x" },
		{ "/a", "", "/a" },
		{ "/a", "...", "/a/..." },
	};
	char out[AC_PATH_MAX];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(ac_path_join(out, sizeof(out), cases[i][0], cases[i][1]), 0);
		ck_assert_str_eq(out, cases[i][2]);
	}
}
END_TEST

START_TEST(join_room)
{
	char out[8] = "????????";

	ck_assert_int_eq(ac_path_join(out, 7, "/abc", "de"), -ENAMETOOLONG);
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(out[7], '?');
	ck_assert_int_eq(ac_path_join(out, 8, "/abc", "de"), 0);
	ck_assert_str_eq(out, "/abc/de");
	ck_assert_int_eq(ac_path_join(out, 2, "/abc", "/"), 0);
	ck_assert_str_eq(out, "/");
	ck_assert_int_eq(ac_path_join(out, 1, "/", "/"), -ENAMETOOLONG);
	ck_assert_int_eq(ac_path_join(NULL, 0, "/", "/"), -ENAMETOOLONG);
}
END_TEST

START_TEST(every_string_canonical)
{
	char text[LONG];
	unsigned n = 0;

	for (; nth_string(text, n, 8); n++)
		ck_assert_msg(ac_path_is_canonical(text) == naive_canonical(text), "'%s'", text);
	ck_assert_uint_eq(n, 87381);
}
END_TEST

START_TEST(every_pair_covers)
{
	static char canonical[4096][LONG];
	char text[LONG];
	unsigned count = 0, covered = 0;

	for (unsigned n = 0; nth_string(text, n, 6); n++)
		if (naive_canonical(text))
			memcpy(canonical[count++], text, LONG);
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < count; j++) {
			bool covers = naive_covers(canonical[i], canonical[j]);

			covered += covers;
			ck_assert_msg(ac_path_covers(canonical[i], canonical[j]) == covers,
				"'%s' covers '%s'", canonical[i], canonical[j]);
		}
	ck_assert_msg(covered > count && covered < count * count, "both answers are seen");
}
END_TEST

START_TEST(every_pair_joined)
{
	char base[LONG], name[LONG], expected[64], out[64];

	for (unsigned i = 0; nth_string(base, i, 4); i++) {
		if (!naive_canonical(base))
			continue;
		for (unsigned j = 0; nth_string(name, j, 7); j++) {
			naive_join(expected, base, name);
			ck_assert_int_eq(ac_path_join(out, sizeof(out), base, name), 0);
			ck_assert_msg(!strcmp(out, expected), "'%s' + '%s' = '%s', not '%s'", base,
				name, out, expected);
			ck_assert(ac_path_is_canonical(out));
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("path");
	TCase *cases = tcase_create("path");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, canonical_cases);
	tcase_add_test(cases, length_limit);
	tcase_add_test(cases, covers_cases);
	tcase_add_test(cases, join_cases);
	tcase_add_test(cases, join_room);
	tcase_add_test(cases, every_string_canonical);
	tcase_add_test(cases, every_pair_covers);
	tcase_add_test(cases, every_pair_joined);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

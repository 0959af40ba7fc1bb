/* SPDX-License-Identifier: ISC */
/* Placements: where they may go, what is written into them, and which programs of a home fit. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"
#include "util.h"

static const struct valid {
	enum ac_placement_kind kind;
	const char *target, *source;
	bool is_valid;
} placements[] = {
	{ AC_PLACE_FILE, "/etc/a", "/x/a", true },
	{ AC_PLACE_FILE, "/etc/a", "", false },
	{ AC_PLACE_FILE, "/etc", "/x/a", false },
	{ AC_PLACE_FILE, "/etcetera/a", "/x/a", false },
	{ AC_PLACE_FILE, "/etc/./a", "/x/a", false },
	{ AC_PLACE_FILE, "etc/a", "/x/a", false },
	{ AC_PLACE_SEED, ".a/b", "/x/a", true },
	{ AC_PLACE_SEED, ".a/b", "x/a", false },
	{ AC_PLACE_SEED, "/a", "/x/a", false },
	{ AC_PLACE_CREDENTIAL, ".a", "", true },
	{ AC_PLACE_CREDENTIAL, ".a", "/x", false },
	{ AC_PLACE_KEEP, "a/b", "", true },
	{ AC_PLACE_KEEP, "..", "", false },
	{ AC_PLACE_KEEP, "a/../b", "", false },
	{ AC_PLACE_KEEP, "", "", false },
	{ (enum ac_placement_kind)9, "a", "", false },
};

START_TEST(test_valid)
{
	struct ac_placement placement = { .kind = placements[_i].kind };

	strcpy(placement.target, placements[_i].target);
	strcpy(placement.source, placements[_i].source);
	ck_assert(ac_placement_is_valid(&placement) == placements[_i].is_valid);
}
END_TEST

static char *expand(const char *text, const char *cwd)
{
	static struct ac_session_policy session;
	char *const variables[] = { (char[]){ "A_KEY=0123456789abcde\"fghijklmnopqrs" },
		(char[]){ "B=01234567890123456789" }, NULL };
	char *result = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&result, &size);

	strcpy(session.plan.cwd, cwd);
	strcpy(session.plan.user, "dev");
	strcpy(session.policy.home, "/home/agent");
	ac_placement_expand(stream, text, strlen(text), &session, variables);
	fclose(stream);
	return result;
}

START_TEST(test_expand)
{
	static const char *const cases[][3] = {
		{ "", "/p", "" },
		{ "{\"{cwd}\":{\"x\":1}}", "/p", "{\"/p\":{\"x\":1}}" },
		{ "{cwd}{home}{user}", "/p", "/p/home/agentdev" },
		{ "{cwd", "/p", "{cwd" },
		{ "{cwd}", "/a\"b\\c", "/a\\\"b\\\\c" },
		{ "{cwd}", "/a\n\x7f", "/a\\u000a\\u007f" },
		{ "{cwd}", "/{cwd}", "/{cwd}" }, /* not expanded again */
		{ "{{cwd}}", "/\303\244", "{/\303\244}" },
		{ "{home }{}", "/p", "{home }{}" },
		{ "\"{tail:A_KEY}\"{tail:B}.", "/p", "\"abcde\\\"fghijklmnopqrs\"." },
		{ "{tail:A_KE}{tail:}{tail:C}.", "/p", "." },
		{ "{tail:A_KEY", "/p", "{tail:A_KEY" },
	};

	for (size_t i = 0; i < AC_COUNT(cases); i++) {
		ac_autofree char *result = expand(cases[i][0], cases[i][1]);

		ck_assert_str_eq(result, cases[i][2]);
	}
}
END_TEST

START_TEST(test_package_match)
{
	static const struct {
		const char *pattern, *path;
		size_t length;
	} cases[] = {
		{ ".local/share/claude/versions/*", ".local/share/claude/versions/2.1.332", 36 },
		{ "a/*", "a/b/c/d", 3 },
		{ "a/b", "a/b", 3 },
		{ "a/b", "a/bc", 0 },
		{ "a/b", "a", 0 },
		{ "a/*", "a", 0 },
		{ "a/*", "a/", 0 },
		{ "a/*/c", "a/b/c/d", 5 },
		{ "a/*/c", "a/b/x/c", 0 },
		{ "a/v*.1", "a/v2.1/bin", 6 },
		{ "a/v*.1", "a/v2.2/bin", 0 },
		{ "a/**", "a/b/c", 3 },
		{ "a/x", "b/x", 0 },
	};

	for (size_t i = 0; i < AC_COUNT(cases); i++)
		ck_assert_msg(ac_package_match(cases[i].pattern, cases[i].path) == cases[i].length,
			"%s %s", cases[i].pattern, cases[i].path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("placement");
	TCase *tcase = tcase_create("placement");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tcase, test_valid, 0, (int)AC_COUNT(placements));
	tcase_add_test(tcase, test_expand);
	tcase_add_test(tcase, test_package_match);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/* Which renewed credential files may go back to the user. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "credential.h"
#include "util.h"

static const struct {
	const char *name, *before, *after;
	bool is_like;
} cases[] = {
	{ "a.json", "{\"a\":{\"t\":\"1\",\"e\":5}}", "{\"a\":{\"t\":\"2\",\"e\":6}}\n", true },
	{ "a.json", "{\"a\":{\"t\":\"1\"},\"b\":null}", "{\"b\":\"x\", \"a\":{\"t\":\"2\"}}",
		true },
	{ "a.json", "{\"e\":5}", "{\"e\":5.5}", true },
	{ "a.json", "{\"a\":{\"t\":{\"x\":1}}}", "{\"a\":{\"t\":{\"y\":1}}}", true },
	{ "a.json", "{\"a\":{\"t\":\"1\"}}", "{\"a\":{\"u\":\"1\"}}", false },
	{ "a.json", "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
	{ "a.json", "{\"a\":1,\"b\":2}", "{\"a\":1}", false },
	{ "a.json", "{\"a\":1}", "{\"a\":\"1\"}", false },
	{ "a.json", "{\"a\":1}", "{\"a\":1", false },
	{ "a.json", "{\"a\":1}", "{\"a\":1}x", false },
	{ "a.json", "{\"a\":1}", "[1]", false },
	{ "a.json", "{\"a\":1}", "", false },
	{ "a.json", "not json", "not json", false },
	{ "token", "abc", "def", true },
	{ "token", "abc", "", false },
	{ "json", "abc", "def", true },
};

START_TEST(test_is_like)
{
	ck_assert(ac_credential_is_like(cases[_i].name, cases[_i].before, strlen(cases[_i].before),
			  cases[_i].after, strlen(cases[_i].after)) == cases[_i].is_like);
}
END_TEST

START_TEST(test_every_truncation)
{
	static const char text[] = "{\"a\":{\"token\":\"x\",\"expires\":1790000000}}";
	size_t length = strlen(text);

	ck_assert(ac_credential_is_like("a.json", text, length, text, length));
	for (size_t i = 0; i < length; i++)
		ck_assert(!ac_credential_is_like("a.json", text, length, text, i));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("credential");
	TCase *tcase = tcase_create("credential");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tcase, test_is_like, 0, (int)AC_COUNT(cases));
	tcase_add_test(tcase, test_every_truncation);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/*
 * The strict reader: every text of up to six bytes of an alphabet that has all the syntax: what reaches the handler is
 * compared with a reading of the manual page that shares nothing with inih.
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_ini.h"

static const char alphabet[] = "a=;#[] \n";
#define TEXT_MAX 6
#define SECTION "[a]\n"
#define LINE_MAX_BYTES (TEXT_MAX + sizeof(SECTION))

struct reading {
	bool bad;
	unsigned count;
	char pair[TEXT_MAX][3 * LINE_MAX_BYTES + 4]; /* "section|key|value" */
};

static void note(struct reading *reading, const char *section, const char *key, const char *value)
{
	snprintf(reading->pair[reading->count++], sizeof(reading->pair[0]), "%s|%s|%s", section,
		key, value);
}

static void take_pair(void *context, struct ac_ini_errors *errors, const char *section,
	const char *key, const char *value)
{
	(void)errors;
	if (key)
		note(context, section, key, value);
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && end[-1] == ' ')
		*--end = '\0';
	return text + strspn(text, " ");
}

static void read_key(char *line, const char *section, struct reading *reading)
{
	char *equals = strchr(line, '='), *semicolon;

	if (line[0] == ' ' || !equals || equals == line) {
		reading->bad = true;
		return;
	}
	*equals = '\0';
	for (semicolon = equals + 1; (semicolon = strchr(semicolon, ';')); semicolon++)
		if (semicolon == equals + 1 || semicolon[-1] == ' ')
			reading->bad = true;
	trim(line);
	if (strspn(line, "a") != strlen(line) || !section[0])
		reading->bad = true;
	if (!reading->bad)
		note(reading, section, line, trim(equals + 1));
}

static void read_manually(const char *text, struct reading *reading)
{
	char copy[LINE_MAX_BYTES + 1], section[LINE_MAX_BYTES + 1] = "", *rest = copy, *line;

	strcpy(copy, text);
	while ((line = strsep(&rest, "\n"))) {
		size_t names = line[0] == '[' ? strspn(line + 1, "a") : 0;

		if (line[strspn(line, " ")] == '\0' || line[0] == '#' || line[0] == ';')
			continue;
		if (line[0] != '[') {
			read_key(line, section, reading);
		} else if (names && line[1 + names] == ']' && !*trim(line + 2 + names)) {
			snprintf(section, sizeof(section), "%.*s", (int)names, line + 1);
		} else {
			reading->bad = true;
		}
	}
}

static void compare(const char *text)
{
	struct reading expected = { .count = 0 }, found = { .count = 0 };
	struct ac_ini_errors errors = { .file = "f" };
	unsigned i;

	read_manually(text, &expected);
	ac_ini_parse(text, strlen(text), take_pair, &found, &errors);
	if ((errors.count > 0) != expected.bad)
		ck_abort_msg("'%s': %u errors, expected %d", text, errors.count, expected.bad);
	if (expected.bad)
		return; /* the file is refused, whatever was delivered */
	if (found.count != expected.count)
		ck_abort_msg("'%s': %u keys, expected %u", text, found.count, expected.count);
	for (i = 0; i < found.count; i++)
		if (strcmp(found.pair[i], expected.pair[i]) != 0)
			ck_abort_msg(
				"'%s': %s, expected %s", text, found.pair[i], expected.pair[i]);
}

START_TEST(test_every_short_text)
{
	/* With a section before, too: else six bytes leave little room for a key. */
	char text[TEXT_MAX + 1], below[TEXT_MAX + 1 + sizeof(SECTION)];
	unsigned digits[TEXT_MAX] = { 0 }, length, i, tried = 0;

	for (length = 0; length <= TEXT_MAX; length++) {
		memset(digits, 0, sizeof(digits));
		do {
			for (i = 0; i < length; i++)
				text[i] = alphabet[digits[i]];
			text[length] = '\0';
			snprintf(below, sizeof(below), SECTION "%s", text);
			compare(text);
			compare(below);
			tried++;
			for (i = 0; i < length && ++digits[i] == sizeof(alphabet) - 1; i++)
				digits[i] = 0;
		} while (i < length);
	}
	ck_assert_uint_eq(tried, 299593); /* the sum of 8^0 to 8^6 */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ini");
	TCase *tcase = tcase_create("ini");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, test_every_short_text);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

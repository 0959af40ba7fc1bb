/* SPDX-License-Identifier: ISC */
/*
 * The table of keys, the sample file and the manual must say the same.  Runs in the top directory of
 * the tree.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "config_keys.h"
#include "util.h"

static struct ac_config config;
static struct ac_err err;

static char *read_file(const char *path)
{
	FILE *stream = fopen(path, "re");
	static char text[65536];
	size_t length;

	ck_assert_msg(stream, "%s: %s (run in the top directory)", path, strerror(errno));
	length = fread(text, 1, sizeof(text) - 1, stream);
	fclose(stream);
	text[length] = '\0';
	return text;
}

static int read_text(const char *text)
{
	ac_autoclose int fd = memfd_create("config", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return ac_config_check(fd, "f", &config, NULL, NULL, &err);
}

/* The lines of the sample that set key, comment signs off, with nothing else. */
static void collect_sample(const char *sample, const char *section, const char *key, char *value)
{
	char copy[65536], *rest = copy, *line, current[64] = "";
	size_t length = strlen(key);

	strcpy(copy, sample);
	value[0] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		if (line[0] == '[')
			snprintf(current, sizeof(current), "%.*s", (int)strcspn(line + 1, "]"),
				line + 1);
		if (line[0] != '#' || strcmp(current, section) != 0 ||
			strncmp(line + 1, key, length) != 0 ||
			strncmp(line + 1 + length, " =", 2) != 0)
			continue;
		line += 1 + length + 2;
		line += strspn(line, " ");
		if (value[0])
			strcat(value, " ");
		strcat(value, line);
	}
}

static unsigned count_settings(const char *sample)
{
	char copy[65536], *rest = copy, *line, last[64] = "";
	unsigned count = 0;

	strcpy(copy, sample);
	while ((line = strsep(&rest, "\n"))) {
		size_t length = strspn(line + (line[0] == '#'), "abcdefghijklmnopqrstuvwxyz_");

		if (line[0] != '#' || !length || strncmp(line + 1 + length, " =", 2) != 0)
			continue;
		if (strncmp(line + 1, last, length) != 0 || last[length])
			count++;
		snprintf(last, sizeof(last), "%.*s", (int)length, line + 1);
	}
	return count;
}

START_TEST(test_sample_has_every_key_with_its_default)
{
	const char *sample = read_file("conf/agentcell.conf");
	const struct ac_config_entry *entry;
	unsigned count = 0;

	for (entry = ac_config_entries; entry->section; entry++, count++) {
		char value[2048];

		collect_sample(sample, entry->section, entry->key, value);
		ck_assert_msg(strcmp(value, entry->fallback) == 0,
			"conf/agentcell.conf: [%s] %s = '%s', but the default is '%s'",
			entry->section, entry->key, value, entry->fallback);
	}
	ck_assert_msg(count == count_settings(sample), "the sample has a key that is in no table");
	ck_assert_uint_le(count, AC_CONFIG_ENTRIES_MAX);
	ck_assert_ptr_null(ac_config_key(count));
	ck_assert_str_eq(ac_config_key(0), "session.role_user");
}
END_TEST

START_TEST(test_sample_with_comments_off_is_the_default)
{
	static struct ac_config defaults;
	char text[65536] = "", *rest = read_file("conf/agentcell.conf"), *line;

	ck_assert_int_eq(read_text(""), 0);
	defaults = config;
	ck_assert_msg(read_text(rest) == 0, "as shipped: %s", err.text);
	ck_assert_mem_eq(&config, &defaults, sizeof(config));
	while ((line = strsep(&rest, "\n"))) {
		bool is_setting = line[0] == '#' && line[1] != ' ' && strstr(line, " =");

		strcat(text, line + (is_setting ? 1 : 0));
		strcat(text, "\n");
	}
	ck_assert_msg(read_text(text) == 0, "with every line in force: %s", err.text);
	ck_assert_mem_eq(&config, &defaults, sizeof(config));
}
END_TEST

START_TEST(test_manual_has_every_key)
{
	const char *manual = read_file("conf/agentcell.conf.5");
	const char *section = NULL;
	unsigned i;

	for (i = 0; ac_config_key(i); i++) {
		const struct ac_config_entry *entry = &ac_config_entries[i];
		char heading[80], item[80];
		const char *end, *found;

		snprintf(heading, sizeof(heading), "\n.Ss Section %s\n", entry->section);
		snprintf(item, sizeof(item), "\n.It Ic %s No = ", entry->key);
		section = strstr(manual, heading);
		ck_assert_msg(section, "agentcell.conf.5 has no section %s", entry->section);
		end = strstr(section + 1, "\n.Ss ");
		found = strstr(section, item);
		ck_assert_msg(found && (!end || found < end), "agentcell.conf.5 lacks [%s] %s",
			entry->section, entry->key);
	}
	for (i = 0; ac_harness_key(i); i++) {
		char item[80];

		snprintf(item, sizeof(item),
			"\n.It Ic %s No = ", strchr(ac_harness_key(i), '.') + 1);
		section = strstr(manual, "\n.Ss Section harness\n");
		ck_assert_ptr_nonnull(section);
		ck_assert_msg(
			strstr(section, item), "agentcell.conf.5 lacks %s", ac_harness_key(i));
	}
	ck_assert_uint_gt(i, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sample");
	TCase *tcase = tcase_create("sample");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, test_sample_has_every_key_with_its_default);
	tcase_add_test(tcase, test_sample_with_comments_off_is_the_default);
	tcase_add_test(tcase, test_manual_has_every_key);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

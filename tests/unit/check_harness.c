/* SPDX-License-Identifier: ISC */
/* Harness profiles: the shipped ones, the choice between them, and refusals. */
#include <check.h>
#include <dirent.h>
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

static struct ac_harness harness;
static struct ac_err err;

static int read_text(const char *text)
{
	ac_autoclose int fd = memfd_create("profile", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	memset(&err, 0, sizeof(err));
	return ac_harness_check(fd, "f", &harness, NULL, NULL, &err);
}

START_TEST(test_values)
{
	ck_assert_msg(read_text("[harness]\ncommands = a b\ncommands = c\nendpoints = x.y:1\n"
				"tolerated = T.example\nmemory_floor = 1G\nnested_sandbox = allow\n"
				"env_allowlist = KEY\n"
				"[view]\nfiles = /etc/a/b.json=b.json /etc/c%20d=c\n"
				"[home]\nseeds = .a.json=a.json\ncredential = .a/key\n"
				"keep = .a/b .c\n"
				"[tools]\npackages = .local/share/a/*\n"
				"[keys]\nKEY = .a/key\nOTHER = /etc/key\n"
				"[environment]\nNAME = a value, with = and %20\nEMPTY =\n") == 0,
		"%s", err.text);
	ck_assert_uint_eq(harness.placements.count, 6);
	ck_assert_int_eq(harness.placements.placement[1].kind, AC_PLACE_FILE);
	ck_assert_str_eq(harness.placements.placement[1].target, "/etc/c d");
	ck_assert_str_eq(
		harness.placements.placement[2].source, AC_HARNESS_DIRECTORY "/files/a.json");
	ck_assert_int_eq(harness.placements.placement[5].kind, AC_PLACE_KEEP);
	ck_assert_str_eq(harness.placements.placement[5].target, ".c");
	ck_assert_str_eq(harness.packages.text[0], ".local/share/a/*");
	ck_assert_uint_eq(harness.keys.count, 2);
	ck_assert_str_eq(harness.keys.setting[1].value, "/etc/key");
	ck_assert_uint_eq(harness.commands.count, 3);
	ck_assert_str_eq(harness.tolerated.name[0], "t.example");
	ck_assert_uint_eq(harness.memory_floor_bytes, 1ULL << 30);
	ck_assert(harness.nested_sandbox);
	ck_assert_uint_eq(harness.environment.count, 2);
	ck_assert_str_eq(harness.environment.setting[0].value, "a value, with = and %20");
	ck_assert_str_eq(harness.environment.setting[1].value, "");
}
END_TEST

static const struct refused {
	const char *text, *message;
} refused_files[] = {
	{ "[harness]\ncommand = a\n", "f:2: unknown key 'command'" },
	{ "[session]\nrisk = low\n", "f:1: unknown section [session]" },
	{ "[harness]\ncommands = /bin/a\n", "last part" },
	{ "[harness]\ncommands = a a\n", "stands there twice" },
	{ "[harness]\nmemory_floor = 1\nmemory_floor = 1\n",
		"f:3: 'memory_floor' stands there twice" },
	{ "[harness]\nnested_sandbox = maybe\n", "neither allow nor deny" },
	{ "[harness]\ntolerated = *.x\n", "wildcards" },
	{ "[environment]\nLD_PRELOAD = x\n", "LD_PRELOAD is set by agentcell" },
	{ "[environment]\nPATH = /x\n", "PATH is set by agentcell" },
	{ "[environment]\n1A = x\n", "is no name of an environment variable" },
	{ "[environment]\nA = x\nA = y\n", "f:3: A: it stands there twice" },
	{ "[harness]\nfiles = /etc/a=b\n", "f:2: unknown key 'files' in [harness]" },
	{ "[view]\nfiles = /etc/a\n", "not of the form target=file" },
	{ "[view]\nfiles = /usr/a=b\n", "below /etc" },
	{ "[view]\nfiles = /etc/../a=b\n", "below /etc" },
	{ "[view]\nfiles = /etc/a=../b\n", "must be the name of a file" },
	{ "[view]\nfiles = /etc/a=.b\n", "must be the name of a file" },
	{ "[view]\nfiles = /etc/a=\n", "must be the name of a file" },
	{ "[view]\nfiles = /etc/a=b /etc/a=c\n", "stands there twice" },
	{ "[home]\nseeds = /a=b\n", "relative to a home" },
	{ "[home]\nkeep = ../a\n", "relative to a home" },
	{ "[home]\nkeep = a/\n", "relative to a home" },
	{ "[home]\ncredential = .a\nkeep = .a\n", "f:3: keep: '.a' stands there twice" },
	{ "[tools]\npackages = /opt/a\n", "two or more parts" },
	{ "[tools]\npackages = .local\n", "two or more parts" },
	{ "[tools]\npackages = */bin\n", "two or more parts" },
	{ "[keys]\nPATH = /a\n", "PATH is set by agentcell" },
	{ "[keys]\nA = ../a\n", "must be an absolute path" },
	{ "[keys]\nA = /a/./b\n", "must be an absolute path" },
	{ "[keys]\nA =\n", "must be an absolute path" },
	{ "[keys]\nA = a\nA = b\n", "f:3: A: it stands there twice" },
};

START_TEST(test_refused)
{
	ck_assert_msg(
		read_text(refused_files[_i].text) < 0, "accepted: %s", refused_files[_i].text);
	ck_assert_msg(strstr(err.text, refused_files[_i].message), "'%s' lacks '%s'", err.text,
		refused_files[_i].message);
}
END_TEST

static const struct shipped {
	const char *name, *command;
	unsigned endpoints;
} shipped[] = {
	{ "claude_code", "claude", 1 },
	{ "codex", "codex", 1 },
	{ "opencode", "opencode", 3 },
	{ "cursor", "cursor-agent", 3 },
	{ "generic", NULL, 0 },
};

START_TEST(test_shipped_profiles)
{
	char path[128];
	ac_autoclose int fd = -1;

	snprintf(path, sizeof(path), "conf/harness.d/%s.conf", shipped[_i].name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s: run in the top directory", path);
	ck_assert_msg(ac_harness_check(fd, path, &harness, NULL, NULL, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(harness.commands.count, shipped[_i].command ? 1 : 0);
	if (shipped[_i].command)
		ck_assert_str_eq(harness.commands.name[0], shipped[_i].command);
	ck_assert_uint_eq(harness.endpoint_count, shipped[_i].endpoints);
	ck_assert(!harness.nested_sandbox);
}
END_TEST

static char directory[] = "/tmp/check-harness-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
	stream = fopen(path, "we");
	ck_assert_ptr_nonnull(stream);
	fputs(text, stream);
	fclose(stream);
	ck_assert_int_eq(chmod(path, 0644), 0);
}

static void drop(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

static int pick(const char *name, const char *command)
{
	memset(&err, 0, sizeof(err));
	return ac_harness_pick(directory, name, command, "generic", &harness, &err);
}

START_TEST(test_pick)
{
	if (geteuid() != 0) {
		puts("SKIP: choice of profiles (needs root)");
		return;
	}
	ck_assert_ptr_nonnull(mkdtemp(directory));
	put("generic.conf", "");
	put("one.conf", "[harness]\ncommands = one uno\n");
	put("two.conf", "[harness]\ncommands = two\n");
	put("README", "not a profile");
	ck_assert_msg(pick(NULL, "/usr/bin/uno") == 0, "%s", err.text);
	ck_assert_str_eq(harness.name, "one");
	ck_assert_int_eq(pick(NULL, "two"), 0);
	ck_assert_str_eq(harness.name, "two");
	ck_assert_int_eq(pick(NULL, "/bin/sh"), 0);
	ck_assert_str_eq(harness.name, "generic");
	ck_assert_int_eq(pick("one", "/usr/bin/two"), 0);
	ck_assert_str_eq(harness.name, "one");
	ck_assert_int_eq(pick("three", "/usr/bin/two"), -ENOENT);
	ck_assert_int_eq(pick("../one", NULL), -EINVAL);
	put("two.conf", "[harness]\ncommands = two uno\n");
	ck_assert_int_eq(pick(NULL, "uno"), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "one and two"));
	/* a broken profile stops the search even for another's command */
	put("two.conf", "nonsense\n");
	ck_assert_int_lt(pick(NULL, "uno"), 0);
	ck_assert_int_eq(pick("one", NULL), 0);
	drop("two.conf");
	ck_assert_int_eq(pick(NULL, "uno"), 0);
	drop("generic.conf");
	ck_assert_int_eq(pick(NULL, "sh"), -ENOENT);
	drop("one.conf");
	drop("README");
	rmdir(directory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("harness");
	TCase *tcase = tcase_create("harness");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, test_values);
	tcase_add_loop_test(tcase, test_refused, 0, (int)AC_COUNT(refused_files));
	tcase_add_loop_test(tcase, test_shipped_profiles, 0, (int)AC_COUNT(shipped));
	tcase_add_test(tcase, test_pick);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/* Retention: which backups stay, that those that stay are whole, and that packs shrink. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup_make.h"
#include "backup_prune.h"
#include "lifecycle.h"
#include "util.h"

static char base[64], project[2][128], store[128];
static int store_fd, serial;
static struct ac_err err;

static void put_random(const char *name, size_t length)
{
	ac_autofree char *bytes = malloc(length);
	char path[256];

	snprintf(path, sizeof path, "%s/%s", project[0], name);
	ac_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_eq(getrandom(bytes, length, 0), (ssize_t)length);
	ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
}

static void setup(void)
{
	snprintf(base, sizeof base, "/tmp/check-prune.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(store, sizeof store, "%s/store", base);
	ck_assert_int_eq(mkdir(store, 0700), 0);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(project[i], sizeof project[i], "%s/project%u", base, i);
		ck_assert_int_eq(mkdir(project[i], 0755), 0);
	}
	store_fd = ac_backup_open(store, &err);
	serial = 0;
	put_random("base", 100000);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void teardown(void)
{
	close(store_fd);
	ck_assert_int_eq(nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_named(const char *id, unsigned which, const char *state)
{
	static struct ac_path_list paths;
	struct ac_backup_totals totals;

	paths.count = 1;
	snprintf(paths.entry[0].path, AC_PATH_MAX, "%s", project[which]);
	const struct ac_backup_request request = {
		.backup_id = id, .session_id = strchr(id, '-') + 1, .user = "check", .paths = &paths
	};

	ck_assert_msg(!ac_make(store_fd, &request, NULL, AC_MAKE_LIVE, &totals, NULL, &err), "%s",
		err.text);
	if (strcmp(state, "live") != 0)
		ck_assert_int_eq(ac_store_state_set(store_fd, id, state, &err), 0);
}

/* Makes backup number serial + 1 of a project; how it ended: "live", "kept" or "ended <cause>". */
static const char *make(unsigned which, const char *state)
{
	static char ids[64][AC_BACKUP_ID_SIZE];
	char *id = ids[++serial];

	snprintf(id, AC_BACKUP_ID_SIZE, "20261130T%06uZ-%012x", (unsigned)serial % 1000,
		(unsigned)serial % 1000);
	make_named(id, which, state);
	return id;
}

static const char *left(void) /* the serial numbers, newest first */
{
	static char text[256];
	ac_autofree struct ac_store_id *ids = NULL;
	unsigned count;

	ck_assert_int_eq(ac_store_ids(store_fd, &ids, &count, &err), 0);
	text[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		ck_assert_msg(!ac_backup_verify(store_fd, ids[i].text, NULL, &err), "%s", err.text);
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "",
			(int)strtol(ids[i].text + 9, NULL, 10));
	}
	return text;
}

static void prune(struct ac_prune_limits limits, struct ac_prune_outcome *outcome)
{
	struct ac_prune_outcome own;

	ck_assert_msg(!ac_prune(store_fd, &limits, outcome ? outcome : &own, &err), "%s", err.text);
}

START_TEST(test_counts)
{
	make(0, "live"); /* 1 */
	for (int i = 0; i < 3; i++)
		make(0, "ended clean\n"); /* 2 3 4 */
	make(0, "ended escape\n"); /* 5 */
	make(1, "ended clean\n"); /* 6 */
	make(0, "kept\n"); /* 7 */
	make(0, "ended lost\n"); /* 8 */
	make(0, "kept\n"); /* 9 */
	make(0, "ended refused\n"); /* 10: as clean */
	prune((struct ac_prune_limits){ .keep_clean = 9 }, NULL);
	ck_assert_str_eq(left(), "10 9 8 7 6 5 4 3 2 1");
	prune((struct ac_prune_limits){ .keep_clean = 2 }, NULL);
	ck_assert_str_eq(left(), "10 9 8 7 6 5 4 1");
	prune((struct ac_prune_limits){ .keep_clean = 1, .keep_escape = 1 }, NULL);
	ck_assert_str_eq(left(), "10 9 8 6 1");
	prune((struct ac_prune_limits){ .keep_clean = 0, .keep_escape = 1 }, NULL);
	ck_assert_str_eq(left(), "9 8 1");
}
END_TEST

/* Session ids are random: within one second the order is that of the making. */
START_TEST(test_one_second)
{
	static const char *const ids[] = { "20261130T120000Z-7fffffffffff",
		"20261130T120000Z-ffffffffffff", "20261130T120000Z-000000000000",
		"20261130T120000Z-5d0000000000", "20261130T120000Z-300000000000",
		"20261130T120000Z-c00000000000", "20261130T120001Z-000000000000",
		"20261130T115959Z-ffffffffffff" /* made last, but asked for before them */ };
	static const unsigned order[] = { 6, 5, 4, 3, 2, 1, 0, 7 };
	ac_autofree struct ac_store_id *listed = NULL;
	char found[AC_BACKUP_ID_SIZE];
	unsigned count;

	for (unsigned i = 0; i < AC_COUNT(ids); i++)
		make_named(ids[i], 0, "ended clean\n");
	ck_assert_int_eq(ac_store_ids(store_fd, &listed, &count, &err), 0);
	ck_assert_uint_eq(count, AC_COUNT(ids));
	for (unsigned i = 0; i < count; i++)
		ck_assert_str_eq(listed[i].text, ids[order[i]]);
	ck_assert_int_eq(ac_prune_one(store_fd, ids[6], &err), 0);
	ck_assert_int_eq(ac_backup_find(store_fd, NULL, project[0], found, &err), 0);
	ck_assert_str_eq(found, ids[5]);
	prune((struct ac_prune_limits){ .keep_clean = 1 }, NULL);
	ck_assert_int_eq(ac_backup_find(store_fd, NULL, project[0], found, &err), 0);
	ck_assert_str_eq(found, ids[5]);
	ck_assert_int_eq(ac_backup_find(store_fd, ids[4], NULL, found, &err), -ENOENT);
}
END_TEST

START_TEST(test_protected)
{
	const char *last;

	make(0, "ended escape\n");
	make(0, "ended escape\n");
	last = make(0, "ended aborted\n");
	make(0, "ended escape\n");
	prune((struct ac_prune_limits){ .keep_clean = 1, .keep_escape = 1, .protected_id = last },
		NULL);
	ck_assert_str_eq(left(), "4 3");
	prune((struct ac_prune_limits){ .max_bytes = 1, .protected_id = last }, NULL);
	ck_assert_str_eq(left(), "3");
}
END_TEST

START_TEST(test_bytes)
{
	struct ac_prune_outcome outcome;

	for (int i = 0; i < 5; i++) {
		put_random("changing", 200000);
		make(0, i == 1 ? "live" : "ended clean\n");
	}
	prune((struct ac_prune_limits){ .keep_clean = 9, .max_bytes = 550000 }, &outcome);
	ck_assert_uint_le(outcome.bytes, 550000);
	ck_assert_str_eq(left(), "5 2"); /* the live one stays although it is old */
	prune((struct ac_prune_limits){ .keep_clean = 9, .max_bytes = 1 }, &outcome);
	ck_assert_str_eq(left(), "2");
}
END_TEST

START_TEST(test_compact)
{
	struct ac_prune_outcome before, after;
	char first[AC_BACKUP_ID_SIZE];

	put_random("large", 3000000);
	snprintf(first, sizeof first, "%s", make(0, "ended clean\n"));
	put_random("large", 10);
	make(0, "ended clean\n");
	prune((struct ac_prune_limits){ .keep_clean = 9 }, &before);
	ck_assert_uint_gt(before.bytes, 3000000);
	/* Only the first one's large file goes; what it shares with the second stays, and where it
	 * is said to be. */
	ck_assert_msg(!ac_prune_one(store_fd, first, &err), "%s", err.text);
	prune((struct ac_prune_limits){ .keep_clean = 9 }, &after);
	ck_assert_uint_lt(after.bytes, 200000);
	ck_assert_str_eq(left(), "2");
	make(0, "ended clean\n");
	ck_assert_str_eq(left(), "3 2");
}
END_TEST

START_TEST(test_age)
{
	make(0, "ended escape\n");
	make(0, "live");
	sleep(2);
	make(0, "ended clean\n");
	prune((struct ac_prune_limits){ .keep_clean = 9, .max_age_s = 1 }, NULL);
	ck_assert_str_eq(left(), "3 2");
}
END_TEST

START_TEST(test_locked)
{
	struct ac_prune_outcome outcome = { .kept = 77 };
	ac_autoclose int lock = ac_store_lock(store_fd, false, 0, &err);

	ck_assert_int_ge(lock, 0);
	ck_assert_int_eq(ac_store_lock(store_fd, true, 0, &err), -EWOULDBLOCK);
	make(0, "ended clean\n"); /* makers do not exclude each other */
	make(0, "ended clean\n");
	const struct ac_prune_limits limits = { .keep_clean = 1 };

	ck_assert_int_eq(ac_prune(store_fd, &limits, &outcome, &err), 0);
	ck_assert_uint_eq(outcome.kept, 77); /* it did nothing, and that is no error */
	ck_assert_str_eq(left(), "2 1");
}
END_TEST

START_TEST(test_live)
{
	const char *id = make(0, "live");

	ck_assert_int_eq(ac_prune_one(store_fd, id, &err), -EBUSY);
	/* Of another boot: no session of it can be alive. */
	ck_assert_int_eq(ac_store_state_set(store_fd, id,
				 "live 000000000001 00000000-0000-0000-0000-000000000000\n", &err),
		0);
	ck_assert_int_eq(ac_prune_one(store_fd, id, &err), 0);
	ck_assert_int_eq(ac_prune_one(store_fd, id, &err), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backup_prune");
	TCase *tcase = tcase_create("backup_prune");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_counts);
	tcase_add_test(tcase, test_one_second);
	tcase_add_test(tcase, test_protected);
	tcase_add_test(tcase, test_bytes);
	tcase_add_test(tcase, test_compact);
	tcase_add_test(tcase, test_age);
	tcase_add_test(tcase, test_locked);
	tcase_add_test(tcase, test_live);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

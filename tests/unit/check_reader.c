/* SPDX-License-Identifier: ISC */
/*
 * The two threads that read the stream.  A thread that a busy kernel keeps from running is one that
 * stays in a signal's handler here.
 */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../auditd_rules/watch_parts.h"

#define UID 70001

static struct ac_watch *watch;
static int source[2], inside[2], release[2];

static void stay(int signal_number)
{
	char byte = 0;

	(void)signal_number;
	(void)!write(inside[1], &byte, 1);
	(void)!read(release[0], &byte, 1);
}

static void set_up(void)
{
	static const struct ac_judge judge;
	struct ac_err err;

	ck_assert(!pipe2(source, O_NONBLOCK) && !pipe(inside) && !pipe(release));
	ck_assert(signal(SIGUSR1, stay) != SIG_ERR);
	watch = ac_watch_create(70000, 70999, &err);
	ck_assert_ptr_nonnull(watch);
	ac_watch_set_source(watch, dup(source[0]), true);
	ck_assert_msg(!ac_watch_start(watch, NULL, &err), "%s", err.text);
	ck_assert(!ac_watch_add(watch, UID, &judge, -1, -1, &err));
}

static void tear_down(void)
{
	ac_watch_destroy(watch);
	for (unsigned i = 0; i < 2; i++) {
		close(source[i]);
		close(inside[i]);
		close(release[i]);
	}
}

static uint64_t records(void)
{
	struct ac_stream stream;

	ac_watch_stream(watch, &stream);
	return stream.records;
}

static bool comes_in(uint64_t wanted)
{
	static const char line[] = "type=EOE msg=audit(1.000:7): \n";

	ck_assert_int_eq(write(source[1], line, sizeof(line) - 1), sizeof(line) - 1);
	for (unsigned i = 0; i < 5000 && records() < wanted; i++)
		(void)usleep(1000);
	return records() == wanted;
}

/* With the lock held, so that the thread does not hold it. */
static void keep_busy(pthread_t thread)
{
	char byte;

	pthread_mutex_lock(&watch->lock);
	ck_assert(!pthread_kill(thread, SIGUSR1));
	ck_assert_int_eq(read(inside[0], &byte, 1), 1);
	pthread_mutex_unlock(&watch->lock);
}

static void let_go(void)
{
	char byte = 0;

	ck_assert_int_eq(write(release[1], &byte, 1), 1);
}

static bool one_processor(void)
{
	cpu_set_t all;

	return sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2;
}

START_TEST(one_reads_while_the_other_cannot)
{
	ck_assert(comes_in(1));
	if (one_processor())
		return;
	keep_busy(watch->reader);
	ck_assert(comes_in(2));
	let_go();
	keep_busy(watch->relief);
	ck_assert(comes_in(3));
	let_go();
}
END_TEST

/* The reader's processor stands still in the middle of its turn. */
START_TEST(whoever_has_the_lock_cannot_stop_the_alarm)
{
	int freeze_fd = memfd_create("freeze", 0);
	static const struct ac_judge judge;
	struct ac_err err;
	char frozen = 0;

	ck_assert(!ac_watch_add(watch, UID + 1, &judge, freeze_fd, -1, &err));
	if (one_processor())
		return;
	pthread_mutex_lock(&watch->lock);
	ac_watch_kick(watch);
	for (unsigned i = 0; i < 5000 && frozen != '1'; i++) {
		(void)usleep(1000);
		(void)!pread(freeze_fd, &frozen, 1, 0);
	}
	pthread_mutex_unlock(&watch->lock);
	ck_assert_int_eq(frozen, '1');
	for (unsigned i = 0; i < 5000 && frozen != '0'; i++) {
		(void)usleep(1000);
		(void)!pread(freeze_fd, &frozen, 1, 0);
	}
	ck_assert_int_eq(frozen, '0');
	ac_watch_remove(watch, UID + 1);
	close(freeze_fd);
}
END_TEST

START_TEST(they_share_no_processor)
{
	cpu_set_t reader, relief, both;

	if (one_processor()) {
		ck_assert(!watch->relieved);
		return;
	}
	ck_assert(!pthread_getaffinity_np(watch->reader, sizeof(reader), &reader));
	ck_assert(!pthread_getaffinity_np(watch->relief, sizeof(relief), &relief));
	CPU_AND(&both, &reader, &relief);
	ck_assert_int_eq(CPU_COUNT(&both), 0);
	ck_assert_int_eq(CPU_COUNT(&relief), 1);
	ck_assert_int_gt(CPU_COUNT(&reader), 0);
}
END_TEST

START_TEST(nothing_looks_while_there_is_no_session)
{
	struct ac_pulse pulse = { 0 };
	uint64_t before;

	if (one_processor())
		return;
	ac_watch_remove(watch, UID);
	(void)usleep(50000);
	pthread_mutex_lock(&watch->lock);
	watch->pulse = &pulse;
	pthread_mutex_unlock(&watch->lock);
	before = pulse.watch;
	(void)usleep(500000);
	ck_assert_uint_lt(pulse.watch - before, 10); /* the reader's, five a second */
	pthread_mutex_lock(&watch->lock);
	watch->pulse = NULL;
	pthread_mutex_unlock(&watch->lock);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reader");
	TCase *cases = tcase_create("reader");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 30);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, one_reads_while_the_other_cannot);
	tcase_add_test(cases, whoever_has_the_lock_cannot_stop_the_alarm);
	tcase_add_test(cases, they_share_no_processor);
	tcase_add_test(cases, nothing_looks_while_there_is_no_session);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/*
 * The listener's errands, with a clock that runs out between two looks at it: a thread that asked twice
 * once took a descriptor from an empty list, and the listener died of it.
 */
#include <check.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../auditd_rules/errand.h"

static _Atomic bool scripted;
static _Atomic unsigned looks; /* of the errands' thread */

/* Before libc's.  Scripted, it stands still for the caller, and for the thread it is by turns the last
 * moment of a time for moves and the first one after it. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!scripted)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ .tv_sec = 1000 };
	if (gettid() != getpid())
		now->tv_nsec = (AC_ERRAND_MOVES_MS - 1 + looks++ % 2) * 1000000L;
	return 0;
}

static void wait_a_moment(void)
{
	(void)usleep(500);
}

static bool is_closed_within_a_second(int reader)
{
	char byte;

	for (unsigned i = 0; i < 2000; i++) {
		if (read(reader, &byte, 1) == 0)
			return true;
		wait_a_moment();
	}
	return false;
}

START_TEST(time_runs_out_between_two_looks)
{
	struct ac_errands *errands;
	int end[2];

	ck_assert_int_eq(pipe2(end, O_CLOEXEC | O_NONBLOCK), 0);
	scripted = true;
	errands = ac_errands_start();
	ck_assert_ptr_nonnull(errands);
	for (unsigned i = 0; i < 200; i++) {
		ac_errands_expect_move(errands);
		wait_a_moment();
	}
	ck_assert_uint_gt(looks, 10); /* control: it was there, and looked */
	ac_errands_close(errands, end[1]);
	ck_assert(is_closed_within_a_second(end[0]));
	ac_errands_stop(errands);
	scripted = false;
	(void)close(end[0]);
}
END_TEST

START_TEST(what_is_left_is_done_at_the_end)
{
	struct ac_errands *errands = ac_errands_start();
	int end[20][2];

	ck_assert_ptr_nonnull(errands);
	ac_errands_expect_move(errands); /* moves come first: the descriptors wait */
	for (unsigned i = 0; i < 20; i++) { /* more than the list takes */
		ck_assert_int_eq(pipe2(end[i], O_CLOEXEC | O_NONBLOCK), 0);
		ac_errands_close(errands, end[i][1]);
	}
	ac_errands_stop(errands);
	for (unsigned i = 0; i < 20; i++) {
		ck_assert(is_closed_within_a_second(end[i][0]));
		(void)close(end[i][0]);
	}
	ac_errands_stop(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errand");
	TCase *cases = tcase_create("errand");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(cases, time_runs_out_between_two_looks);
	tcase_add_test(cases, what_is_left_is_done_at_the_end);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

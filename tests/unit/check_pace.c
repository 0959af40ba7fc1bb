/* SPDX-License-Identifier: ISC */
/*
 * Back-pressure without a kernel: when is a session held, when is it let go, and who is not touched.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../auditd_rules/watch_parts.h"

#define BUSY 70001
#define CALM 70002
#define NOW 1000000 /* of the wall */
#define ENOUGH 48 /* events in a row, and then one more */

static struct ac_watch *watch;
static struct ac_slot *busy, *calm;
static int busy_freeze, calm_freeze, kill_fd;

static void set_up(void)
{
	static const struct ac_judge judge;
	struct ac_err err;

	watch = ac_watch_create(70000, 70999, &err);
	ck_assert_ptr_nonnull(watch);
	busy_freeze = memfd_create("freeze", 0);
	calm_freeze = memfd_create("freeze", 0);
	kill_fd = memfd_create("kill", 0);
	ck_assert(!ac_watch_add(watch, BUSY, &judge, busy_freeze, kill_fd, &err));
	ck_assert(!ac_watch_add(watch, CALM, &judge, calm_freeze, kill_fd, &err));
	busy = ac_slot_find(watch, BUSY);
	calm = ac_slot_find(watch, CALM);
	watch->wall_ms = NOW;
	watch->turn_ms = 5000;
}

static void tear_down(void)
{
	ac_watch_destroy(watch);
	close(busy_freeze);
	close(calm_freeze);
	close(kill_fd);
}

static char state(int fd)
{
	char c = '0';

	(void)!pread(fd, &c, 1, 0);
	return c;
}

static void events(struct ac_slot *slot, unsigned count, uint64_t time_ms, uint64_t step_ms)
{
	for (unsigned i = 0; i < count; i++) {
		ac_pace_record(watch, time_ms + i * step_ms);
		ac_pace_event(watch, slot, time_ms + i * step_ms);
	}
}

static void hold(void)
{
	events(busy, ENOUGH + 1, NOW, 0);
	ck_assert_int_eq(state(busy_freeze), '1');
}

static void turn_after(uint64_t ms)
{
	watch->turn_ms += ms;
	ac_pace_turn(watch);
}

static void told_and_turn_after(uint32_t length, uint64_t ms)
{
	ac_watch_tell_queue(watch, length, 8192);
	turn_after(ms);
}

static void hold_and_let_go(void)
{
	hold();
	told_and_turn_after(0, 1);
	ck_assert_int_eq(state(busy_freeze), '0');
}

START_TEST(many_of_one_tick)
{
	events(busy, ENOUGH, NOW, 0);
	ck_assert_int_ne(state(busy_freeze), '1');
	events(busy, 1, NOW, 0);
	ck_assert_int_eq(state(busy_freeze), '1');
	ck_assert_uint_eq(busy->watched.held, 1);
	ck_assert_int_ne(state(calm_freeze), '1');
}
END_TEST

START_TEST(many_that_come_late)
{
	watch->wall_ms = NOW + 1000;
	events(busy, ENOUGH, NOW, 4);
	ck_assert_int_eq(state(busy_freeze), '1');
}
END_TEST

START_TEST(a_build_is_never_held)
{
	for (unsigned tick = 0; tick < 1000; tick++) {
		watch->wall_ms = NOW + tick * 4 + 4; /* each a tick late */
		events(busy, 8, NOW + tick * 4, 0);
	}
	ck_assert_uint_eq(busy->watched.held, 0);
}
END_TEST

START_TEST(a_few_late_ones_are_nobodys_fault)
{
	watch->wall_ms = NOW + 1000; /* somebody else's flood is before it in the queue */
	events(calm, ENOUGH - 1, NOW, 0);
	watch->wall_ms = NOW + 2000;
	events(calm, ENOUGH - 1, NOW + 2000, 4);
	ck_assert_uint_eq(calm->watched.held, 0);
}
END_TEST

START_TEST(let_go_when_the_stream_has_caught_up)
{
	hold();
	ac_pace_record(watch, NOW);
	ac_pace_turn(watch);
	ck_assert_int_eq(state(busy_freeze), '1'); /* was made before the hold */
	ac_pace_record(watch, NOW + 1);
	ac_pace_turn(watch);
	ck_assert_int_eq(state(busy_freeze), '0');
	events(busy, ENOUGH - 1, NOW, 0); /* counted anew */
	ck_assert_int_eq(state(busy_freeze), '0');
	events(busy, 1, NOW, 0);
	ck_assert_int_eq(state(busy_freeze), '1');
	ck_assert_uint_eq(busy->watched.held, 2);
}
END_TEST

START_TEST(what_nothing_comes_from_is_asked_for)
{
	hold();
	ac_pace_turn(watch);
	ck_assert(!ac_watch_asks_queue(watch)); /* something came just now */
	turn_after(4);
	ck_assert_int_eq(state(busy_freeze), '1');
	ck_assert(ac_watch_asks_queue(watch));
	ck_assert(!ac_watch_asks_queue(watch));
	told_and_turn_after(65, 3);
	ck_assert_int_eq(state(busy_freeze), '1'); /* its processor stands still */
	ck_assert(!ac_watch_asks_queue(watch));
	turn_after(1);
	ck_assert(ac_watch_asks_queue(watch));
	told_and_turn_after(64, 1);
	ck_assert_int_eq(state(busy_freeze), '0');
}
END_TEST

START_TEST(silent_after_a_hold)
{
	hold();
	turn_after(4);
	for (uint64_t silence = 4; silence <= 64; silence *= 2) {
		told_and_turn_after(0, 1);
		ck_assert_int_eq(state(busy_freeze), '0');
		turn_after(silence - 1);
		ck_assert_int_eq(state(busy_freeze), '0');
		turn_after(1);
		ck_assert_int_eq(state(busy_freeze), '1');
		ck_assert_int_ne(state(calm_freeze), '1');
	}
	told_and_turn_after(0, 1);
	turn_after(10000);
	ck_assert_int_eq(state(busy_freeze), '0');
}
END_TEST

START_TEST(silent_because_the_queue_stood_still)
{
	hold();
	for (unsigned i = 0; i < 20; i++) {
		told_and_turn_after(0, 1);
		ck_assert_int_eq(state(busy_freeze), '0');
		turn_after(4); /* held again, and each time it was the queue */
		ck_assert_int_eq(state(busy_freeze), '1');
		told_and_turn_after(5000, 1);
		ck_assert_int_eq(state(busy_freeze), '1');
	}
}
END_TEST

START_TEST(somebody_elses_queue)
{
	hold();
	told_and_turn_after(1024, 99);
	ck_assert_int_eq(state(busy_freeze), '1');
	told_and_turn_after(1025, 1);
	ck_assert_int_eq(state(busy_freeze), '1');
	told_and_turn_after(1024, 1);
	ck_assert_int_eq(state(busy_freeze), '0');
}
END_TEST

START_TEST(let_go_after_a_second)
{
	hold();
	turn_after(999);
	ck_assert_int_eq(state(busy_freeze), '1');
	turn_after(1);
	ck_assert_int_eq(state(busy_freeze), '0');
}
END_TEST

START_TEST(held_again_when_the_queue_grows)
{
	hold_and_let_go();
	for (unsigned i = 0; i < 3; i++) { /* records come all the time, but too few */
		ac_watch_tell_queue(watch, i < 2 ? 1024 : 1025, 8192);
		ac_pace_record(watch, NOW);
		turn_after(3);
		ac_pace_record(watch, NOW);
		ck_assert_int_eq(state(busy_freeze), i < 2 ? '0' : '1');
		turn_after(1);
		ck_assert(ac_watch_asks_queue(watch) == (i < 2));
	}
	ck_assert_int_ne(state(calm_freeze), '1');
}
END_TEST

START_TEST(one_late_event_of_a_suspect)
{
	hold_and_let_go();
	events(calm, 1, NOW - 8, 0);
	events(busy, 1, NOW - 7, 0);
	ck_assert_int_eq(state(busy_freeze), '0');
	events(busy, 1, NOW - 8, 0);
	ck_assert_int_eq(state(busy_freeze), '1');
	ck_assert_int_ne(state(calm_freeze), '1');
}
END_TEST

START_TEST(no_suspect_for_longer_than_a_second)
{
	hold_and_let_go();
	for (unsigned ms = 0; ms < 1000; ms += 2) { /* of somebody */
		ac_pace_record(watch, NOW);
		turn_after(2);
	}
	events(busy, 1, NOW - 8, 0);
	turn_after(100);
	ck_assert_int_eq(state(busy_freeze), '0');
}
END_TEST

START_TEST(an_alarm_freezes_everybody)
{
	hold_and_let_go();
	pthread_mutex_lock(&watch->lock); /* by one that stands still */
	ac_pace_alarm(watch);
	ck_assert_int_eq(state(busy_freeze), '1');
	ck_assert_int_eq(state(calm_freeze), '1');
	ac_pace_alarmed(watch);
	pthread_mutex_unlock(&watch->lock);
	ck_assert_int_eq(state(busy_freeze), '1'); /* on probation */
	ck_assert_int_eq(state(calm_freeze), '0');
	told_and_turn_after(0, 1);
	ck_assert_int_eq(state(busy_freeze), '0');
}
END_TEST

START_TEST(what_else_freezes_it_lasts)
{
	hold();
	ac_watch_freeze(watch, BUSY, true);
	turn_after(1000);
	ck_assert_int_eq(state(busy_freeze), '1');
	ac_watch_freeze(watch, BUSY, false);
	ck_assert_int_eq(state(busy_freeze), '0');
	hold();
	ac_watch_freeze(watch, BUSY, false); /* the guardian's thaw does not end the hold */
	ck_assert_int_eq(state(busy_freeze), '1');
	busy->watched.escaped = true;
	turn_after(1000);
	ck_assert_int_eq(state(busy_freeze), '1');
}
END_TEST

START_TEST(gone_while_it_was_held)
{
	hold();
	ac_watch_remove(watch, BUSY);
	turn_after(1000);
	events(calm, ENOUGH + 1, NOW, 0);
	ck_assert_int_eq(state(calm_freeze), '1');
	turn_after(1000);
	ck_assert_int_eq(state(calm_freeze), '0');
}
END_TEST

START_TEST(a_replay_has_no_clock)
{
	watch->wall_ms = 0;
	events(busy, 10 * ENOUGH, NOW, 0);
	ck_assert_uint_eq(busy->watched.held, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pace");
	TCase *cases = tcase_create("pace");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, many_of_one_tick);
	tcase_add_test(cases, many_that_come_late);
	tcase_add_test(cases, a_build_is_never_held);
	tcase_add_test(cases, a_few_late_ones_are_nobodys_fault);
	tcase_add_test(cases, let_go_when_the_stream_has_caught_up);
	tcase_add_test(cases, what_nothing_comes_from_is_asked_for);
	tcase_add_test(cases, silent_after_a_hold);
	tcase_add_test(cases, silent_because_the_queue_stood_still);
	tcase_add_test(cases, somebody_elses_queue);
	tcase_add_test(cases, let_go_after_a_second);
	tcase_add_test(cases, held_again_when_the_queue_grows);
	tcase_add_test(cases, one_late_event_of_a_suspect);
	tcase_add_test(cases, no_suspect_for_longer_than_a_second);
	tcase_add_test(cases, an_alarm_freezes_everybody);
	tcase_add_test(cases, what_else_freezes_it_lasts);
	tcase_add_test(cases, gone_while_it_was_held);
	tcase_add_test(cases, a_replay_has_no_clock);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

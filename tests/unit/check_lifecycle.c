/* SPDX-License-Identifier: ISC */
/*
 * The lifecycle and its driver in stories that a person can check; exhaust.c and explore.c do the
 * rest.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

/* A script: what the acts answer, and which writes are refused ("-") or accepted ("."). */
static const char *answers, *writes;
static char story[1024];

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	size_t length = strlen(story);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(story + length, sizeof(story) - length, format, arguments);
	va_end(arguments);
}

static enum ac_life_event act(void *world, struct ac_life life)
{
	char answer = 'o';

	(void)world;
	if (*answers)
		answer = *answers++;
	tell(" %s", ac_state_name(life.state));
	switch (answer) {
	case 'o':
		return AC_EVENT_OK;
	case 'f':
		return AC_EVENT_FAIL;
	case 'x':
		return AC_EVENT_EXIT;
	case 'l':
		return AC_EVENT_LOST;
	case 'e':
		return AC_EVENT_ESCAPE;
	default:
		ck_abort_msg("no such answer");
	}
	return AC_EVENT_COUNT;
}

static int journal(void *world, struct ac_life life)
{
	char refused = '.';

	(void)world;
	(void)life;
	if (*writes)
		refused = *writes++;
	if (refused == '.')
		return 0;
	tell(" -");
	return -ENOSPC;
}

static void wait(void *world, unsigned seconds)
{
	(void)world;
	tell(" %us", seconds);
}

static const struct ac_drive_ops ops = { .act = act, .journal = journal, .wait = wait };

static struct ac_life at(enum ac_state state, enum ac_cause cause)
{
	struct ac_life life = { (unsigned char)state, 0, (unsigned char)cause };

	return life;
}

static void script(const char *acts, const char *records)
{
	answers = acts;
	writes = records;
	story[0] = '\0';
}

static void expect(struct ac_life life, enum ac_state state, enum ac_cause cause)
{
	ck_assert_str_eq(ac_state_name(life.state), ac_state_name(state));
	ck_assert_str_eq(ac_cause_name(life.cause), ac_cause_name(cause));
}

START_TEST(undisturbed)
{
	struct ac_life life = at(AC_STATE_PLANNED, AC_CAUSE_NONE);

	script("", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_SWITCH), 0);
	expect(life, AC_STATE_SWITCH, AC_CAUSE_NONE);
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_ENDED), 0);
	expect(life, AC_STATE_RUNNING, AC_CAUSE_NONE);
	ck_assert_int_eq(ac_drive_event(&life, &ops, NULL, AC_EVENT_EXIT), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_CLEAN);
	ck_assert_str_eq(story, " policy backup account firewall monitor switch"
				" terminate drain cleanup");
}
END_TEST

START_TEST(backup_is_tried_three_times)
{
	struct ac_life life = at(AC_STATE_PLANNED, AC_CAUSE_NONE);

	script("offf", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_SWITCH), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ABORTED);
	ck_assert_str_eq(story, " policy backup 1s backup 3s backup cleanup");
	ck_assert_str_eq(ac_life_status(life), "aborted");
}
END_TEST

START_TEST(doubtful_account_is_killed)
{
	struct ac_life life = at(AC_STATE_ACCOUNT, AC_CAUSE_NONE);

	script("ff", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_SWITCH), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ABORTED);
	ck_assert_str_eq(story, " account account terminate drain cleanup");
}
END_TEST

START_TEST(failed_switch_is_killed)
{
	struct ac_life life = at(AC_STATE_SWITCH, AC_CAUSE_NONE);

	script("ff", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_ENDED), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ABORTED);
	ck_assert_str_eq(story, " switch switch terminate drain cleanup");
}
END_TEST

START_TEST(escape_found_by_the_drain)
{
	struct ac_life life = at(AC_STATE_RUNNING, AC_CAUSE_NONE);

	script("oe", "");
	ck_assert_int_eq(ac_drive_event(&life, &ops, NULL, AC_EVENT_EXIT), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ESCAPE);
	ck_assert_str_eq(story, " terminate drain drain cleanup");
	ck_assert_str_eq(ac_life_status(life), "terminated");
}
END_TEST

/* No kill is given up, and no caller is kept for ever. */
START_TEST(kill_fails)
{
	struct ac_life life = at(AC_STATE_RUNNING, AC_CAUSE_NONE);

	script("ffff", "");
	ck_assert_int_eq(ac_drive_event(&life, &ops, NULL, AC_EVENT_ESCAPE), -EAGAIN);
	expect(life, AC_STATE_TERMINATE, AC_CAUSE_ESCAPE);
	ck_assert_str_eq(story, " terminate terminate 1s terminate 1s terminate");
	script("fo", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_ENDED), -EAGAIN);
	expect(life, AC_STATE_TERMINATE, AC_CAUSE_ESCAPE);
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_ENDED), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ESCAPE);
}
END_TEST

START_TEST(full_disk_does_not_keep_the_agent_alive)
{
	struct ac_life life = at(AC_STATE_RUNNING, AC_CAUSE_NONE);

	script("", "----------------");
	ck_assert_int_eq(ac_drive_event(&life, &ops, NULL, AC_EVENT_ESCAPE), -EIO);
	expect(life, AC_STATE_TERMINATE, AC_CAUSE_ESCAPE);
	ck_assert_msg(strncmp(story, " - terminate", 12) == 0, "%s", story);
	script("", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_ENDED), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ESCAPE);
}
END_TEST

START_TEST(full_disk_stops_the_set_up)
{
	struct ac_life life = at(AC_STATE_POLICY, AC_CAUSE_NONE);

	script("", "--");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_SWITCH), -EIO);
	expect(life, AC_STATE_POLICY, AC_CAUSE_ABORTED);
	ck_assert_str_eq(story, " policy - -");
	/* The set-up is not resumed when there is room again. */
	script("", "");
	ck_assert_int_eq(ac_drive(&life, &ops, NULL, AC_STATE_SWITCH), 0);
	expect(life, AC_STATE_ENDED, AC_CAUSE_ABORTED);
	ck_assert_str_eq(story, " cleanup");
}
END_TEST

/* A refused record of running is a failed switch: the barrier stays shut. */
START_TEST(running_is_written_or_not_reached)
{
	struct ac_life life = at(AC_STATE_SWITCH, AC_CAUSE_NONE);

	script("", "----");
	(void)ac_drive(&life, &ops, NULL, AC_STATE_ENDED);
	ck_assert_msg(strncmp(story, " switch - - switch - - terminate", 32) == 0, "%s", story);
	ck_assert_int_ne(life.state, AC_STATE_RUNNING);
}
END_TEST

START_TEST(adoption)
{
	static const struct {
		enum ac_state from;
		enum ac_cause had, cause;
		const char *story;
	} cases[] = {
		{ AC_STATE_PLANNED, AC_CAUSE_NONE, AC_CAUSE_ABORTED, " cleanup" },
		{ AC_STATE_MONITOR, AC_CAUSE_NONE, AC_CAUSE_ABORTED, " cleanup" },
		{ AC_STATE_SWITCH, AC_CAUSE_NONE, AC_CAUSE_LOST, " terminate drain cleanup" },
		{ AC_STATE_RUNNING, AC_CAUSE_NONE, AC_CAUSE_LOST, " terminate drain cleanup" },
		{ AC_STATE_TERMINATE, AC_CAUSE_ESCAPE, AC_CAUSE_ESCAPE,
			" terminate drain cleanup" },
		{ AC_STATE_DRAIN, AC_CAUSE_CLEAN, AC_CAUSE_LOST, " cleanup" },
		{ AC_STATE_CLEANUP, AC_CAUSE_CLEAN, AC_CAUSE_CLEAN, " cleanup" },
		{ AC_STATE_ENDED, AC_CAUSE_CLEAN, AC_CAUSE_CLEAN, "" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ac_life life = at(cases[i].from, cases[i].had);

		script("", "");
		ck_assert_int_eq(ac_drive_event(&life, &ops, NULL, AC_EVENT_RESTART), 0);
		expect(life, AC_STATE_ENDED, cases[i].cause);
		ck_assert_str_eq(story, cases[i].story);
	}
}
END_TEST

START_TEST(words)
{
	for (unsigned i = 0; i < 256; i++) {
		ck_assert((ac_state_name(i) != NULL) == (i < AC_STATE_COUNT));
		ck_assert((ac_cause_name(i) != NULL) == (i < AC_CAUSE_COUNT));
	}
	ck_assert_str_eq(ac_state_name(AC_STATE_PLANNED), "planned");
	ck_assert_str_eq(ac_state_name(AC_STATE_ENDED), "ended");
	ck_assert_str_eq(ac_cause_name(AC_CAUSE_NONE), "none");
	ck_assert_str_eq(ac_cause_name(AC_CAUSE_WALL_CLOCK), "wall_clock");
	ck_assert_str_eq(ac_cause_name(AC_CAUSE_ESCAPE), "escape");
	ck_assert_str_eq(ac_life_status(at(AC_STATE_SWITCH, AC_CAUSE_NONE)), "planned");
	ck_assert_str_eq(ac_life_status(at(AC_STATE_RUNNING, AC_CAUSE_NONE)), "running");
	ck_assert_str_eq(ac_life_status(at(AC_STATE_ENDED, AC_CAUSE_WALL_CLOCK)), "ended");
	ck_assert_str_eq(ac_life_status(at(AC_STATE_ENDED, AC_CAUSE_REFUSED)), "aborted");
	ck_assert_str_eq(ac_life_status(at(AC_STATE_ENDED, AC_CAUSE_LOST)), "terminated");
}
END_TEST

START_TEST(conformance)
{
	struct ac_life backup = at(AC_STATE_BACKUP, AC_CAUSE_NONE);
	struct ac_life running = at(AC_STATE_RUNNING, AC_CAUSE_NONE);

	ck_assert(ac_life_conforms(backup, at(AC_STATE_ACCOUNT, AC_CAUSE_NONE)));
	ck_assert(!ac_life_conforms(backup, at(AC_STATE_FIREWALL, AC_CAUSE_NONE)));
	ck_assert(!ac_life_conforms(at(AC_STATE_ACCOUNT, AC_CAUSE_NONE), backup));
	ck_assert(!ac_life_conforms(backup, backup));
	ck_assert(ac_life_conforms(running, at(AC_STATE_TERMINATE, AC_CAUSE_ESCAPE)));
	ck_assert_msg(ac_life_conforms(running, at(AC_STATE_DRAIN, AC_CAUSE_CLEAN)),
		"the kill may be missing from a journal");
	ck_assert(!ac_life_conforms(running, at(AC_STATE_CLEANUP, AC_CAUSE_CLEAN)));
	ck_assert(!ac_life_conforms(running, at(AC_STATE_ENDED, AC_CAUSE_CLEAN)));
	ck_assert_msg(!ac_life_conforms(at(AC_STATE_TERMINATE, AC_CAUSE_ESCAPE),
			      at(AC_STATE_DRAIN, AC_CAUSE_CLEAN)),
		"no cause gets better");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lifecycle");
	TCase *tests = tcase_create("lifecycle");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, undisturbed);
	tcase_add_test(tests, backup_is_tried_three_times);
	tcase_add_test(tests, doubtful_account_is_killed);
	tcase_add_test(tests, failed_switch_is_killed);
	tcase_add_test(tests, escape_found_by_the_drain);
	tcase_add_test(tests, kill_fails);
	tcase_add_test(tests, full_disk_does_not_keep_the_agent_alive);
	tcase_add_test(tests, full_disk_stops_the_set_up);
	tcase_add_test(tests, running_is_written_or_not_reached);
	tcase_add_test(tests, adoption);
	tcase_add_test(tests, words);
	tcase_add_test(tests, conformance);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

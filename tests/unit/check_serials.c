/* SPDX-License-Identifier: ISC */
/*
 * Gaps in serial numbers: none false however records are reordered, none missed.
 */
#include <check.h>
#include <stdlib.h>

#include "../../auditd_rules/serials.h"

static struct ac_serials serials;

START_TEST(in_order)
{
	ac_serials_reset(&serials);
	for (uint64_t serial = 5; serial < 100000; serial++)
		ck_assert_uint_eq(ac_serials_see(&serials, serial), 0);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(ac_serials_tick(&serials), 0);
}
END_TEST

/* As measured: up to 1600 numbers apart; several records of one event share a number. */
START_TEST(out_of_order)
{
	uint64_t missing = 0;

	ac_serials_reset(&serials);
	srandom(1);
	for (uint64_t block = 0; block < 200; block++) {
		uint64_t order[1600];

		for (unsigned i = 0; i < 1600; i++)
			order[i] = block * 1600 + i;
		for (unsigned i = 1599; i > 0 && block; i--) {
			unsigned other = (unsigned)random() % (i + 1);
			uint64_t kept = order[i];

			order[i] = order[other];
			order[other] = kept;
		}
		for (unsigned i = 0; i < 1600; i++) {
			missing += ac_serials_see(&serials, order[i]);
			missing += ac_serials_see(&serials, order[i]);
		}
	}
	for (unsigned i = 0; i < 5; i++)
		missing += ac_serials_tick(&serials);
	ck_assert_uint_eq(missing, 0);
}
END_TEST

START_TEST(one_missing)
{
	uint64_t missing = 0;

	ac_serials_reset(&serials);
	for (uint64_t serial = 0; serial < 20000; serial++)
		if (serial != 777)
			missing += ac_serials_see(&serials, serial);
	ck_assert_uint_eq(missing, 1);
}
END_TEST

/* A quiet machine: nothing pushes the window on, but time does. */
START_TEST(one_missing_in_silence)
{
	ac_serials_reset(&serials);
	(void)ac_serials_see(&serials, 1);
	(void)ac_serials_see(&serials, 3);
	ck_assert_uint_eq(ac_serials_tick(&serials), 0);
	ck_assert_uint_eq(ac_serials_tick(&serials), 0);
	ck_assert_uint_eq(ac_serials_tick(&serials), 1);
	ck_assert_uint_eq(ac_serials_tick(&serials), 0);
}
END_TEST

START_TEST(a_hole_larger_than_the_window)
{
	ac_serials_reset(&serials);
	(void)ac_serials_see(&serials, 10);
	ck_assert_uint_eq(ac_serials_see(&serials, 1000011), 1000000);
	ck_assert_uint_eq(ac_serials_see(&serials, 1000012), 0);
}
END_TEST

/* For every size of hole: exactly as many are found missing as there are. */
START_TEST(every_hole)
{
	for (uint64_t hole = 1; hole < 40000; hole += hole < 100 ? 1 : 997) {
		uint64_t missing = 0;

		ac_serials_reset(&serials);
		for (uint64_t serial = 0; serial < 100; serial++)
			missing += ac_serials_see(&serials, serial);
		for (uint64_t serial = 100 + hole; serial < 200 + hole; serial++)
			missing += ac_serials_see(&serials, serial);
		for (unsigned i = 0; i < 4; i++)
			missing += ac_serials_tick(&serials);
		ck_assert_uint_eq(missing, hole);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("serials");
	TCase *cases = tcase_create("serials");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, in_order);
	tcase_add_test(cases, out_of_order);
	tcase_add_test(cases, one_missing);
	tcase_add_test(cases, one_missing_in_silence);
	tcase_add_test(cases, a_hole_larger_than_the_window);
	tcase_add_test(cases, every_hole);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

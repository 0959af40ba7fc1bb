/* SPDX-License-Identifier: ISC */
/* Sections of a manifest: every length comes back, one frame or many, one thread or two. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "backup_section.h"
#include "beside.h"

#define MIB ((size_t)1 << 20)

static const size_t lengths[] = { 0, 1, 100, MIB - 1, MIB, MIB + 1, 2 * MIB - 1, 2 * MIB,
	2 * MIB + 1, 3 * MIB, 5 * MIB + 12345, 8 * MIB };

/* Every other block of 4 KiB is noise: zstd has something to do and something that it cannot. */
static unsigned char *make_raw(size_t length)
{
	unsigned char *raw = malloc(length + 1);
	unsigned long state = length;

	ck_assert_ptr_nonnull(raw);
	for (size_t i = 0; i < length; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		raw[i] = i / 4096 % 2 ? (unsigned char)(state >> 56) : (unsigned char)(i / 512);
	}
	return raw;
}

static size_t count_frames(const unsigned char *packed, size_t stored)
{
	size_t count = 0;

	for (size_t at = 0; at < stored; count++) {
		size_t length = ZSTD_findFrameCompressedSize(packed + at, stored - at);

		ck_assert(!ZSTD_isError(length));
		at += length;
	}
	return count;
}

START_TEST(test_round_trip)
{
	const size_t length = lengths[_i];
	ZSTD_CCtx *context = ZSTD_createCCtx();
	unsigned char *raw = make_raw(length), *back = malloc(length + 1);
	void *packed = NULL;
	size_t stored = 0;

	ck_assert_int_eq(ac_section_compress(context, raw, length, &packed, &stored), 0);
	ck_assert_uint_le(stored, length);
	if (length >= MIB) {
		ck_assert_uint_lt(stored, length);
		ck_assert_uint_eq(count_frames(packed, stored), (length + MIB - 1) / MIB);
	}
	ck_assert_int_eq(ac_section_expand(packed, stored, back, length), 0);
	ck_assert(!length || !memcmp(raw, back, length));
	if (stored > 100 && stored < length) {
		ck_assert_int_lt(ac_section_expand(packed, stored - 1, back, length), 0);
		ck_assert_int_lt(ac_section_expand(packed, stored, back, length - 1), 0);
	}
	ZSTD_freeCCtx(context);
	free(packed);
	free(raw);
	free(back);
}
END_TEST

static int work(void *context, struct ac_err *err)
{
	int *number = context;

	return ++*number == 1 ? 0 : ac_fail(err, ERANGE, "%d times", *number);
}

START_TEST(test_beside)
{
	struct ac_err err = { 0, "" };
	struct ac_beside beside;
	int number = 0;

	ac_beside_start(&beside, work, &number);
	ck_assert_int_eq(ac_beside_join(&beside, &err), 0);
	ck_assert_int_eq(number, 1);
	ck_assert_int_eq(err.code, 0);
	ac_beside_start(&beside, work, &number);
	ck_assert_int_eq(ac_beside_join(&beside, &err), -ERANGE);
	ck_assert_str_eq(err.text, "2 times");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backup_section");
	TCase *tcase = tcase_create("backup_section");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, test_round_trip, 0, (int)(sizeof lengths / sizeof lengths[0]));
	tcase_add_test(tcase, test_beside);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

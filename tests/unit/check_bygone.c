/* SPDX-License-Identifier: ISC */
/* Which sessions does a log tell of that have no end? */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../auditd_rules/bygone.h"
#include "log.h"
#include "util.h"

static struct ac_bygone_list list;

static int read_text(const char *text)
{
	ac_autofree char *copy = strdup(text);
	ac_autofclose FILE *stream = copy ? fmemopen(copy, strlen(copy), "r") : NULL;

	memset(&list, 0, sizeof(list));
	if (!stream)
		ck_abort_msg("no memory");
	return ac_bygone_read(stream, &list);
}

static const struct ac_bygone *named(const char *id)
{
	for (unsigned i = 0; i < list.count; i++)
		if (!strcmp(list.bygone[i].id, id))
			return &list.bygone[i];
	ck_abort_msg("no session %s", id);
}

START_TEST(a_session_without_an_end_is_found)
{
	ck_assert_int_eq(
		read_text("{\"time\":\"2026-01-02T03:04:05.006Z\",\"event\":\"start\","
			  "\"session_id\":\"0123456789ab\",\"user\":\"dev\",\"backup_id\":\"b\"}\n"
			  "{\"time\":\"2026-01-02T03:04:06.006Z\",\"event\":\"start\","
			  "\"session_id\":\"ba9876543210\",\"user\":\"other\"}\n"
			  "{\"time\":\"2026-01-02T03:05:05.006Z\",\"event\":\"heartbeat\","
			  "\"session_id\":\"0123456789ab\",\"user\":7}\n"
			  "{\"time\":\"2026-01-02T03:05:06.006Z\",\"event\":\"end\","
			  "\"session_id\":\"ba9876543210\"}\n"),
		0);
	ck_assert_uint_eq(list.count, 2);
	ck_assert(!named("0123456789ab")->ended);
	ck_assert_str_eq(named("0123456789ab")->time, "2026-01-02T03:05:05.006Z");
	ck_assert_str_eq(named("0123456789ab")->user, "dev");
	ck_assert_str_eq(named("0123456789ab")->backup_id, "b");
	ck_assert(named("ba9876543210")->ended);
	free(list.bygone);
}
END_TEST

/* Words that only ever stand beside a session, before it or after it. */
START_TEST(what_is_no_session_is_passed_over)
{
	ck_assert_int_eq(read_text("{\"event\":\"refused\",\"session_id\":\"0123456789ab\"}\n"
				   "{\"event\":\"restore\",\"session_id\":\"0123456789ac\"}\n"
				   "{\"event\":\"changed\",\"session_id\":\"0123456789ad\"}\n"
				   "{\"event\":\"lost\",\"session_id\":\"\"}\n"
				   "{\"event\":\"start\",\"session_id\":\"../../etc/pas\"}\n"
				   "{\"event\":\"start\",\"session_id\":12}\n"
				   "{\"event\":\"start\"}\n"
				   "[]\n\"start\"\n12\nnull\n\n{\"event\":\"sta"),
		0);
	ck_assert_uint_eq(list.count, 0);
}
END_TEST

START_TEST(a_torn_line_hides_no_other)
{
	ck_assert_int_eq(read_text("56789ab\"}\n{\"event\":\"sta\n"
				   "{\"event\":\"start\",\"session_id\":\"0123456789ab\"}\n"),
		0);
	ck_assert_uint_eq(list.count, 1);
	free(list.bygone);
}
END_TEST

/* As the log writes them; more than fit into the first piece of memory. */
START_TEST(many_sessions)
{
	ac_autofree char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	unsigned failed = 0;

	if (!stream)
		ck_abort_msg("no memory");
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 1000; i++) {
			char line[512], id[16];

			(void)snprintf(id, sizeof(id), "%012x", i);
			if (round && i % 3 == 0)
				continue;
			failed += ac_log_format(line, sizeof(line), 1767323045006 + i,
					  round ? AC_LOG_END : AC_LOG_START, id, NULL, 0) <= 0 ||
				  fputs(line, stream) < 0;
		}
	failed += fclose(stream) != 0;
	ck_assert_uint_eq(failed, 0);
	ck_assert_int_eq(read_text(text), 0);
	ck_assert_uint_eq(list.count, 1000);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(list.bygone[i].ended == (i % 3 != 0));
	free(list.bygone);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bygone");
	TCase *tcase = tcase_create("bygone");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_session_without_an_end_is_found);
	tcase_add_test(tcase, what_is_no_session_is_passed_over);
	tcase_add_test(tcase, a_torn_line_hides_no_other);
	tcase_add_test(tcase, many_sessions);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

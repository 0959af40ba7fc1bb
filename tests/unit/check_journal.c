/* SPDX-License-Identifier: ISC */
/* The journal: strict lines, locks, torn tails, half-made and half-removed sessions. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal_at.h"
#include "safefile.h"
#include "util.h"

#define ID "0123456789ab"

static char directory[] = "/tmp/check-journal-XXXXXX";
static int base_fd;
static struct ac_journal journal;
static struct ac_err err;
static const struct ac_life backup = { AC_STATE_BACKUP, 1, AC_CAUSE_NONE };
static const struct ac_life ended = { AC_STATE_ENDED, 0, AC_CAUSE_ESCAPE };

static void setup(void)
{
	struct ac_journal closed = AC_JOURNAL_CLOSED;

	journal = closed;
	strcpy(directory, "/tmp/check-journal-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	base_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void teardown(void)
{
	ac_journal_close(&journal);
	ck_assert_int_eq(ac_remove_below(base_fd, &err), 0);
	close(base_fd);
	ck_assert_int_eq(rmdir(directory), 0);
}

static void create(void)
{
	ck_assert_msg(ac_journal_create_at(base_fd, ID, &journal, &err) == 0, "%s", err.text);
}

static int parse(const char *line, struct ac_journal_record *record)
{
	return ac_journal_parse(line, strlen(line), record);
}

START_TEST(test_lines_round_trip)
{
	unsigned state, cause, tries;
	char line[128];

	for (state = 0; state < AC_STATE_COUNT; state++) {
		for (cause = 0; cause < AC_CAUSE_COUNT; cause++) {
			for (tries = 0; tries < 256; tries += 5) {
				struct ac_journal_record record = { .count = tries + 1,
					.life = { (unsigned char)state, (unsigned char)tries,
						(unsigned char)cause },
					.time_ms = UINT64_MAX - tries,
					.pid = 4194304 };
				struct ac_journal_record parsed = { 0 };
				int length = ac_journal_format(line, sizeof(line), &record);

				ck_assert_int_gt(length, 0);
				ck_assert_int_eq(
					ac_journal_parse(line, (size_t)length, &parsed), 0);
				ck_assert_uint_eq(parsed.count, record.count);
				ck_assert_mem_eq(&parsed.life, &record.life, sizeof(record.life));
				ck_assert_uint_eq(parsed.time_ms, record.time_ms);
				ck_assert_int_eq(parsed.pid, record.pid);
			}
		}
	}
}
END_TEST

START_TEST(test_bad_lines)
{
	static const char *const bad[] = { "", "\n", "1 backup 0 none 5 7", "1 backup 0 none 5\n",
		"1 backup 0 none 5 7 8\n", "01 backup 0 none 5 7\n", "+1 backup 0 none 5 7\n",
		" 1 backup 0 none 5 7\n", "1  backup 0 none 5 7\n", "1 backup 0 none 5 7 \n",
		"1 Backup 0 none 5 7\n", "1 back 0 none 5 7\n", "1 backup 256 none 5 7\n",
		"1 backup -1 none 5 7\n", "1 backup 0 nobody 5 7\n", "1 backup 0 none 5 -7\n",
		"1 backup 0 none 18446744073709551616 7\n", "1 backup 0 none 5 2147483648\n",
		"4294967296 backup 0 none 5 7\n", "1 backup 0 none 5 0x7\n",
		"1 backup 0 none 5 7\r\n", "1\tbackup 0 none 5 7\n" };
	struct ac_journal_record record = { .count = 77 };
	unsigned i;

	ck_assert_int_eq(parse("1 backup 0 none 5 7\n", &record), 0);
	record.count = 77;
	for (i = 0; i < AC_COUNT(bad); i++) {
		ck_assert_msg(parse(bad[i], &record) == -EBADMSG, "accepted: %s", bad[i]);
		ck_assert_uint_eq(record.count, 77);
	}
	ck_assert_int_eq(ac_journal_parse("1 backup 0 none 5 7\0\n", 21, &record), -EBADMSG);
}
END_TEST

START_TEST(test_format_refuses)
{
	struct ac_journal_record record = { .life = { AC_STATE_COUNT, 0, 0 } };
	char line[128];

	ck_assert_int_eq(ac_journal_format(line, sizeof(line), &record), -EINVAL);
	record.life.state = 0;
	record.life.cause = AC_CAUSE_COUNT;
	ck_assert_int_eq(ac_journal_format(line, sizeof(line), &record), -EINVAL);
	record.life.cause = 0;
	ck_assert_int_eq(ac_journal_format(line, 5, &record), -EMSGSIZE);
	ck_assert_int_gt(ac_journal_format(line, sizeof(line), &record), 0);
}
END_TEST

START_TEST(test_create_append_read)
{
	struct ac_journal_record record;
	struct ac_journal other = AC_JOURNAL_CLOSED;
	struct stat st;

	create();
	ck_assert_int_eq(fstatat(base_fd, ID, &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 0700);
	ck_assert_int_eq(fstat(journal.fd, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
	ck_assert_int_eq(ac_journal_last(&journal, &record, &err), -ENODATA);
	ck_assert_int_eq(ac_journal_append(&journal, backup), 0);
	ck_assert_int_eq(ac_journal_append(&journal, ended), 0);
	ck_assert_int_eq(ac_journal_last(&journal, &record, &err), 0);
	ck_assert_uint_eq(record.count, 2);
	ck_assert_mem_eq(&record.life, &ended, sizeof(ended));
	ck_assert_int_eq(record.pid, getpid());
	ck_assert_int_eq(ac_journal_create_at(base_fd, ID, &other, &err), -EEXIST);
	ck_assert_int_eq(other.fd, -1);
	ck_assert_int_eq(faccessat(base_fd, AC_JOURNAL_UNBORN ID, F_OK, 0), -1);
	ck_assert_int_eq(ac_journal_create_at(base_fd, "../../x", &other, &err), -EINVAL);
	ck_assert_int_eq(ac_journal_open_at(base_fd, "0123456789ac", &other, &err), -ENOENT);
}
END_TEST

START_TEST(test_lock)
{
	struct ac_journal other = AC_JOURNAL_CLOSED;
	pid_t child;
	int status;

	create();
	ck_assert_int_eq(ac_journal_append(&journal, backup), 0);
	ck_assert_int_eq(ac_journal_open_at(base_fd, ID, &other, &err), 0);
	ck_assert_int_eq(ac_journal_lock(&other), -EWOULDBLOCK);
	/* a forked child with copies of the descriptors does not keep it */
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	ac_journal_unlock(&journal);
	ck_assert_int_eq(ac_journal_lock(&other), 0);
	ck_assert_uint_eq(other.count, 1);
	ck_assert_int_eq(ac_journal_append(&other, ended), 0);
	ck_assert_int_eq(ac_journal_lock(&journal), -EWOULDBLOCK);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ac_journal_close(&other);
	ck_assert_int_eq(ac_journal_lock(&journal), 0);
	ck_assert_uint_eq(journal.count, 2);
}
END_TEST

START_TEST(test_owner_that_dies_gives_the_lock_up)
{
	struct ac_journal_record record;
	pid_t child = fork();
	int status;

	if (child == 0) {
		create();
		ac_journal_append(&journal, backup);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_int_eq(ac_journal_open_at(base_fd, ID, &journal, &err), 0);
	ck_assert_int_eq(ac_journal_lock(&journal), 0);
	ck_assert_int_eq(ac_journal_last(&journal, &record, &err), 0);
	ck_assert_int_eq(record.pid, child);
}
END_TEST

START_TEST(test_torn_tail)
{
	struct ac_journal_record record;
	off_t size;
	unsigned cut;

	create();
	ck_assert_int_eq(ac_journal_append(&journal, backup), 0);
	size = lseek(journal.fd, 0, SEEK_END);
	for (cut = 1; cut <= 20; cut++) {
		ck_assert_int_eq(ac_journal_append(&journal, ended), 0);
		ck_assert_int_eq(ftruncate(journal.fd, size + (off_t)cut), 0);
		ck_assert_int_eq(ac_journal_last(&journal, &record, &err), 0);
		ck_assert_uint_eq(record.count, 1);
		ac_journal_unlock(&journal);
		ck_assert_int_eq(ac_journal_lock(&journal), 0);
		ck_assert_int_eq(lseek(journal.fd, 0, SEEK_END), size);
		ck_assert_uint_eq(journal.count, 1);
		ck_assert_int_eq(ac_journal_append(&journal, ended), 0);
		ck_assert_int_eq(ac_journal_last(&journal, &record, &err), 0);
		ck_assert_uint_eq(record.count, 2);
		ck_assert_int_eq(ftruncate(journal.fd, size), 0);
		journal.count = 1;
	}
}
END_TEST

START_TEST(test_damage_is_refused)
{
	struct ac_journal_record record;

	create();
	ck_assert_int_eq(ac_journal_append(&journal, backup), 0);
	ck_assert_int_eq(write(journal.fd, "rubbish\n", 8), 8);
	ck_assert_int_eq(ac_journal_last(&journal, &record, &err), -EBADMSG);
	ac_journal_unlock(&journal);
	ck_assert_int_eq(ac_journal_lock(&journal), -EBADMSG);
	/* a count out of order: a line is missing */
	ck_assert_int_eq(ftruncate(journal.fd, 0), 0);
	ck_assert_int_eq(write(journal.fd, "2 backup 0 none 5 7\n", 20), 20);
	ck_assert_int_eq(ac_journal_last(&journal, &record, &err), -EBADMSG);
}
END_TEST

START_TEST(test_full_disk_leaves_no_torn_line)
{
	struct ac_journal_record record;
	struct rlimit limit = { 30, RLIM_INFINITY };

	create();
	signal(SIGXFSZ, SIG_IGN);
	/* no ck_assert here: Check writes to a file as well */
	setrlimit(RLIMIT_FSIZE, &limit);
	while (ac_journal_append(&journal, backup) == 0)
		;
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_uint_lt(journal.count, 3);
	ck_assert_int_eq(ac_journal_append(&journal, ended), 0);
	ck_assert_int_eq(ac_journal_last(&journal, &record, &err), 0);
	ck_assert_uint_eq(record.count, journal.count);
	ck_assert_mem_eq(&record.life, &ended, sizeof(ended));
}
END_TEST

static int stop_at_two(void *context, const struct ac_journal_record *record)
{
	*(unsigned *)context = record->count;
	return record->count == 2 ? 42 : 0;
}

START_TEST(test_each_stops)
{
	unsigned seen = 0, i;

	create();
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(ac_journal_append(&journal, backup), 0);
	ck_assert_int_eq(ac_journal_each(&journal, stop_at_two, &seen, &err), 42);
	ck_assert_uint_eq(seen, 2);
}
END_TEST

static int count_session(void *context, const char *session_id)
{
	ck_assert_str_eq(session_id, ID);
	++*(unsigned *)context;
	return 0;
}

START_TEST(test_sessions_and_rubbish)
{
	unsigned count = 0;

	create();
	ck_assert_int_eq(mkdirat(base_fd, "0123456789ac", 0700), 0); /* being removed */
	ck_assert_int_eq(mkdirat(base_fd, "not-a-session", 0700), 0);
	ck_assert_int_eq(mkdirat(base_fd, AC_JOURNAL_UNBORN "0123456789ad", 0700), 0);
	ck_assert_int_eq(ac_journal_sessions_at(base_fd, count_session, &count, &err), 0);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(faccessat(base_fd, "0123456789ac", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(base_fd, "not-a-session", F_OK, 0), 0);
	/* too young to be rubbish: somebody may be making it */
	ck_assert_int_eq(faccessat(base_fd, AC_JOURNAL_UNBORN "0123456789ad", F_OK, 0), 0);
}
END_TEST

START_TEST(test_remove)
{
	struct ac_journal other = AC_JOURNAL_CLOSED;
	unsigned count = 0;

	create();
	ck_assert_int_eq(ac_write_new(journal.directory_fd, "policy.json", "x", 1, 0600, &err), 0);
	ck_assert_int_eq(mkdirat(journal.directory_fd, "sub", 0700), 0);
	ck_assert_int_eq(symlinkat("/etc", journal.directory_fd, "sub/link"), 0);
	ck_assert_int_eq(ac_journal_open_at(base_fd, ID, &other, &err), 0);
	ck_assert_msg(ac_journal_remove(&journal, &err) == 0, "%s", err.text);
	ck_assert_int_eq(faccessat(base_fd, ID, F_OK, 0), -1);
	ck_assert_int_eq(ac_journal_sessions_at(base_fd, count_session, &count, &err), 0);
	ck_assert_uint_eq(count, 0);
	ac_journal_close(&journal);
	/* who had it open meanwhile cannot adopt what is gone */
	ck_assert_int_eq(ac_journal_lock(&other), -ENOENT);
	ac_journal_close(&other);
}
END_TEST

START_TEST(test_remove_refuses_another_directory)
{
	create();
	ck_assert_int_eq(renameat(base_fd, ID, base_fd, "moved"), 0);
	ck_assert_int_eq(mkdirat(base_fd, ID, 0700), 0);
	ck_assert_int_eq(ac_journal_remove(&journal, &err), -ESTALE);
	ck_assert_int_eq(faccessat(base_fd, ID, F_OK, 0), 0);
}
END_TEST

START_TEST(test_symlinks_are_not_followed)
{
	create();
	ck_assert_int_eq(renameat(base_fd, ID, base_fd, "real"), 0);
	ck_assert_int_eq(symlinkat("real", base_fd, ID), 0);
	ac_journal_close(&journal);
	ck_assert_int_lt(ac_journal_open_at(base_fd, ID, &journal, &err), 0);
	ck_assert_int_eq(unlinkat(base_fd, ID, 0), 0);
	ck_assert_int_eq(renameat(base_fd, "real", base_fd, ID), 0);
	ck_assert_int_eq(renameat(base_fd, ID "/journal", base_fd, ID "/real"), 0);
	ck_assert_int_eq(symlinkat("real", base_fd, ID "/journal"), 0);
	ck_assert_int_eq(ac_journal_open_at(base_fd, ID, &journal, &err), -ELOOP);
	ck_assert_int_eq(unlinkat(base_fd, ID "/journal", 0), 0);
	ck_assert_int_eq(renameat(base_fd, ID "/real", base_fd, ID "/journal"), 0);
	ck_assert_int_eq(ac_journal_open_at(base_fd, ID, &journal, &err), 0);
}
END_TEST

START_TEST(test_session_ids)
{
	char id[AC_SESSION_ID_SIZE], other[AC_SESSION_ID_SIZE];

	ck_assert_int_eq(ac_session_id_make(id, &err), 0);
	ck_assert_int_eq(ac_session_id_make(other, &err), 0);
	ck_assert(ac_session_id_is_valid(id));
	ck_assert_str_ne(id, other);
	ck_assert(!ac_session_id_is_valid(""));
	ck_assert(!ac_session_id_is_valid("0123456789a"));
	ck_assert(!ac_session_id_is_valid("0123456789abc"));
	ck_assert(!ac_session_id_is_valid("0123456789aB"));
	ck_assert(!ac_session_id_is_valid("0123456789a/"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *tcase = tcase_create("journal");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_lines_round_trip);
	tcase_add_test(tcase, test_bad_lines);
	tcase_add_test(tcase, test_format_refuses);
	tcase_add_test(tcase, test_create_append_read);
	tcase_add_test(tcase, test_lock);
	tcase_add_test(tcase, test_owner_that_dies_gives_the_lock_up);
	tcase_add_test(tcase, test_torn_tail);
	tcase_add_test(tcase, test_damage_is_refused);
	tcase_add_test(tcase, test_full_disk_leaves_no_torn_line);
	tcase_add_test(tcase, test_each_stops);
	tcase_add_test(tcase, test_sessions_and_rubbish);
	tcase_add_test(tcase, test_remove);
	tcase_add_test(tcase, test_remove_refuses_another_directory);
	tcase_add_test(tcase, test_symlinks_are_not_followed);
	tcase_add_test(tcase, test_session_ids);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

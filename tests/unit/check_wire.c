/* SPDX-License-Identifier: ISC */
/* The wire: what is refused, what happens to descriptors, and time limits. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util.h"
#include "wire.h"

#define ID "0123456789ab"

static int ends[2];
static struct ac_wire message, received;
static struct ac_err err;
static int fds[AC_WIRE_FDS_MAX];
static unsigned fd_count;

static void setup(void)
{
	int one = 1;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	ck_assert_int_eq(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	ac_wire_make(&message, AC_WIRE_HELLO, ID, -7, "text");
	memset(&received, 0, sizeof(received));
	fd_count = 99;
}

static void teardown(void)
{
	close(ends[0]);
	close(ends[1]);
}

static unsigned open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	ck_assert_ptr_nonnull(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static int receive(int timeout_ms)
{
	memset(&err, 0, sizeof(err));
	return ac_wire_receive(ends[1], &received, fds, &fd_count, NULL, timeout_ms, &err);
}

START_TEST(test_round_trip)
{
	pid_t pid = 0;

	ck_assert_int_eq(ac_wire_send(ends[0], &message, NULL, 0, &err), 0);
	ck_assert_int_eq(ac_wire_receive(ends[1], &received, fds, &fd_count, &pid, 1000, &err), 0);
	ck_assert_mem_eq(&received, &message, sizeof(message));
	ck_assert_uint_eq(fd_count, 0);
	ck_assert_int_eq(pid, getpid());
	ck_assert_int_eq(received.value, -7);
}
END_TEST

START_TEST(test_make_cuts_and_pads)
{
	static char text[AC_WIRE_TEXT_MAX + 100];
	struct ac_wire zero;

	memset(text, 'x', sizeof(text) - 1);
	memset(&message, 0xff, sizeof(message));
	ac_wire_make(&message, AC_WIRE_NOTICE, NULL, 0, text);
	ck_assert_uint_eq(strlen(message.text), AC_WIRE_TEXT_MAX - 1);
	ck_assert(ac_wire_check(&message, sizeof(message)));
	ac_wire_make(&message, AC_WIRE_NOTICE, "", 0, NULL);
	memset(&zero, 0, sizeof(zero));
	ck_assert_mem_eq(message.text, zero.text, sizeof(zero.text));
}
END_TEST

START_TEST(test_check_refuses)
{
	struct ac_wire bad;
	unsigned type;

	ck_assert(ac_wire_check(&message, sizeof(message)));
	ck_assert(!ac_wire_check(&message, sizeof(message) - 1));
	ck_assert(!ac_wire_check(&message, 0));
	bad = message;
	bad.magic ^= 1;
	ck_assert(!ac_wire_check(&bad, sizeof(bad)));
	bad = message;
	bad.version++;
	ck_assert(!ac_wire_check(&bad, sizeof(bad)));
	for (type = 0; type <= UINT16_MAX; type++) {
		bad = message;
		bad.type = (uint16_t)type;
		ck_assert_int_eq(
			ac_wire_check(&bad, sizeof(bad)), type > 0 && type < AC_WIRE_TYPE_COUNT);
	}
	bad = message;
	memset(bad.text, 'x', sizeof(bad.text));
	ck_assert(!ac_wire_check(&bad, sizeof(bad)));
	bad = message;
	memset(bad.session_id, 'a', sizeof(bad.session_id));
	ck_assert(!ac_wire_check(&bad, sizeof(bad)));
	bad = message;
	strcpy(bad.session_id, "../../../etc");
	ck_assert(!ac_wire_check(&bad, sizeof(bad)));
	strcpy(bad.session_id, "0123456789AB");
	ck_assert(!ac_wire_check(&bad, sizeof(bad)));
	bad.session_id[0] = '\0';
	ck_assert(ac_wire_check(&bad, sizeof(bad)));
}
END_TEST

START_TEST(test_malformed_is_refused)
{
	char big[sizeof(message) + 1] = { 0 };

	memcpy(big, &message, sizeof(message));
	ck_assert_int_gt(send(ends[0], &message, sizeof(message) - 1, 0), 0);
	ck_assert_int_eq(receive(1000), -EBADMSG);
	ck_assert_int_gt(send(ends[0], big, sizeof(big), 0), 0);
	ck_assert_int_eq(receive(1000), -EBADMSG);
	message.type = AC_WIRE_TYPE_COUNT;
	ck_assert_int_eq(ac_wire_send(ends[0], &message, NULL, 0, &err), 0);
	ck_assert_int_eq(receive(1000), -EBADMSG);
	ck_assert_uint_eq(received.magic, 0); /* untouched */
	ck_assert_uint_eq(fd_count, 99);
}
END_TEST

START_TEST(test_timeout)
{
	struct timespec before, after;
	long elapsed;

	clock_gettime(CLOCK_MONOTONIC, &before);
	ck_assert_int_eq(receive(50), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &after);
	elapsed = (after.tv_sec - before.tv_sec) * 1000 +
		  (after.tv_nsec - before.tv_nsec) / 1000000;
	ck_assert_int_ge(elapsed, 45);
	ck_assert_int_eq(receive(0), -ETIMEDOUT);
	ck_assert_int_eq(ac_wire_send(ends[0], &message, NULL, 0, &err), 0);
	ck_assert_int_eq(receive(0), 0);
}
END_TEST

START_TEST(test_closed)
{
	close(ends[0]);
	ck_assert_int_eq(receive(1000), -ECONNRESET);
	ck_assert_int_eq(ac_wire_send(ends[1], &message, NULL, 0, &err), -ECONNRESET);
	ends[0] = -1;
}
END_TEST

START_TEST(test_descriptors_pass)
{
	int pipe_fds[2];
	char byte = 'x';
	unsigned before = open_fds();

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	ck_assert_int_eq(ac_wire_send(ends[0], &message, pipe_fds, 2, &err), 0);
	ck_assert_int_eq(receive(1000), 0);
	ck_assert_uint_eq(fd_count, 2);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(write(fds[1], &byte, 1), 1);
	byte = 0;
	ck_assert_int_eq(read(pipe_fds[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'x');
	close(fds[0]);
	close(fds[1]);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	ck_assert_uint_eq(open_fds(), before);
}
END_TEST

/* Sends count copies of fd with length bytes of the message. */
static void send_many(int fd, unsigned count, size_t length)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { &message, length };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes };
	struct cmsghdr *cmsg;
	unsigned i;

	header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	cmsg = CMSG_FIRSTHDR(&header);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int) * count);
	for (i = 0; i < count; i++)
		memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(fd));
	ck_assert_int_ge(sendmsg(ends[0], &header, 0), 0);
}

START_TEST(test_surplus_descriptors_are_closed)
{
	unsigned before = open_fds(), count;

	for (count = 3; count <= 64; count++) {
		send_many(0, count, sizeof(message));
		ck_assert_int_eq(receive(1000), -EBADMSG);
		ck_assert_uint_eq(open_fds(), before);
	}
	send_many(0, 2, sizeof(message));
	ck_assert_int_eq(receive(1000), 0);
	ck_assert_uint_eq(open_fds(), before + 2);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(test_descriptors_of_a_bad_message_are_closed)
{
	unsigned before = open_fds();

	send_many(0, 2, sizeof(message) - 1);
	ck_assert_int_eq(receive(1000), -EBADMSG);
	ck_assert_uint_eq(open_fds(), before);
	send_many(0, 1, sizeof(message));
	ck_assert_int_eq(
		ac_wire_receive(ends[1], &received, NULL, NULL, NULL, 1000, &err), -EBADMSG);
	ck_assert_uint_eq(open_fds(), before);
}
END_TEST

START_TEST(test_pid_is_the_kernels)
{
	pid_t pid = 0, child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(ac_wire_send(ends[0], &message, NULL, 0, NULL) == 0 ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ac_wire_receive(ends[1], &received, NULL, NULL, &pid, 1000, &err), 0);
	ck_assert_int_eq(pid, child);
	/* without SO_PASSCRED nobody vouches for it */
	ck_assert_int_eq(ac_wire_send(ends[1], &message, NULL, 0, &err), 0);
	ck_assert_int_eq(
		ac_wire_receive(ends[0], &received, NULL, NULL, &pid, 1000, &err), -EBADMSG);
}
END_TEST

START_TEST(test_too_many_to_send)
{
	int many[AC_WIRE_FDS_MAX + 1] = { 0 };

	ck_assert_int_eq(ac_wire_send(ends[0], &message, many, AC_WIRE_FDS_MAX + 1, &err), -EINVAL);
}
END_TEST

START_TEST(test_who_does_not_read)
{
	unsigned sent = 0;

	ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	while (ac_wire_send(ends[0], &message, NULL, 0, &err) == 0)
		sent++;
	ck_assert_int_eq(err.code, ETIMEDOUT);
	ck_assert_uint_gt(sent, 0);
	while (sent--)
		ck_assert_int_eq(receive(0), 0);
	ck_assert_int_eq(receive(0), -ETIMEDOUT); /* the one that failed was not sent */
	ck_assert_int_eq(ac_wire_send(ends[0], &message, NULL, 0, &err), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire");
	TCase *tcase = tcase_create("wire");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_round_trip);
	tcase_add_test(tcase, test_make_cuts_and_pads);
	tcase_add_test(tcase, test_check_refuses);
	tcase_add_test(tcase, test_malformed_is_refused);
	tcase_add_test(tcase, test_timeout);
	tcase_add_test(tcase, test_closed);
	tcase_add_test(tcase, test_descriptors_pass);
	tcase_add_test(tcase, test_surplus_descriptors_are_closed);
	tcase_add_test(tcase, test_descriptors_of_a_bad_message_are_closed);
	tcase_add_test(tcase, test_pid_is_the_kernels);
	tcase_add_test(tcase, test_too_many_to_send);
	tcase_add_test(tcase, test_who_does_not_read);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// SPDX-License-Identifier: ISC
/*
 * The hosts file of a session: what is written is what is read, it stays the same file, and a reader
 * sees whole lines only, whenever he looks.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "hosts.h"
#include "safefile.h"
#include "util.h"

#define HEAD "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"

static char directory[] = "/tmp/check_hosts.XXXXXX";
static int directory_fd;
static struct ac_policy policy;
static struct ac_addresses addresses, again;
static struct ac_err err;
static char text[AC_HOSTS_MAX + 1];

static void endpoint(const char *host, int family, unsigned prefix, unsigned port)
{
	struct ac_endpoint *added = &policy.endpoints[policy.endpoint_count++];

	snprintf(added->host, sizeof(added->host), "%s", host);
	added->family = (uint8_t)family;
	added->prefix = (uint8_t)prefix;
	added->port = (uint16_t)port;
}

static void add(const char *host, const char *number, unsigned port)
{
	struct ac_address address = { .port = (uint16_t)port };

	address.family = strchr(number, ':') ? AF_INET6 : AF_INET;
	address.prefix = address.family == AF_INET ? 32 : 128;
	snprintf(address.host, sizeof(address.host), "%s", host);
	ck_assert_int_eq(inet_pton(address.family, number, address.bytes), 1);
	ck_assert_int_eq(ac_addresses_add(&addresses, &address, &err), 0);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(&policy, 0, sizeof(policy));
	endpoint("api.example", 0, 0, 443);
	endpoint("api.example", 0, 0, 8443);
	endpoint("other.example", 0, 0, 22);
	endpoint("10.0.0.0", AF_INET, 8, 443);
	policy.tolerated.count = 2;
	strcpy(policy.tolerated.name[0], "quiet.example");
	strcpy(policy.tolerated.name[1], "other.example"); /* an endpoint after all */
	ck_assert_int_eq(ac_addresses_begin(&policy, &addresses, &err), 0);
	add("api.example", "192.0.2.1", 443);
	add("api.example", "192.0.2.1", 8443);
	add("other.example", "2001:db8::1", 22);
	ck_assert_msg(!ac_hosts_make(directory_fd, &policy, &addresses, &err), "%s", err.text);
}

static void tear_down(void)
{
	ac_remove_below(directory_fd, &err);
	close(directory_fd);
	rmdir(directory);
	strcpy(directory, "/tmp/check_hosts.XXXXXX");
}

static const char *content(void)
{
	ac_autoclose int fd = openat(directory_fd, AC_HOSTS_NAME, O_RDONLY | O_CLOEXEC);
	ssize_t length = ac_read_all(fd, text, sizeof(text) - 1);

	ck_assert_int_gt(length, 0);
	text[length] = '\0';
	return text;
}

static void update(bool sweep)
{
	ck_assert_msg(
		!ac_hosts_update(directory_fd, &policy, &addresses, sweep, &err), "%s", err.text);
}

START_TEST(test_make_and_read)
{
	struct stat status;

	ck_assert_str_eq(content(),
		HEAD "0.0.0.0 quiet.example\n192.0.2.1 api.example\n2001:db8::1 other.example\n");
	ck_assert_int_eq(fstatat(directory_fd, AC_HOSTS_NAME, &status, 0), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0644);
	ck_assert_int_eq(ac_hosts_read(directory_fd, &policy, &again, &err), 0);
	ck_assert_uint_eq(again.count, addresses.count);
	ck_assert_int_eq(memcmp(again.address, addresses.address,
				 addresses.count * sizeof(addresses.address[0])),
		0);
}
END_TEST

START_TEST(test_in_place)
{
	struct stat before, after;

	ck_assert_int_eq(fstatat(directory_fd, AC_HOSTS_NAME, &before, 0), 0);
	addresses.address[1].state = AC_ADDRESS_LEFT;
	addresses.address[2].state = AC_ADDRESS_CLOSED;
	add("api.example", "192.0.2.2", 443);
	update(false);
	ck_assert_str_eq(content(),
		HEAD "0.0.0.0 quiet.example\n192.0.2.1 api.example\n2001:db8::1 other.example\n"
		     "192.0.2.2 api.example\n");
	update(true);
	ck_assert_str_eq(content(),
		HEAD "0.0.0.0 quiet.example\n#92.0.2.1 api.example\n2001:db8::1 other.example\n"
		     "192.0.2.2 api.example\n");
	addresses.address[1].state = addresses.address[2].state = AC_ADDRESS_CURRENT;
	addresses.address[4].state = AC_ADDRESS_LEFT;
	update(true);
	ck_assert_str_eq(content(),
		HEAD "0.0.0.0 quiet.example\n192.0.2.1 api.example\n2001:db8::1 other.example\n"
		     "#92.0.2.2 api.example\n");
	ck_assert_int_eq(fstatat(directory_fd, AC_HOSTS_NAME, &after, 0), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_eq(ac_hosts_read(directory_fd, &policy, &again, &err), 0);
	ck_assert_uint_eq(again.count, 4);
}
END_TEST

/* One name's end is another's whole. */
START_TEST(test_names_are_whole)
{
	endpoint("i.example", 0, 0, 443);
	add("i.example", "192.0.2.1", 443);
	update(true);
	ck_assert_ptr_nonnull(strstr(content(), "\n192.0.2.1 i.example\n"));
	ck_assert_ptr_nonnull(strstr(content(), "\n192.0.2.1 api.example\n"));
}
END_TEST

START_TEST(test_full_is_refused)
{
	unsigned changes = 0;
	int code = 0;

	for (; !code && changes < 60000; changes++) {
		struct ac_address *address = &addresses.address[1];

		address->bytes[1] = (unsigned char)(changes / 60000);
		address->bytes[2] = (unsigned char)(changes / 250);
		address->bytes[3] = (unsigned char)(1 + changes % 250);
		code = ac_hosts_update(directory_fd, &policy, &addresses, true, &err);
	}
	ck_assert_int_eq(code, -EFBIG);
	ck_assert_uint_gt(changes, 5000);
	ck_assert_uint_le(strlen(content()), AC_HOSTS_MAX);
}
END_TEST

START_TEST(test_bad_files)
{
	static const char *const bad[] = { "", "192.0.2.1 api.example\n", HEAD "192.0.2.1 api.exam",
		HEAD "nonsense api.example\n" };

	for (size_t i = 0; i < AC_COUNT(bad); i++) {
		unlinkat(directory_fd, AC_HOSTS_NAME, 0);
		ck_assert_int_eq(ac_write_new(directory_fd, AC_HOSTS_NAME, bad[i], strlen(bad[i]),
					 0644, &err),
			0);
		ck_assert_int_lt(ac_hosts_read(directory_fd, &policy, &again, &err), 0);
	}
	unlinkat(directory_fd, AC_HOSTS_NAME, 0);
	ck_assert_int_eq(ac_hosts_read(directory_fd, &policy, &again, &err), -ENOENT);
	policy.endpoint_count = 0; /* no name: none is missed */
	ck_assert_int_eq(ac_hosts_read(directory_fd, &policy, &again, &err), 0);
}
END_TEST

/* Every line that is switched on is one that was meant, and the name always has one. */
static bool is_whole(const char *seen)
{
	bool found = false;

	for (const char *at = seen; *at; at += strcspn(at, "\n") + 1) {
		char number[64], host[AC_HOST_MAX];

		if (!strchr(at, '\n'))
			return false;
		if (*at == '#' || sscanf(at, "%63s %255s", number, host) != 2 ||
			strcmp(host, "api.example") != 0)
			continue;
		if (strncmp(number, "192.0.", 6) != 0)
			return false;
		found = true;
	}
	return found;
}

/* What is written to two pages is not there at once. */
START_TEST(test_lines_lie_within_pages)
{
	unsigned switched = 0;

	for (unsigned i = 0; i < 800; i++) {
		addresses.address[1].bytes[2] = addresses.address[2].bytes[2] =
			(unsigned char)(i / 200);
		addresses.address[1].bytes[3] = addresses.address[2].bytes[3] = (unsigned char)i;
		update(false);
		update(true);
	}
	for (const char *at = content(); *at; at += strcspn(at, "\n") + 1) {
		ck_assert_uint_eq((size_t)(at - text) / 4096,
			((size_t)(at - text) + strcspn(at, "\n")) / 4096);
		switched += !strncmp(at, "192.0.", 6);
	}
	ck_assert_uint_gt(strlen(text), 3 * 4096);
	ck_assert_uint_eq(switched, 1);
	ck_assert_int_eq(ac_hosts_read(directory_fd, &policy, &again, &err), 0);
	ck_assert_uint_eq(again.count, addresses.count);
}
END_TEST

static _Atomic unsigned *reads; /* shared: how many the reader has finished */

static int read_on(void)
{
	for (unsigned i = 0; i < 4000; i++) {
		if (!is_whole(content()))
			return 1;
		atomic_fetch_add(reads, 1);
	}
	return 0;
}

/* Whoever was in the middle of the file is through; false: the reader has ended. */
static bool pass_reader(pid_t reader, int *status)
{
	unsigned before = atomic_load(reads);

	while (atomic_load(reads) < before + 2) {
		if (waitpid(reader, status, WNOHANG) == reader)
			return false;
		sched_yield();
	}
	return true;
}

START_TEST(test_readers_see_whole_lines)
{
	struct ac_address *first = &addresses.address[1], *second = &addresses.address[2];
	int status = 1;
	pid_t reader;

	reads = mmap(
		NULL, sizeof(*reads), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(reads != MAP_FAILED);
	reader = fork();
	if (reader == 0)
		_exit(read_on());
	for (unsigned i = 0; pass_reader(reader, &status); i++) {
		first->bytes[2] = second->bytes[2] = (unsigned char)(i / 50 % 4);
		first->bytes[3] = second->bytes[3] = (unsigned char)(1 + i % 50);
		update(false);
		if (!pass_reader(reader, &status))
			break;
		update(true);
	}
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hosts");
	TCase *cases = tcase_create("hosts");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(cases, 120);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, test_make_and_read);
	tcase_add_test(cases, test_in_place);
	tcase_add_test(cases, test_names_are_whole);
	tcase_add_test(cases, test_full_is_refused);
	tcase_add_test(cases, test_bad_files);
	tcase_add_test(cases, test_lines_lie_within_pages);
	tcase_add_test(cases, test_readers_see_whole_lines);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

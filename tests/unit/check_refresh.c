// SPDX-License-Identifier: ISC
/*
 * Names whose addresses change: what an answer opens, leaves and closes, where it may not lead, and what
 * a DNS message says about time.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../auditd_rules/refresh.h"
#include "util.h"

#define MINUTE 60000u

static const struct ac_refresh_times times = { MINUTE, 60 * MINUTE, 720 * MINUTE };
static struct ac_policy policy;
static struct ac_addresses addresses;
static struct ac_refresh_name name;
static struct ac_refresh_news news;
static struct ac_lookup lookup;
static struct ac_err err;

static void endpoint(const char *host, int family, unsigned prefix, unsigned port)
{
	struct ac_endpoint *added = &policy.endpoints[policy.endpoint_count++];

	snprintf(added->host, sizeof(added->host), "%s", host);
	added->family = (uint8_t)family;
	added->prefix = (uint8_t)prefix;
	added->port = (uint16_t)port;
}

static void set_up(void)
{
	memset(&policy, 0, sizeof(policy));
	memset(&name, 0, sizeof(name));
	memset(&news, 0, sizeof(news));
	endpoint("api.example", 0, 0, 443);
	endpoint("api.example", 0, 0, 8443);
	endpoint("10.99.0.0", AF_INET, 16, 443);
	ck_assert_int_eq(ac_addresses_begin(&policy, &addresses, &err), 0);
	ck_assert_uint_eq(addresses.count, 1);
	strcpy(name.host, "api.example");
}

static void answers(unsigned ttl, unsigned count, const char *const text[])
{
	memset(&lookup, 0, sizeof(lookup));
	strcpy(lookup.host, "api.example");
	lookup.ttl_s = ttl;
	for (unsigned i = 0; i < count; i++) {
		int family = strchr(text[i], ':') ? AF_INET6 : AF_INET;

		lookup.address[lookup.count].family = (uint8_t)family;
		ck_assert_int_eq(
			inet_pton(family, text[i], lookup.address[lookup.count++].bytes), 1);
	}
}

#define ANSWER(ttl, ...) \
	answers(ttl, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
		(const char *const[]){ __VA_ARGS__ })

static void merge(uint64_t now)
{
	memset(&news, 0, sizeof(news));
	ac_refresh_merge(&policy, &addresses, &name, &lookup, &times, now, &news);
}

static void expire(uint64_t now)
{
	memset(&news, 0, sizeof(news));
	ac_refresh_expire(&addresses, &name, 1, &times, now, &news);
}

/* "192.0.2.1:443 ..." of the addresses in this state, the number aside, in order. */
static const char *in_state(enum ac_address_state state)
{
	static char text[4096];
	char number[AC_ADDRESS_TEXT_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 1; i < addresses.count; i++) {
		if (addresses.address[i].state != state)
			continue;
		ac_address_format(&addresses.address[i], number);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u",
			used ? " " : "", number, addresses.address[i].port);
	}
	return text;
}

START_TEST(test_life_of_an_address)
{
	ANSWER(300, "192.0.2.1");
	merge(1000);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "192.0.2.1:443 192.0.2.1:8443");
	ck_assert_str_eq(news.added, "api.example 192.0.2.1, api.example 192.0.2.1");
	ck_assert_uint_eq(name.next_ms, 1000 + 300000);
	merge(2000);
	ck_assert(!ac_refresh_has_change(&news));
	ANSWER(300, "192.0.2.2", "2001:db8::2");
	merge(3000);
	ck_assert_str_eq(in_state(AC_ADDRESS_LEFT), "192.0.2.1:443 192.0.2.1:8443");
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT),
		"192.0.2.2:443 2001:db8::2:443 192.0.2.2:8443 2001:db8::2:8443");
	expire(3000 + times.overlap_ms - 1);
	ck_assert(!ac_refresh_has_change(&news));
	expire(3000 + times.overlap_ms);
	ck_assert_str_eq(news.closed, "api.example 192.0.2.1, api.example 192.0.2.1");
	ck_assert_str_eq(in_state(AC_ADDRESS_CLOSED), "192.0.2.1:443 192.0.2.1:8443");
	ANSWER(300, "192.0.2.1");
	merge(9000);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "192.0.2.1:443 192.0.2.1:8443");
	ck_assert_str_eq(in_state(AC_ADDRESS_CLOSED), "");
}
END_TEST

/* What is left and comes back before it is closed was never shut. */
START_TEST(test_back_in_time)
{
	ANSWER(1, "192.0.2.1");
	merge(0);
	ANSWER(1, "192.0.2.2");
	merge(1000);
	ANSWER(1, "192.0.2.1", "192.0.2.2");
	merge(2000);
	expire(2000 + times.overlap_ms);
	ck_assert(!ac_refresh_has_change(&news));
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT),
		"192.0.2.1:443 192.0.2.1:8443 192.0.2.2:443 192.0.2.2:8443");
}
END_TEST

START_TEST(test_how_often)
{
	static const struct {
		unsigned ttl;
		uint64_t pause;
	} rows[] = { { 0, MINUTE }, { 1, MINUTE }, { 60, MINUTE }, { 61, 61000 },
		{ 3600, 60 * MINUTE }, { 86400, 60 * MINUTE }, { UINT32_MAX, 60 * MINUTE } };

	for (size_t i = 0; i < AC_COUNT(rows); i++) {
		ANSWER(rows[i].ttl, "192.0.2.1");
		merge(5000);
		ck_assert_uint_eq(name.next_ms, 5000 + rows[i].pause);
	}
}
END_TEST

static const char *const inner[] = { "169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1",
	"100.64.0.1", "127.0.0.1", "0.0.0.0", "224.0.0.1", "fd00:ec2::254", "fe80::1", "::1",
	"::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe" };

START_TEST(test_rebinding)
{
	ANSWER(1, "192.0.2.1");
	merge(0);
	ANSWER(1, inner[_i]);
	merge(1000);
	ck_assert(!ac_refresh_has_change(&news));
	ck_assert_msg(!strncmp(news.refused, "api.example ", 12), "%s", news.refused);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "192.0.2.1:443 192.0.2.1:8443");
	merge(2000); /* the same again is no news */
	ck_assert_str_eq(news.refused, "");
	ANSWER(1, inner[_i], "192.0.2.2");
	merge(3000);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "192.0.2.2:443 192.0.2.2:8443");
	ck_assert_str_eq(in_state(AC_ADDRESS_LEFT), "192.0.2.1:443 192.0.2.1:8443");
}
END_TEST

/* Inner addresses that the policy declares by number, at that port and no other. */
START_TEST(test_declared_inner)
{
	ANSWER(1, "10.99.3.4");
	merge(0);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "10.99.3.4:443");
	ck_assert_ptr_nonnull(strstr(news.refused, "10.99.3.4"));
	ANSWER(1, "10.98.3.4");
	merge(1000);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "10.99.3.4:443");
}
END_TEST

START_TEST(test_failures)
{
	ANSWER(1, "192.0.2.1");
	merge(0);
	memset(&lookup, 0, sizeof(lookup));
	lookup.code = -EHOSTUNREACH;
	strcpy(lookup.reason, "try again");
	merge(1000);
	ck_assert_str_eq(news.failed, "api.example try again");
	ck_assert_uint_eq(name.next_ms, 1000 + MINUTE);
	merge(2000);
	ck_assert_str_eq(news.failed, ""); /* once */
	expire(times.stale_ms - 1);
	ck_assert(!ac_refresh_has_change(&news));
	expire(times.stale_ms);
	ck_assert_str_eq(in_state(AC_ADDRESS_CLOSED), "192.0.2.1:443 192.0.2.1:8443");
	ck_assert_uint_eq(addresses.address[0].state, AC_ADDRESS_CURRENT); /* the number stays */
	ANSWER(1, "192.0.2.1");
	merge(times.stale_ms + 1);
	expire(times.stale_ms + 2);
	ck_assert_str_eq(in_state(AC_ADDRESS_CURRENT), "192.0.2.1:443 192.0.2.1:8443");
	ck_assert_uint_eq(name.failures, 0);
}
END_TEST

/* A name that is answered stays open however long its answer lasts. */
START_TEST(test_no_stale_without_failure)
{
	ANSWER(86400, "192.0.2.1");
	merge(0);
	expire(times.stale_ms * 2);
	ck_assert(!ac_refresh_has_change(&news));
}
END_TEST

/* However many addresses come and go, there is room for those that count, and the number is kept. */
START_TEST(test_full)
{
	for (unsigned i = 0; i < 2000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "192.1.%u.%u", i / 250, 1 + i % 250);
		ANSWER(1, text);
		merge(i);
		ck_assert_uint_le(addresses.count, AC_ADDRESSES_MAX);
		snprintf(text, sizeof(text), "192.1.%u.%u:443", i / 250, 1 + i % 250);
		ck_assert_ptr_nonnull(strstr(in_state(AC_ADDRESS_CURRENT), text));
	}
	ck_assert_uint_eq(addresses.address[0].prefix, 16);
	for (unsigned i = 1; i < addresses.count; i++)
		addresses.address[i].state = AC_ADDRESS_CURRENT;
	ANSWER(1, "192.2.0.1");
	merge(5000);
	ck_assert_ptr_nonnull(strstr(news.failed, "too many addresses"));
}
END_TEST

/* --- what DNS says about time */

static unsigned char message[4096];
static size_t message_length;

static void begin_message(unsigned count)
{
	static const unsigned char head[] = { 1, 2, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 2,
		'e', 'x', 0, 0, 1, 0, 1 };

	memcpy(message, head, sizeof(head));
	message[7] = (unsigned char)count;
	message_length = sizeof(head);
}

static void add_record(unsigned type, uint32_t ttl, unsigned length)
{
	unsigned char record[12] = { 0xc0, 12, 0, (unsigned char)type, 0, 1 };
	uint32_t network = htonl(ttl);

	memcpy(record + 6, &network, sizeof(network));
	record[11] = (unsigned char)length;
	memcpy(message + message_length, record, sizeof(record));
	message_length += sizeof(record) + length;
}

START_TEST(test_least_ttl)
{
	begin_message(3);
	add_record(5, 77, 2);
	add_record(1, 300, 4);
	add_record(16, 3, 4); /* TXT says nothing */
	ck_assert_uint_eq(ac_lookup_least_ttl(message, message_length), 77);
	begin_message(1);
	add_record(1, 0, 4);
	ck_assert_uint_eq(ac_lookup_least_ttl(message, message_length), 1);
	begin_message(0);
	ck_assert_uint_eq(ac_lookup_least_ttl(message, message_length), 0);
}
END_TEST

/* Cut off anywhere, or counting more than there is: unknown, never a crash. */
START_TEST(test_torn_messages)
{
	begin_message(2);
	add_record(1, 300, 4);
	add_record(28, 200, 16);
	for (size_t length = 0; length < message_length; length++)
		ck_assert_uint_eq(ac_lookup_least_ttl(message, length), 0);
	ck_assert_uint_eq(ac_lookup_least_ttl(message, message_length), 200);
	message[7] = 3;
	ck_assert_uint_eq(ac_lookup_least_ttl(message, message_length), 0);
	ck_assert_uint_eq(ac_lookup_least_ttl(message, sizeof(message) + 1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refresh");
	TCase *cases = tcase_create("refresh");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(cases, set_up, NULL);
	tcase_add_test(cases, test_life_of_an_address);
	tcase_add_test(cases, test_back_in_time);
	tcase_add_test(cases, test_how_often);
	tcase_add_loop_test(cases, test_rebinding, 0, (int)AC_COUNT(inner));
	tcase_add_test(cases, test_declared_inner);
	tcase_add_test(cases, test_failures);
	tcase_add_test(cases, test_no_stale_without_failure);
	tcase_add_test(cases, test_full);
	tcase_add_test(cases, test_least_ttl);
	tcase_add_test(cases, test_torn_messages);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// SPDX-License-Identifier: ISC
/*
 * The firewall's pure parts: which addresses a name may not lead to, which address covers which, what
 * numbers become, and netlink attributes that lie about their length.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firewall.h"
#include "netlink.h"

static struct ac_address parse(const char *text, unsigned prefix, unsigned port)
{
	struct ac_address address = { .port = (uint16_t)port };

	address.family = strchr(text, ':') ? AF_INET6 : AF_INET;
	ck_assert_int_eq(inet_pton(address.family, text, address.bytes), 1);
	address.prefix = (uint8_t)prefix;
	return address;
}

/* The same ranges, said in another way. */
static bool is_public(uint32_t ip)
{
	static const uint32_t ranges[][2] = { { 0x00000000, 0x00ffffff },
		{ 0x0a000000, 0x0affffff }, { 0x64400000, 0x647fffff }, { 0x7f000000, 0x7fffffff },
		{ 0xa83f8110, 0xa83f8110 }, { 0xa9fe0000, 0xa9feffff }, { 0xac100000, 0xac1fffff },
		{ 0xc0000000, 0xc00000ff }, { 0xc0a80000, 0xc0a8ffff }, { 0xc6120000, 0xc613ffff },
		{ 0xe0000000, 0xffffffff } };

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ip >= ranges[i][0] && ip <= ranges[i][1])
			return false;
	return true;
}

START_TEST(test_every_ipv4_block)
{
	static const uint32_t tails[] = { 0x0000, 0x0001, 0x00ff, 0x0100, 0x8110, 0x8111, 0xffff };

	for (uint32_t head = 0; head < 65536; head++)
		for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
			uint32_t ip = head << 16 | tails[i], network = htonl(ip);
			struct ac_address address = { .family = AF_INET, .prefix = 32 };

			memcpy(address.bytes, &network, sizeof(network));
			if (!ac_address_refused(&address) != is_public(ip))
				ck_abort_msg("%08x", ip);
		}
}
END_TEST

START_TEST(test_ipv6)
{
	static const char *const refused[] = { "::", "::1", "::ffff:1.2.3.4", "::1.2.3.4",
		"64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2001::1", "2002:a00:1::1", "fc00::1",
		"fd00:ec2::254", "fe80::1", "febf::1", "fec0::1", "ff02::1" };
	static const char *const fine[] = { "2001:db8::1", "2606:4700::1", "2a00::1", "64:ff9a::1",
		"fbff::1", "2003::1", "::1:0:0:1" };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct ac_address address = parse(refused[i], 128, 443);

		ck_assert_msg(ac_address_refused(&address) != NULL, "%s", refused[i]);
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		struct ac_address address = parse(fine[i], 128, 443);

		ck_assert_msg(!ac_address_refused(&address), "%s", fine[i]);
	}
}
END_TEST

static bool bit(const struct ac_address *address, unsigned number)
{
	return address->bytes[number / 8] >> (7 - number % 8) & 1;
}

/* Every prefix length of two addresses that differ in one bit, against bit by bit. */
START_TEST(test_covers)
{
	for (unsigned difference = 0; difference < 33; difference++)
		for (unsigned outer = 0; outer <= 32; outer++)
			for (unsigned inner = 0; inner <= 32; inner++) {
				struct ac_address a = parse("170.85.204.51", outer, 443), b = a;
				bool wanted = outer <= inner;

				b.prefix = (uint8_t)inner;
				if (difference < 32)
					b.bytes[difference / 8] ^= (unsigned char)(0x80 >>
										   difference % 8);
				for (unsigned i = 0; i < outer; i++)
					wanted = wanted && bit(&a, i) == bit(&b, i);
				ck_assert_int_eq(ac_address_covers(&a, &b), wanted);
				b.port = 80;
				ck_assert(!ac_address_covers(&a, &b));
			}
}
END_TEST

START_TEST(test_families_do_not_mix)
{
	struct ac_address four = parse("0.0.0.0", 0, 443), six = parse("::", 0, 443);

	ck_assert(!ac_address_covers(&four, &six));
	ck_assert(!ac_address_covers(&six, &four));
}
END_TEST

static struct ac_policy policy;
static struct ac_addresses addresses;
static struct ac_err err;

static void endpoint(const char *host, int family, unsigned prefix, unsigned port)
{
	struct ac_endpoint *added = &policy.endpoints[policy.endpoint_count++];

	snprintf(added->host, sizeof(added->host), "%s", host);
	added->family = (uint8_t)family;
	added->prefix = (uint8_t)prefix;
	added->port = (uint16_t)port;
}

START_TEST(test_numbers)
{
	memset(&policy, 0, sizeof(policy));
	memcpy(policy.session_id, "0123456789ab", sizeof("0123456789ab"));
	policy.dev_server = true;
	policy.visitor = 1000;
	endpoint("10.0.0.0", AF_INET, 8, 443);
	endpoint("10.0.0.0", AF_INET, 8, 443);
	endpoint("2001:db8::", AF_INET6, 32, 22);
	ck_assert_int_eq(ac_firewall_resolve(&policy, &addresses, &err), 0);
	ck_assert_uint_eq(addresses.count, 2);
	ck_assert_uint_eq(addresses.unresolved, 0);
	ck_assert_str_eq(addresses.session_id, "0123456789ab");
	ck_assert(addresses.dev_server);
	ck_assert_uint_eq(addresses.visitor, 1000);
	ck_assert_uint_eq(addresses.address[0].bytes[0], 10);
	ck_assert_uint_eq(addresses.address[0].prefix, 8);
	ck_assert_str_eq(addresses.address[0].host, "");
}
END_TEST

/* A failure leaves the result alone. */
START_TEST(test_bad_numbers)
{
	memset(&addresses, 0x5a, sizeof(addresses));
	memset(&policy, 0, sizeof(policy));
	endpoint("10.0.0", AF_INET, 8, 443);
	ck_assert_int_eq(ac_firewall_resolve(&policy, &addresses, &err), -EINVAL);
	memset(&policy, 0, sizeof(policy));
	endpoint("10.0.0.0", AF_INET, 33, 443);
	ck_assert_int_eq(ac_firewall_resolve(&policy, &addresses, &err), -EINVAL);
	ck_assert_uint_eq(addresses.count, 0x5a5a5a5a);
}
END_TEST

/* The proxy's name may lead into the site, no other name may, and none to what is nobody's site. */
START_TEST(test_site_of_proxy)
{
	static const struct {
		const char *number;
		bool proxy;
	} rows[] = { { "192.0.2.1", true }, { "10.0.0.1", true }, { "172.31.0.1", true },
		{ "192.168.1.1", true }, { "100.64.0.1", true }, { "fd12::1", true },
		{ "100.100.100.200", false }, { "169.254.169.254", false }, { "127.0.0.1", false },
		{ "fd00:ec2::254", false }, { "fd20:ce::254", false }, { "::1", false },
		{ "fe80::1", false }, { "224.0.0.1", false }, { "::ffff:10.0.0.1", false } };

	memset(&policy, 0, sizeof(policy));
	endpoint("proxy.example", 0, 0, 3128);
	strcpy(policy.egress_proxy, "proxy.example:3128");
	ck_assert_int_eq(ac_addresses_begin(&policy, &addresses, &err), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ac_address address = parse(
			rows[i].number, strchr(rows[i].number, ':') ? 128 : 32, 3128);

		strcpy(address.host, "proxy.example");
		ck_assert_msg(!ac_addresses_refuse(&addresses, &address) == rows[i].proxy, "%s",
			rows[i].number);
		strcpy(address.host, "proxy.example.evil.example");
		ck_assert_msg(
			!ac_addresses_refuse(&addresses, &address) == !ac_address_refused(&address),
			"%s", rows[i].number);
		address.host[0] = 0;
		ck_assert_msg(
			!ac_addresses_refuse(&addresses, &address) == !ac_address_refused(&address),
			"%s", rows[i].number);
	}
}
END_TEST

static unsigned any(unsigned below) /* xorshift: the same every time */
{
	static uint32_t state = 1;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

START_TEST(test_lying_attributes)
{
	unsigned char bytes[64];
	size_t length;

	for (unsigned round = 0; round < 200000; round++) {
		size_t room = any(sizeof(bytes));
		const unsigned char *found;

		for (size_t i = 0; i < room; i++)
			bytes[i] = (unsigned char)any(any(3) ? 16 : 256);
		found = ac_netlink_find(bytes, room, any(8), &length);
		if (!found)
			continue;
		if (found < bytes + 4 || found + length > bytes + room)
			ck_abort_msg("round %u", round);
	}
}
END_TEST

START_TEST(test_a_full_request_stays_in_its_buffer)
{
	unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	static const char data[1000];
	struct ac_netlink request = { .bytes = bytes };
	size_t message = ac_netlink_open(&request, 1, 0, 1);
	size_t nest = ac_netlink_open_nest(&request, 1);

	ck_assert_ptr_nonnull(bytes);
	for (unsigned i = 0; i < 200; i++)
		ac_netlink_attribute(&request, 2, data, sizeof(data));
	ac_netlink_close_nest(&request, nest);
	ac_netlink_close(&request, message);
	ck_assert(request.full);
	ck_assert_uint_le(request.used, AC_NETLINK_BUFFER);
	ck_assert_int_eq(ac_netlink_transact(NULL, &request, 1, NULL, NULL), -E2BIG);
	free(bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("firewall");
	TCase *tcase = tcase_create("firewall");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, test_every_ipv4_block);
	tcase_add_test(tcase, test_ipv6);
	tcase_add_test(tcase, test_covers);
	tcase_add_test(tcase, test_families_do_not_mix);
	tcase_add_test(tcase, test_numbers);
	tcase_add_test(tcase, test_bad_numbers);
	tcase_add_test(tcase, test_site_of_proxy);
	tcase_add_test(tcase, test_lying_attributes);
	tcase_add_test(tcase, test_a_full_request_stays_in_its_buffer);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/* Endpoints: what is accepted, in which form, and all that could mean two things and is refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config.h"
#include "util.h"

static struct ac_err err;

static const struct endpoint {
	const char *text, *host; /* host NULL: refused */
	unsigned port, family, prefix;
} endpoints[] = {
	{ "api.example.com:443", "api.example.com", 443, 0, 0 },
	{ "API.Example.com:1", "api.example.com", 1, 0, 0 },
	/* Names of their own, on purpose: a label more or less is another host. */
	{ "good.com:443", "good.com", 443, 0, 0 },
	{ "www.good.com:443", "www.good.com", 443, 0, 0 },
	{ "good.com.evil.com:443", "good.com.evil.com", 443, 0, 0 },
	{ "evilgood.com:443", "evilgood.com", 443, 0, 0 },
	{ "xn--gd-fka.com:443", "xn--gd-fka.com", 443, 0, 0 },
	{ "localhost:65535", "localhost", 65535, 0, 0 },
	{ "xn--bcher-kva.example:80", "xn--bcher-kva.example", 80, 0, 0 },
	{ "1.2.3.4:443", "1.2.3.4", 443, AF_INET, 32 },
	{ "10.0.0.0/8:443", "10.0.0.0", 443, AF_INET, 8 },
	{ "[::1]:8080", "::1", 8080, AF_INET6, 128 },
	{ "[2001:DB8:0::]/32:443", "2001:db8::", 443, AF_INET6, 32 },
	{ "169.254.169.254:80", "169.254.169.254", 80, AF_INET, 32 },
	{ .text = "" },
	{ .text = ":443" },
	{ .text = "example.com" },
	{ .text = "example.com:" },
	{ .text = "example.com:0" },
	{ .text = "example.com:65536" },
	{ .text = "example.com:0443" },
	{ .text = "example.com:+1" },
	{ .text = "example.com:443x" },
	{ .text = "example.com.:443" },
	{ .text = ".example.com:443" },
	{ .text = "a..b:443" },
	{ .text = "*.example.com:443" },
	{ .text = "*:443" },
	{ .text = "*.*:443" },
	{ .text = "good.*:443" },
	{ .text = "w*.good.com:443" },
	{ .text = "good.com*:443" },
	{ .text = "good.com..:443" },
	{ .text = "good.com.evil.com.:443" },
	{ .text = "good.com:443:443" },
	{ .text = "good .com:443" },
	{ .text = "good%2ecom:443" },
	{ .text = "good.com\\:443" },
	{ .text = "good.com#:443" },
	{ .text = "g\303\266\303\266d.com:443" }, /* shown, not spoken: xn-- is right */
	{ .text = "good\343\200\202com:443" }, /* an ideographic full stop */
	{ .text = "g\320\276od.com:443" }, /* a Cyrillic o */
	{ .text = "-a.com:443" },
	{ .text = "a-.com:443" },
	{ .text = "a_b.com:443" },
	{ .text = "b\303\274cher.example:443" },
	{ .text = "user@example.com:443" },
	{ .text = "example.com/24:443" },
	{ .text = "0x7f.1:443" },
	{ .text = "127.1:443" },
	{ .text = "2130706433:443" },
	{ .text = "1.2.3.4.5:443" },
	{ .text = "1.2.3.256:443" },
	{ .text = "01.2.3.4:443" },
	{ .text = "10.0.0.1/8:443" },
	{ .text = "10.0.0.0/33:443" },
	{ .text = "10.0.0.0/:443" },
	{ .text = "10.0.0.0/0:443" },
	{ .text = "0.0.0.0:443" },
	{ .text = "224.0.0.1:443" },
	{ .text = "255.255.255.255:443" },
	{ .text = "::1:443" },
	{ .text = "[::]:443" },
	{ .text = "[::]/0:443" },
	{ .text = "[ff02::1]:443" },
	{ .text = "[::ffff:1.2.3.4]:443" },
	{ .text = "[1.2.3.4]:443" },
	{ .text = "[fe80::1%eth0]:443" },
	{ .text = "[::1:443" },
};

START_TEST(test_endpoint)
{
	const struct endpoint *expected = &endpoints[_i];
	struct ac_endpoint endpoint = { .port = 7 };
	int rc = ac_endpoint_parse(expected->text, &endpoint, &err);

	if (!expected->host) {
		ck_assert_msg(rc < 0, "accepted: %s", expected->text);
		ck_assert_uint_eq(endpoint.port, 7);
		return;
	}
	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_str_eq(endpoint.host, expected->host);
	ck_assert_uint_eq(endpoint.port, expected->port);
	ck_assert_uint_eq(endpoint.family, expected->family);
	ck_assert_uint_eq(endpoint.prefix, expected->prefix);
}
END_TEST

START_TEST(test_host_limits)
{
	char text[400], label[64];
	struct ac_endpoint endpoint;

	memset(label, 'a', 63);
	label[63] = '\0';
	snprintf(text, sizeof(text), "%s.%s.%s.%.61s:1", label, label, label, label);
	ck_assert_msg(ac_endpoint_parse(text, &endpoint, &err) == 0, "%s", err.text);
	snprintf(text, sizeof(text), "%s.%s.%s.%.62s:1", label, label, label, label);
	ck_assert_int_lt(ac_endpoint_parse(text, &endpoint, &err), 0);
	snprintf(text, sizeof(text), "a%s.com:1", label);
	ck_assert_int_lt(ac_endpoint_parse(text, &endpoint, &err), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("endpoint");
	TCase *tcase = tcase_create("endpoint");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tcase, test_endpoint, 0, (int)AC_COUNT(endpoints));
	tcase_add_test(tcase, test_host_limits);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

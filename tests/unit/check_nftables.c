// SPDX-License-Identifier: ISC
/*
 * Notifications of nf_tables, as the kernel would send them: which are about our table, what they say, and
 * that nothing torn is read as something harmless.
 */
#include <check.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink.h"
#include "nftables_news.h"

static unsigned char bytes[AC_NETLINK_BUFFER];
static int ends[2];
static char story[256];

static void note(void *context, const struct ac_news *news)
{
	static const char *const names[] = { "table", "element", "done", "lost" };
	size_t used = strlen(story);

	ck_assert_ptr_eq(context, story);
	snprintf(story + used, sizeof(story) - used, "%s", names[news->kind]);
	used = strlen(story);
	if (news->kind == AC_NEWS_ELEMENT)
		snprintf(story + used, sizeof(story) - used, ":%s:%u", news->set,
			news->element->length);
	if (news->kind == AC_NEWS_DONE)
		snprintf(story + used, sizeof(story) - used, ":%u", news->by);
	strcat(story, " ");
}

static void setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	story[0] = 0;
}

static void teardown(void)
{
	close(ends[0]);
	close(ends[1]);
}

static const char *read_all(void)
{
	ac_news_read(ends[1], note, story);
	return story;
}

static void send_bytes(size_t length)
{
	ck_assert_int_eq(send(ends[0], bytes, length, 0), (ssize_t)length);
}

static size_t about(struct ac_netlink *request, uint16_t type, const char *table)
{
	size_t message = ac_netlink_open(request, type, 0, 0);

	ac_netlink_attribute(request, 1, table, strlen(table) + 1);
	return message;
}

static void element(struct ac_netlink *request, const char *set, size_t length)
{
	static const unsigned char key[AC_NFTABLES_KEY_MAX + 8] = { 1, 2, 3, 4 };
	size_t message = about(request, NFT_MSG_NEWSETELEM, "agentcell");
	size_t list, item, data;

	ac_netlink_attribute(request, NFTA_SET_ELEM_LIST_SET, set, strlen(set) + 1);
	list = ac_netlink_open_nest(request, NFTA_SET_ELEM_LIST_ELEMENTS);
	item = ac_netlink_open_nest(request, NFTA_LIST_ELEM);
	data = ac_netlink_open_nest(request, NFTA_SET_ELEM_KEY);
	ac_netlink_attribute(request, NFTA_DATA_VALUE, key, length);
	ac_netlink_close_nest(request, data);
	ac_netlink_close_nest(request, item);
	ac_netlink_close_nest(request, list);
	ac_netlink_close(request, message);
}

START_TEST(test_ours)
{
	static const uint16_t types[] = { NFT_MSG_DELTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_DELRULE,
		NFT_MSG_DELSET, NFT_MSG_NEWTABLE };
	struct ac_netlink request = { .bytes = bytes };

	ac_netlink_close(&request, about(&request, types[_i], "agentcell"));
	send_bytes(request.used);
	ck_assert_str_eq(read_all(), "table ");
}
END_TEST

START_TEST(test_others)
{
	static const char *const names[] = { "agentcell-guard", "agentcel", "filter", "" };
	struct ac_netlink request = { .bytes = bytes };

	ac_netlink_close(&request, about(&request, NFT_MSG_DELTABLE, names[_i]));
	send_bytes(request.used);
	ck_assert_str_eq(read_all(), "");
}
END_TEST

START_TEST(test_transaction)
{
	struct ac_netlink request = { .bytes = bytes };
	const unsigned char by[4] = { 0, 0, 0x10, 0x92 };
	size_t message;

	element(&request, "allow4", 12);
	element(&request, "session", 4);
	send_bytes(request.used);
	request.used = 0;
	message = ac_netlink_open(&request, NFT_MSG_NEWGEN, 0, 0);
	ac_netlink_attribute(&request, NFTA_GEN_PROC_PID, by, sizeof(by));
	ac_netlink_close(&request, message);
	send_bytes(request.used);
	ck_assert_str_eq(read_all(), "element:allow4:12 element:session:4 done:4242 ");
}
END_TEST

/* An element that cannot be read might be any session's. */
START_TEST(test_unreadable)
{
	struct ac_netlink request = { .bytes = bytes };

	element(&request, "allow4", AC_NFTABLES_KEY_MAX + 4);
	send_bytes(request.used);
	ck_assert_str_eq(read_all(), "table ");
	story[0] = 0;
	request.used = 0;
	element(&request, "a set whose name is longer than any of ours", 4);
	send_bytes(request.used);
	ck_assert_str_eq(read_all(), "table ");
}
END_TEST

/* Cut anywhere: never more than what was there, and no byte behind it is looked at. */
START_TEST(test_torn)
{
	struct ac_netlink request = { .bytes = bytes };

	element(&request, "allow4", 12);
	for (size_t length = 1; length < request.used; length++) {
		unsigned char *copy = malloc(length);

		memcpy(copy, bytes, length);
		ck_assert_int_eq(send(ends[0], copy, length, 0), (ssize_t)length);
		free(copy);
		ck_assert_str_eq(read_all(), "");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nftables");
	TCase *tcase = tcase_create("news");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, test_ours, 0, 5);
	tcase_add_loop_test(tcase, test_others, 0, 4);
	tcase_add_test(tcase, test_transaction);
	tcase_add_test(tcase, test_unreadable);
	tcase_add_test(tcase, test_torn);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

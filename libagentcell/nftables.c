// SPDX-License-Identifier: ISC
/*
 * Messages about one table: elements to and from, its comment, its rules.
 */
#include "nftables.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>

#include "netlink.h"
#include "util.h"

#define USERDATA_COMMENT 0 /* first type of nft's table user data: type, length, text with NUL */

static void add_data(struct ac_netlink *request, uint16_t type, const void *data, size_t length)
{
	size_t nest = ac_netlink_open_nest(request, type);

	ac_netlink_attribute(request, NFTA_DATA_VALUE, data, length);
	ac_netlink_close_nest(request, nest);
}

static uint16_t flags_of(const struct ac_nftables_element *element, uint16_t type)
{
	if (type != NFT_MSG_NEWSETELEM)
		return NLM_F_ACK;
	return element->exclusive ? NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
				  : NLM_F_ACK | NLM_F_CREATE;
}

static void add_element(struct ac_netlink *request, const struct ac_nftables_element *element)
{
	size_t nest = ac_netlink_open_nest(request, NFTA_LIST_ELEM);

	add_data(request, NFTA_SET_ELEM_KEY, element->key, element->length);
	if (element->interval)
		add_data(request, NFTA_SET_ELEM_KEY_END, element->end, element->length);
	ac_netlink_close_nest(request, nest);
}

static bool goes_with(const struct ac_nftables_element *a, const struct ac_nftables_element *b)
{
	return !strcmp(a->set, b->set) && a->remove == b->remove && a->exclusive == b->exclusive;
}

static void name_set(struct ac_netlink *request, const char *set)
{
	ac_netlink_attribute(
		request, NFTA_SET_ELEM_LIST_TABLE, AC_NFTABLES_TABLE, sizeof(AC_NFTABLES_TABLE));
	ac_netlink_attribute(request, NFTA_SET_ELEM_LIST_SET, set, strlen(set) + 1);
}

/* One message with the run of elements that go together; returns the run's length. */
static unsigned add_elements(struct ac_netlink *request, uint16_t type,
	const struct ac_nftables_element *elements, unsigned count)
{
	size_t message = ac_netlink_open(request, type, flags_of(elements, type), 1);
	size_t list;
	unsigned i;

	name_set(request, elements->set);
	list = ac_netlink_open_nest(request, NFTA_SET_ELEM_LIST_ELEMENTS);
	for (i = 0; i < count && goes_with(&elements[i], elements); i++)
		add_element(request, &elements[i]);
	ac_netlink_close_nest(request, list);
	ac_netlink_close(request, message);
	return i;
}

/* All of them, reading or (as each says) adding or removing; returns how many messages. */
static unsigned add_runs(struct ac_netlink *request, bool reading,
	const struct ac_nftables_element *elements, unsigned count)
{
	unsigned messages = 0;

	for (; count; messages++) {
		uint16_t type = reading            ? NFT_MSG_GETSETELEM
				: elements->remove ? NFT_MSG_DELSETELEM
						   : NFT_MSG_NEWSETELEM;
		unsigned run = add_elements(request, type, elements, count);

		elements += run;
		count -= run;
	}
	return messages;
}

int ac_nftables_change(int *link, const struct ac_nftables_element *elements, unsigned count)
{
	ac_autofree unsigned char *bytes = count ? malloc(AC_NETLINK_BUFFER) : NULL;
	struct ac_netlink request = { .bytes = bytes };
	unsigned messages;

	if (!bytes)
		return count ? -ENOMEM : 0;
	ac_netlink_close(&request, ac_netlink_open(&request, NFNL_MSG_BATCH_BEGIN, 0, 0));
	messages = add_runs(&request, false, elements, count);
	ac_netlink_close(&request, ac_netlink_open(&request, NFNL_MSG_BATCH_END, 0, 2));
	return ac_netlink_transact(link, &request, messages, NULL, NULL);
}

struct walk {
	const char *set;
	int (*each)(void *context, const struct ac_nftables_element *element);
	void *context;
};

/* Copies the key or its end out of an element's attributes; false when there is none. */
static bool copy_key(const unsigned char *element, size_t length, unsigned type,
	unsigned char key[AC_NFTABLES_KEY_MAX], uint8_t *key_length)
{
	size_t nest_length, data_length;
	const unsigned char *nest = ac_netlink_find(element, length, type, &nest_length);
	const unsigned char *data =
		nest ? ac_netlink_find(nest, nest_length, NFTA_DATA_VALUE, &data_length) : NULL;

	if (!data || data_length > AC_NFTABLES_KEY_MAX)
		return false;
	memcpy(key, data, data_length);
	*key_length = (uint8_t)data_length;
	return true;
}

static uint64_t read_count(const unsigned char *data, size_t length, unsigned type)
{
	size_t found;
	const unsigned char *bytes = ac_netlink_find(data, length, type, &found);
	uint64_t number = 0;

	for (size_t i = 0; bytes && found == sizeof(number) && i < found; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Elements of sets with `counter` bring one. */
static void copy_counter(
	const unsigned char *item, size_t length, struct ac_nftables_element *element)
{
	size_t found, data_length;
	const unsigned char *expression = ac_netlink_find(item, length, NFTA_SET_ELEM_EXPR, &found);
	const unsigned char *data = expression ? ac_netlink_find(expression, found, NFTA_EXPR_DATA,
							 &data_length)
					       : NULL;

	if (!data)
		return;
	element->packets = read_count(data, data_length, NFTA_COUNTER_PACKETS);
	element->bytes = read_count(data, data_length, NFTA_COUNTER_BYTES);
}

static int walk_elements(void *context, const unsigned char *attributes, size_t length)
{
	const struct walk *walk = context;
	size_t list_length = 0;
	const unsigned char *list = ac_netlink_find(
		attributes, length, NFTA_SET_ELEM_LIST_ELEMENTS, &list_length);

	while (list && list_length >= AC_NETLINK_HEAD) {
		struct ac_nftables_element element = { .set = walk->set };
		size_t item_length = 0, step;
		const unsigned char *item = ac_netlink_find(
			list, list_length, NFTA_LIST_ELEM, &item_length);
		int code;

		if (!item || !copy_key(item, item_length, NFTA_SET_ELEM_KEY, element.key,
				     &element.length))
			return item ? -EBADMSG : 0;
		element.interval = copy_key(
			item, item_length, NFTA_SET_ELEM_KEY_END, element.end, &element.length);
		copy_counter(item, item_length, &element);
		code = walk->each(walk->context, &element);
		if (code)
			return code;
		step = (size_t)(item - list) + AC_NETLINK_ALIGN(item_length);
		if (step >= list_length)
			break;
		list += step;
		list_length -= step;
	}
	return 0;
}

int ac_nftables_walk(const char *set, const unsigned char *attributes, size_t length,
	int (*each)(void *context, const struct ac_nftables_element *element), void *context)
{
	struct walk walk = { .set = set, .each = each, .context = context };

	return walk_elements(&walk, attributes, length);
}

int ac_nftables_each(int *link, const char *set,
	int (*each)(void *context, const struct ac_nftables_element *element), void *context)
{
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	struct ac_netlink request = { .bytes = bytes };
	struct walk walk = { .set = set, .each = each, .context = context };
	size_t message;

	if (!bytes)
		return -ENOMEM;
	message = ac_netlink_open(&request, NFT_MSG_GETSETELEM, NLM_F_DUMP, 1);
	name_set(&request, set);
	ac_netlink_close(&request, message);
	return ac_netlink_transact(link, &request, 0, walk_elements, &walk);
}

static int get_run(int *link, struct ac_netlink *request,
	const struct ac_nftables_element *elements, unsigned count, struct walk *walk)
{
	request->used = 0;
	walk->set = elements->set;
	return ac_netlink_transact(
		link, request, add_runs(request, true, elements, count), walk_elements, walk);
}

int ac_nftables_get(int *link, const struct ac_nftables_element *elements, unsigned count,
	int (*each)(void *context, const struct ac_nftables_element *element), void *context)
{
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	struct ac_netlink request = { .bytes = bytes };
	struct walk walk = { .each = each, .context = context };
	int code = bytes ? 0 : -ENOMEM;

	/* A set at a time: an answer tells its set by name only, and ours are constants. */
	while (!code && count) {
		unsigned run = 1;

		while (run < count && !strcmp(elements[run].set, elements->set))
			run++;
		code = get_run(link, &request, elements, run, &walk);
		elements += run;
		count -= run;
	}
	return code;
}

struct header {
	char *comment;
	size_t size;
};

static int take_header(void *context, const unsigned char *attributes, size_t length)
{
	const struct header *header = context;
	size_t found;
	const unsigned char *data = ac_netlink_find(attributes, length, NFTA_TABLE_FLAGS, &found);

	if (data && found == 4 && data[3] & NFT_TABLE_F_DORMANT) /* big-endian */
		return -ESHUTDOWN;
	data = ac_netlink_find(attributes, length, NFTA_TABLE_USERDATA, &found);
	header->comment[0] = '\0';
	while (data && found > 2 && (size_t)data[1] + 2 <= found) {
		size_t step = (size_t)data[1] + 2;

		if (data[0] == USERDATA_COMMENT)
			snprintf(header->comment, header->size, "%.*s", (int)data[1],
				(const char *)data + 2);
		data += step;
		found -= step;
	}
	return 0;
}

int ac_nftables_comment(char comment[], size_t size)
{
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	struct ac_netlink request = { .bytes = bytes };
	struct header header = { .comment = comment, .size = size };
	size_t message;

	if (!bytes)
		return -ENOMEM;
	message = ac_netlink_open(&request, NFT_MSG_GETTABLE, 0, 1);
	ac_netlink_attribute(
		&request, NFTA_TABLE_NAME, AC_NFTABLES_TABLE, sizeof(AC_NFTABLES_TABLE));
	ac_netlink_close(&request, message);
	return ac_netlink_transact(NULL, &request, 0, take_header, &header);
}

static int count_rule(void *context, const unsigned char *attributes, size_t length)
{
	size_t found;
	const unsigned char *name = ac_netlink_find(attributes, length, NFTA_RULE_TABLE, &found);

	*(int *)context += name && found == sizeof(AC_NFTABLES_TABLE) &&
			   !memcmp(name, AC_NFTABLES_TABLE, found);
	return 0;
}

int ac_nftables_rules(void)
{
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	struct ac_netlink request = { .bytes = bytes };
	size_t message;
	int count = 0, code;

	if (!bytes)
		return -ENOMEM;
	message = ac_netlink_open(&request, NFT_MSG_GETRULE, NLM_F_DUMP, 1);
	ac_netlink_attribute(
		&request, NFTA_RULE_TABLE, AC_NFTABLES_TABLE, sizeof(AC_NFTABLES_TABLE));
	ac_netlink_close(&request, message);
	code = ac_netlink_transact(NULL, &request, 0, count_rule, &count);
	return code ? code : count;
}

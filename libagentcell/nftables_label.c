// SPDX-License-Identifier: ISC
/*
 * One rule by hand.  nft's language knows uids and marks as different types and refuses to put one into
 * the other; a map of all uids would not do where they are anybody's.  To the kernel both are 32 bits.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>

#include "netlink.h"
#include "nftables.h"
#include "util.h"

static void put_number(struct ac_netlink *request, uint16_t type, uint32_t number)
{
	uint32_t value = htonl(number);

	ac_netlink_attribute(request, type, &value, sizeof(value));
}

/* Data is compared as it lies in the register: the machine's own order. */
static void put_data(struct ac_netlink *request, uint16_t type, uint32_t number)
{
	size_t nest = ac_netlink_open_nest(request, type);

	ac_netlink_attribute(request, NFTA_DATA_VALUE, &number, sizeof(number));
	ac_netlink_close_nest(request, nest);
}

struct expression {
	size_t element, data;
};

static struct expression open_expression(struct ac_netlink *request, const char *name)
{
	struct expression expression = { .element = ac_netlink_open_nest(request, NFTA_LIST_ELEM) };

	ac_netlink_attribute(request, NFTA_EXPR_NAME, name, strlen(name) + 1);
	expression.data = ac_netlink_open_nest(request, NFTA_EXPR_DATA);
	return expression;
}

static void close_expression(struct ac_netlink *request, struct expression expression)
{
	ac_netlink_close_nest(request, expression.data);
	ac_netlink_close_nest(request, expression.element);
}

static void put_expressions(struct ac_netlink *request, uint32_t mask, uint32_t set)
{
	struct expression expression = open_expression(request, "meta");

	put_number(request, NFTA_META_KEY, NFT_META_SKUID);
	put_number(request, NFTA_META_DREG, NFT_REG_1);
	close_expression(request, expression);
	expression = open_expression(request, "bitwise");
	put_number(request, NFTA_BITWISE_SREG, NFT_REG_1);
	put_number(request, NFTA_BITWISE_DREG, NFT_REG_1);
	put_number(request, NFTA_BITWISE_LEN, sizeof(mask));
	put_data(request, NFTA_BITWISE_MASK, mask & ~set);
	put_data(request, NFTA_BITWISE_XOR, set);
	close_expression(request, expression);
	expression = open_expression(request, "meta");
	put_number(request, NFTA_META_KEY, NFT_META_MARK);
	put_number(request, NFTA_META_SREG, NFT_REG_1);
	close_expression(request, expression);
}

int ac_nftables_add_label(const char *chain, uint32_t mask, uint32_t set)
{
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	struct ac_netlink request = { .bytes = bytes };
	size_t message, list;

	if (!bytes)
		return -ENOMEM;
	ac_netlink_close(&request, ac_netlink_open(&request, NFNL_MSG_BATCH_BEGIN, 0, 0));
	message = ac_netlink_open(
		&request, NFT_MSG_NEWRULE, NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND, 1);
	ac_netlink_attribute(
		&request, NFTA_RULE_TABLE, AC_NFTABLES_TABLE, sizeof(AC_NFTABLES_TABLE));
	ac_netlink_attribute(&request, NFTA_RULE_CHAIN, chain, strlen(chain) + 1);
	list = ac_netlink_open_nest(&request, NFTA_RULE_EXPRESSIONS);
	put_expressions(&request, mask, set);
	ac_netlink_close_nest(&request, list);
	ac_netlink_close(&request, message);
	ac_netlink_close(&request, ac_netlink_open(&request, NFNL_MSG_BATCH_END, 0, 2));
	return ac_netlink_transact(NULL, &request, 1, NULL, NULL);
}

// SPDX-License-Identifier: ISC
/*
 * Notifications of nf_tables.  They come from the kernel alone (the sender's port is checked), and are
 * parsed with bounds all the same.
 */
#include "nftables_news.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink.h"
#include "util.h"

#define ROOM 1048576
#define SET_NAME_MAX 32
/* First in the messages of tables, chains, rules, sets and elements alike. */
#define TABLE_ATTRIBUTE 1

int ac_news_subscribe(struct ac_err *err)
{
	ac_autoclose int fd = socket(
		AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int group = NFNLGRP_NFTABLES, room = ROOM;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
		setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		return ac_fail_errno(err, errno, "listen to changes of nft tables");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return ac_take_fd(&fd);
}

struct reader {
	void (*each)(void *context, const struct ac_news *news);
	void *context;
	char set[SET_NAME_MAX];
};

static void tell(struct reader *reader, enum ac_news_kind kind)
{
	const struct ac_news news = { .kind = kind };

	reader->each(reader->context, &news);
}

static int tell_element(void *context, const struct ac_nftables_element *element)
{
	struct reader *reader = context;
	const struct ac_news news = {
		.kind = AC_NEWS_ELEMENT, .set = reader->set, .element = element
	};

	reader->each(reader->context, &news);
	return 0;
}

static void read_elements(struct reader *reader, const unsigned char *bytes, size_t length)
{
	size_t found;
	const unsigned char *name = ac_netlink_find(bytes, length, NFTA_SET_ELEM_LIST_SET, &found);

	reader->set[0] = 0;
	if (name && found && found < sizeof(reader->set) && !name[found - 1])
		memcpy(reader->set, name, found);
	/* What cannot be taken apart may be anything. */
	if (!reader->set[0] || ac_nftables_walk(reader->set, bytes, length, tell_element, reader))
		tell(reader, AC_NEWS_TABLE);
}

static void read_generation(struct reader *reader, const unsigned char *bytes, size_t length)
{
	struct ac_news news = { .kind = AC_NEWS_DONE };
	size_t found;
	const unsigned char *by = ac_netlink_find(bytes, length, NFTA_GEN_PROC_PID, &found);

	if (by && found == sizeof(news.by)) {
		memcpy(&news.by, by, sizeof(news.by));
		news.by = ntohl(news.by);
	}
	reader->each(reader->context, &news);
}

static void read_message(
	struct reader *reader, unsigned type, const unsigned char *bytes, size_t length)
{
	size_t found;
	const unsigned char *table = ac_netlink_find(bytes, length, TABLE_ATTRIBUTE, &found);

	if (type == NFT_MSG_NEWGEN) {
		read_generation(reader, bytes, length);
		return;
	}
	if (!table || found != sizeof(AC_NFTABLES_TABLE) ||
		memcmp(table, AC_NFTABLES_TABLE, found) != 0)
		return;
	if (type == NFT_MSG_NEWSETELEM || type == NFT_MSG_DELSETELEM)
		read_elements(reader, bytes, length);
	else
		tell(reader, AC_NEWS_TABLE);
}

static void read_datagram(struct reader *reader, const unsigned char *bytes, size_t length)
{
	const size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
	struct nlmsghdr header;

	while (length >= head) {
		size_t step;

		memcpy(&header, bytes, sizeof(header));
		if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > length)
			return;
		if (header.nlmsg_len >= head && header.nlmsg_type >> 8 == NFNL_SUBSYS_NFTABLES)
			read_message(reader, header.nlmsg_type & 0xff, bytes + head,
				header.nlmsg_len - head);
		step = NLMSG_ALIGN((size_t)header.nlmsg_len);
		if (step >= length)
			return;
		bytes += step;
		length -= step;
	}
}

void ac_news_read(int fd, void (*each)(void *context, const struct ac_news *news), void *context)
{
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	struct reader reader = { .each = each, .context = context };

	while (bytes) {
		struct sockaddr_nl from = { 0 };
		struct iovec part = { .iov_base = bytes, .iov_len = AC_NETLINK_BUFFER };
		struct msghdr message = { .msg_name = &from,
			.msg_namelen = sizeof(from),
			.msg_iov = &part,
			.msg_iovlen = 1 };
		ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && errno == EAGAIN)
			return;
		if (length < 0 || message.msg_flags & MSG_TRUNC)
			tell(&reader, AC_NEWS_LOST);
		else if (!from.nl_pid)
			read_datagram(&reader, bytes, (size_t)length);
		if (length < 0 && errno != ENOBUFS)
			return;
	}
	tell(&reader, AC_NEWS_LOST); /* no memory to look */
}

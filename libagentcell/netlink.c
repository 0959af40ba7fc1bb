// SPDX-License-Identifier: ISC
/*
 * A small nfnetlink client.  Requests are built in a fixed buffer that refuses to overflow; answers
 * come from the kernel alone (the sender's port is checked) but are still parsed with bounds.
 * Each transaction has a socket of its own, so nothing of another one is ever in the queue.
 */
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "util.h"

#define ANSWER_LIMIT_S 5

static void *reserve(struct ac_netlink *request, size_t length)
{
	size_t padded = NLMSG_ALIGN(length);
	void *place = request->bytes + request->used;

	if (request->full || padded > AC_NETLINK_BUFFER - request->used) {
		request->full = true;
		return NULL;
	}
	memset(place, 0, padded);
	request->used += padded;
	return place;
}

void ac_netlink_attribute(
	struct ac_netlink *request, uint16_t type, const void *data, size_t length)
{
	struct nlattr *attribute = reserve(request, AC_NETLINK_HEAD + length);

	if (!attribute)
		return;
	attribute->nla_len = (uint16_t)(AC_NETLINK_HEAD + length);
	attribute->nla_type = type;
	if (length)
		memcpy((unsigned char *)attribute + AC_NETLINK_HEAD, data, length);
}

size_t ac_netlink_open_nest(struct ac_netlink *request, uint16_t type)
{
	size_t start = request->used;

	ac_netlink_attribute(request, type | NLA_F_NESTED, NULL, 0);
	return start;
}

void ac_netlink_close_nest(struct ac_netlink *request, size_t start)
{
	struct nlattr *attribute = (struct nlattr *)(void *)(request->bytes + start);
	size_t length = request->used - start;

	if (length > UINT16_MAX)
		request->full = true;
	if (!request->full)
		attribute->nla_len = (uint16_t)length;
}

size_t ac_netlink_open(struct ac_netlink *request, uint16_t type, uint16_t flags, uint32_t sequence)
{
	size_t start = request->used;
	struct nlmsghdr *header = reserve(request, NLMSG_HDRLEN);
	struct nfgenmsg *generic = reserve(request, sizeof(*generic));
	bool batch = type == NFNL_MSG_BATCH_BEGIN || type == NFNL_MSG_BATCH_END;

	if (!header || !generic)
		return start;
	header->nlmsg_type = batch ? type : (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type);
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	header->nlmsg_seq = sequence;
	generic->nfgen_family = batch ? AF_UNSPEC : NFPROTO_INET;
	generic->version = NFNETLINK_V0;
	generic->res_id = batch ? htons(NFNL_SUBSYS_NFTABLES) : 0;
	return start;
}

void ac_netlink_close(struct ac_netlink *request, size_t start)
{
	struct nlmsghdr *header = (struct nlmsghdr *)(void *)(request->bytes + start);

	if (!request->full)
		header->nlmsg_len = (uint32_t)(request->used - start);
}

static int open_netlink(void)
{
	ac_autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	struct timeval limit = { .tv_sec = ANSWER_LIMIT_S };
	int size = 4 * AC_NETLINK_BUFFER;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return ac_take_fd(&fd);
}

static int send_request(int fd, const struct ac_netlink *request)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t sent;

	if (request->full)
		return -E2BIG;
	do
		sent = sendto(fd, request->bytes, request->used, 0, (struct sockaddr *)&kernel,
			sizeof(kernel));
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* One datagram of the kernel: its length, or -errno. */
static ssize_t receive(int fd, unsigned char *bytes)
{
	struct sockaddr_nl from = { 0 };
	struct iovec part = { .iov_base = bytes, .iov_len = AC_NETLINK_BUFFER };
	struct msghdr message = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1
	};
	ssize_t length;

	do
		length = recvmsg(fd, &message, 0);
	while ((length < 0 && errno == EINTR) || (length >= 0 && from.nl_pid));
	if (length < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : length;
}

/* Finds one attribute in a row of them: its data, or NULL. */
const unsigned char *ac_netlink_find(
	const unsigned char *bytes, size_t length, unsigned type, size_t *found_length)
{
	while (length >= AC_NETLINK_HEAD) {
		struct nlattr attribute;
		size_t step;

		memcpy(&attribute, bytes, sizeof(attribute));
		if (attribute.nla_len < AC_NETLINK_HEAD || attribute.nla_len > length)
			return NULL;
		if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
			*found_length = attribute.nla_len - AC_NETLINK_HEAD;
			return bytes + AC_NETLINK_HEAD;
		}
		step = AC_NETLINK_ALIGN(attribute.nla_len);
		if (step > length)
			return NULL;
		bytes += step;
		length -= step;
	}
	return NULL;
}

/*
 * Handles the messages of one datagram.  Returns 1 when the answer is complete, 0 when more follows,
 * or -errno (of the kernel, or of the handler).  *interrupted: the dump is not one snapshot.
 */
static int handle_datagram(const unsigned char *bytes, size_t length, unsigned *acks,
	bool *interrupted, ac_netlink_handler *handle, void *context)
{
	const size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
	struct nlmsghdr header;
	int code;

	for (; length >= NLMSG_HDRLEN;
		bytes += NLMSG_ALIGN(header.nlmsg_len), length -= NLMSG_ALIGN(header.nlmsg_len)) {
		memcpy(&header, bytes, sizeof(header));
		if (header.nlmsg_len < NLMSG_HDRLEN || NLMSG_ALIGN(header.nlmsg_len) > length)
			return -EBADMSG;
		*interrupted |= (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (header.nlmsg_type == NLMSG_DONE)
			return 1;
		if (header.nlmsg_type == NLMSG_ERROR) {
			if (header.nlmsg_len < NLMSG_HDRLEN + sizeof(code))
				return -EBADMSG;
			memcpy(&code, bytes + NLMSG_HDRLEN, sizeof(code));
			if (code || (*acks && !--*acks))
				return code ? code : 1;
			continue;
		}
		if (header.nlmsg_len < head)
			continue;
		code = handle ? handle(context, bytes + head, header.nlmsg_len - head) : 0;
		if (code)
			return code;
		if (!(header.nlmsg_flags & NLM_F_MULTI) && !*acks)
			return 1;
	}
	return 0;
}

/* Sends and handles the answer: acks acknowledgements, or one message, or a dump. */
static int exchange(int fd, unsigned char *bytes, const struct ac_netlink *request, unsigned acks,
	ac_netlink_handler *handle, void *context)
{
	bool interrupted = false;
	int code = send_request(fd, request);

	while (!code) {
		ssize_t length = receive(fd, bytes);

		if (length < 0)
			return (int)length;
		code = handle_datagram(bytes, (size_t)length, &acks, &interrupted, handle, context);
	}
	if (code == 1)
		return interrupted ? -EINTR : 0;
	return code;
}

int ac_netlink_transact(int *link, const struct ac_netlink *request, unsigned acks,
	ac_netlink_handler *handle, void *context)
{
	ac_autoclose int fd = link && *link >= 0 ? ac_take_fd(link) : open_netlink();
	ac_autofree unsigned char *bytes = malloc(AC_NETLINK_BUFFER);
	int code = fd < 0 ? fd : -ENOMEM;

	if (fd >= 0 && bytes)
		code = exchange(fd, bytes, request, acks, handle, context);
	/* After a failure an answer may still be under way, which is none to the next request. */
	if (!code && link)
		*link = ac_take_fd(&fd);
	return code;
}

/* SPDX-License-Identifier: ISC */
/*
 * The judge's part for addresses: sockets of the network and of the file system.  Pure.
 *
 * What was declared is the firewall's business: it holds the addresses, and a packet that it denies
 * is an event of its own.  So a connect() that went through, or is under way, says nothing here; one
 * that failed towards something undeclared does, since the packet may never have got that far.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "judge_parts.h"
#include "path.h"
#include "util.h"

#define DNS_PORT 53
#define DNS_TLS_PORT 853

struct destination {
	struct ac_address address;
	bool port_known;
	char text[INET6_ADDRSTRLEN];
};

/* ::ffff:1.2.3.4 is 1.2.3.4 */
static void unmap(struct ac_address *address)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (address->family != AF_INET6 || memcmp(address->bytes, mapped, sizeof(mapped)) != 0)
		return;
	memmove(address->bytes, address->bytes + 12, 4);
	memset(address->bytes + 4, 0, 12);
	address->family = AF_INET;
	address->prefix = 32;
}

static void finish(struct destination *destination)
{
	unmap(&destination->address);
	if (!inet_ntop(destination->address.family, destination->address.bytes, destination->text,
		    sizeof(destination->text)))
		destination->text[0] = 0;
}

static bool from_sockaddr(const struct ac_event *event, struct destination *destination)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	sa_family_t family = 0;

	memset(destination, 0, sizeof(*destination));
	if (event->address_length >= sizeof(family))
		memcpy(&family, event->address, sizeof(family));
	destination->port_known = true;
	destination->address.family = (uint8_t)family;
	if (family == AF_INET && event->address_length >= sizeof(v4)) {
		memcpy(&v4, event->address, sizeof(v4));
		memcpy(destination->address.bytes, &v4.sin_addr, sizeof(v4.sin_addr));
		destination->address.port = ntohs(v4.sin_port);
		destination->address.prefix = 32;
	} else if (family == AF_INET6 && event->address_length >= 24) {
		memset(&v6, 0, sizeof(v6));
		memcpy(&v6, event->address,
			event->address_length < sizeof(v6) ? event->address_length : sizeof(v6));
		memcpy(destination->address.bytes, &v6.sin6_addr, sizeof(v6.sin6_addr));
		destination->address.port = ntohs(v6.sin6_port);
		destination->address.prefix = 128;
	} else {
		return false;
	}
	finish(destination);
	return true;
}

static bool from_text(const char *text, uint32_t port, struct destination *destination)
{
	struct ac_address *address = &destination->address;

	memset(destination, 0, sizeof(*destination));
	if (inet_pton(AF_INET, text, address->bytes) == 1) {
		address->family = AF_INET;
		address->prefix = 32;
	} else if (inet_pton(AF_INET6, text, address->bytes) == 1) {
		address->family = AF_INET6;
		address->prefix = 128;
	} else {
		return false;
	}
	address->port = (uint16_t)port;
	destination->port_known = port != 0;
	finish(destination);
	return true;
}

static bool is_loopback(const struct ac_address *address)
{
	static const unsigned char one[16] = { [15] = 1 }, zero[16];

	if (address->family == AF_INET)
		return address->bytes[0] == 127 || !memcmp(address->bytes, zero, 4);
	return !memcmp(address->bytes, one, 16) || !memcmp(address->bytes, zero, 16);
}

static bool is_known(
	const struct ac_judge *judge, const struct destination *destination, bool is_closed)
{
	struct ac_address address = destination->address;

	for (unsigned i = 0; judge->declared && i < judge->declared->count; i++) {
		const struct ac_address *known = &judge->declared->address[i];

		if ((known->state == AC_ADDRESS_CLOSED) != is_closed)
			continue;
		if (!destination->port_known)
			address.port = known->port;
		if (ac_address_covers(known, &address))
			return true;
	}
	return false;
}

static bool is_declared(const struct ac_judge *judge, const struct destination *destination)
{
	return is_known(judge, destination, false);
}

/* A program that keeps addresses for long tries one that a declared name has left. */
static bool is_former(const struct ac_judge *judge, const struct destination *destination)
{
	return is_known(judge, destination, true);
}

static bool is_tolerated(const struct ac_judge *judge, const struct destination *destination)
{
	for (unsigned i = 0; judge->tolerated && i < judge->tolerated->count; i++)
		if (!strcmp(judge->tolerated->name[i], destination->text))
			return true;
	return false;
}

static void name_target(const struct destination *destination, struct ac_verdict *verdict)
{
	verdict->operation = AC_OPERATION_NETWORK;
	if (destination->port_known)
		(void)snprintf(verdict->target, sizeof(verdict->target),
			destination->address.family == AF_INET ? "%s:%u" : "[%s]:%u",
			destination->text, destination->address.port);
	else
		(void)snprintf(verdict->target, sizeof(verdict->target), "%s", destination->text);
}

static void judge_undeclared(const struct ac_judge *judge, const struct destination *destination,
	struct ac_verdict *verdict)
{
	uint16_t port = destination->address.port;

	if (destination->port_known && (port == DNS_PORT || port == DNS_TLS_PORT))
		ac_verdict_set(judge, verdict, AC_CLASS_LOOKUP,
			"a name look-up: there is no resolver in the cell");
	else if (is_loopback(&destination->address))
		ac_verdict_set(judge, verdict, AC_CLASS_OUTSIDE_REFUSED,
			"nothing of this session listens there");
	else if (is_tolerated(judge, destination))
		ac_verdict_set(
			judge, verdict, AC_CLASS_TOLERATED, "tolerated by the harness profile");
	else if (is_former(judge, destination))
		ac_verdict_set(judge, verdict, AC_CLASS_TOLERATED,
			"a declared name does not lead there any more");
	else
		ac_verdict_set(judge, verdict, AC_CLASS_NETWORK, "not a declared endpoint");
}

static bool is_lookup(const struct destination *destination)
{
	return destination->address.port == DNS_PORT || destination->address.port == DNS_TLS_PORT;
}

static void judge_internet(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, const struct destination *destination,
	struct ac_verdict *verdict)
{
	bool under_way = event->success || event->exit == -EINPROGRESS ||
			 event->exit == -EALREADY || event->exit == -EISCONN ||
			 event->exit == -EINTR || event->exit == -ETIMEDOUT ||
			 event->exit == -512; /* ERESTARTSYS: interrupted while waiting */

	name_target(destination, verdict);
	if (!strcmp(call->name, "bind"))
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "a listener of its own");
	else if (is_declared(judge, destination))
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "a declared endpoint");
	else if (is_lookup(destination) || (!under_way && !is_loopback(&destination->address)))
		judge_undeclared(judge, destination, verdict);
	else
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "left to the firewall");
}

/* Abstract names stay within the session (Landlock); file names are judged like files. */
static void judge_unix(const struct ac_judge *judge, const struct ac_event *event, const char *name,
	struct ac_verdict *verdict)
{
	const struct ac_silent_line *line;

	verdict->operation = AC_OPERATION_NETWORK;
	if (!*name) {
		(void)snprintf(verdict->target, sizeof(verdict->target), "unix socket @");
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "within the session");
		return;
	}
	if (ac_path_join(verdict->target, sizeof(verdict->target), event->cwd[0] ? event->cwd : "/",
		    name))
		(void)snprintf(verdict->target, sizeof(verdict->target), "%s", name);
	line = ac_silent_find(judge->silent, AC_SILENT_SERVICE, verdict->target);
	if (ac_silent_find(judge->silent, AC_SILENT_SOCKET, verdict->target))
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "on the silent list");
	else if (ac_silent_find(judge->silent, AC_SILENT_RESOLVER, verdict->target) &&
		 !ac_judge_is_own(judge, verdict->target))
		ac_verdict_set(judge, verdict, AC_CLASS_LOOKUP,
			"a name look-up: there is no resolver in the cell");
	else if (line && !ac_judge_is_own(judge, verdict->target))
		ac_verdict_set(judge, verdict, AC_CLASS_NETWORK, line->reason);
	else
		ac_judge_path(judge, AC_OPERATION_READ, event->success, verdict->target, verdict);
	verdict->operation = AC_OPERATION_NETWORK;
}

static void judge_other_family(
	const struct ac_judge *judge, sa_family_t family, struct ac_verdict *verdict)
{
	verdict->operation = AC_OPERATION_NETWORK;
	(void)snprintf(verdict->target, sizeof(verdict->target), "address of family %u", family);
	if (family == AF_UNSPEC || family == AF_NETLINK || family == AF_INET || family == AF_INET6)
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "harmless");
	else
		ac_verdict_set(
			judge, verdict, AC_CLASS_NETWORK, "a family that the firewall can't see");
}

void ac_judge_address(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	struct destination destination;
	char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	sa_family_t family = AF_UNSPEC;
	size_t length;

	if (!(event->seen & AC_SEEN_SOCKADDR))
		return; /* no address: on a connected socket; the end of the event makes it normal */
	if (event->address_length >= sizeof(family))
		memcpy(&family, event->address, sizeof(family));
	if (from_sockaddr(event, &destination)) {
		judge_internet(judge, call, event, &destination, verdict);
		return;
	}
	if (family != AF_UNIX) {
		judge_other_family(judge, family, verdict);
		return;
	}
	length = event->address_length - sizeof(family);
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, event->address + sizeof(family), length);
	name[length] = 0;
	if (*name && *name != '/' && !(event->seen & AC_SEEN_CWD) && !complete)
		return;
	judge_unix(judge, event, name, verdict);
}

void ac_judge_packet(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict)
{
	struct destination destination;

	verdict->operation = AC_OPERATION_NETWORK;
	if (!from_text(event->packet_address, event->packet_port, &destination)) {
		(void)snprintf(
			verdict->target, sizeof(verdict->target), "%s", event->packet_address);
		ac_verdict_set(judge, verdict, AC_CLASS_NETWORK, "a denied packet");
		return;
	}
	name_target(&destination, verdict);
	judge_undeclared(judge, &destination, verdict);
	/* A record that names no port leaves open whether it was a look-up; the weaker word until
	 * the system call's own record says which. */
	if (!destination.port_known && event->protocol == IPPROTO_UDP &&
		verdict->class == AC_CLASS_NETWORK)
		ac_verdict_set(judge, verdict, AC_CLASS_LOOKUP, "a denied UDP packet");
}

void ac_judge_landlock_net(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict)
{
	struct destination destination;

	verdict->operation = AC_OPERATION_NETWORK;
	if (!strncmp(event->blockers, "net.bind", 8)) {
		(void)snprintf(verdict->target, sizeof(verdict->target), "bind to port %u",
			event->packet_port);
		ac_verdict_set(judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "a refused listener");
		return;
	}
	if (from_text(event->packet_address, event->packet_port, &destination)) {
		name_target(&destination, verdict);
		judge_undeclared(judge, &destination, verdict);
		return;
	}
	(void)snprintf(
		verdict->target, sizeof(verdict->target), "unix socket %s", event->landlock_path);
	ac_verdict_set(judge, verdict, AC_CLASS_NETWORK, "a socket of another session or user");
}

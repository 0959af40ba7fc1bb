// SPDX-License-Identifier: ISC
/*
 * Both ends of the firewall tests: real listeners that count, and one probe at a time.
 *
 *   net serve <log> <proto>:<address>:<port> ...     a line "<proto> <address> <port>" per visit
 *   net probe <uid> <proto> <address> <port> [from]  prints: open | closed <errno name>
 *   net hold <uid> <address> <port>                  connects, says "held", then one line per write
 *   net flood <address> <port> <count>               UDP packets, one after the other; prints the milliseconds
 *   net audit <text>          prints NETFILTER_PKT records (init netns) until one of a program has the text
 *
 * proto: tcp close (the server closes first) udp mptcp sctp udplite tfo (TCP fast open) ping raw packet vsock.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 700
#define SERVERS 64
#define AUDIT_MS 60000

struct kind {
	const char *name;
	int type, protocol;
	bool stream;
};

static const struct kind kinds[] = {
	{ "tcp", SOCK_STREAM, 0, true },
	{ "tfo", SOCK_STREAM, 0, true },
	{ "close", SOCK_STREAM, 0, true },
	{ "mptcp", SOCK_STREAM, IPPROTO_MPTCP, true },
	{ "sctp", SOCK_STREAM, IPPROTO_SCTP, true },
	{ "udp", SOCK_DGRAM, 0, false },
	{ "udplite", SOCK_DGRAM, IPPROTO_UDPLITE, false },
};

static const struct kind *find_kind(const char *name)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static int number(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

static socklen_t make_address(const char *text, int port, struct sockaddr_storage *storage)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(storage, &in, sizeof(in));
		return sizeof(in);
	}
	if (inet_pton(AF_INET6, text, &in6.sin6_addr) != 1) {
		fprintf(stderr, "bad address %s\n", text);
		exit(2);
	}
	memcpy(storage, &in6, sizeof(in6));
	return sizeof(in6);
}

static int verdict(int code)
{
	if (code)
		printf("closed %s\n", strerrorname_np(code));
	else
		puts("open");
	return 0;
}

/* Waits for the other side's word: 0, or why not. */
static int await(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char word[16];
	ssize_t length;

	if (poll(&poll_fd, 1, WAIT_MS) <= 0)
		return ETIMEDOUT;
	length = recv(fd, word, sizeof(word), 0);
	return length > 0 ? 0 : length ? errno : ECONNRESET;
}

static int connect_soon(int fd, const struct sockaddr_storage *to, socklen_t length)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int code = 0;

	if (!connect(fd, (const struct sockaddr *)to, length))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&poll_fd, 1, WAIT_MS) <= 0)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
	return code;
}

static int source_port; /* 0: any */

static int bind_source(int fd, int family)
{
	struct sockaddr_storage from = { 0 };
	socklen_t length = make_address(
		family == AF_INET ? "127.0.0.1" : "::1", source_port, &from);
	int yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	return source_port ? bind(fd, (struct sockaddr *)&from, length) : 0;
}

/* The other side has closed before this one does. */
static int await_end(int fd)
{
	int code = await(fd);

	return code ? code : await(fd) == ECONNRESET ? 0 : EPROTO;
}

static int probe_inet(const struct kind *kind, const char *text, int port)
{
	struct sockaddr_storage to = { 0 };
	socklen_t length = make_address(text, port, &to);
	int fd = socket(to.ss_family, kind->type | SOCK_NONBLOCK | SOCK_CLOEXEC, kind->protocol);
	int code;

	if (fd < 0 || bind_source(fd, to.ss_family))
		return errno;
	if (!strcmp(kind->name, "tfo")) {
		if (sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&to, length) < 0 &&
			errno != EINPROGRESS)
			return errno;
		return await(fd);
	}
	if (kind->stream) {
		code = connect_soon(fd, &to, length);
		if (code)
			return code;
		return strcmp(kind->name, "close") != 0 ? await(fd) : await_end(fd);
	}
	/* Unconnected first: sendto alone must not get out either. */
	if (sendto(fd, "x", 1, 0, (struct sockaddr *)&to, length) < 0)
		return errno;
	return await(fd);
}

static int probe_ping(const char *text)
{
	struct sockaddr_storage to = { 0 };
	socklen_t length = make_address(text, 0, &to);
	bool six = to.ss_family == AF_INET6;
	unsigned char packet[16] = { six ? ICMP6_ECHO_REQUEST : ICMP_ECHO };
	int fd = socket(
		to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, six ? IPPROTO_ICMPV6 : IPPROTO_ICMP);

	if (fd < 0 || sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, length) < 0)
		return errno;
	return await(fd);
}

static int probe_raw(const char *text)
{
	struct sockaddr_storage to = { 0 };
	socklen_t length = make_address(text, 0, &to);
	int fd = socket(to.ss_family, SOCK_RAW | SOCK_CLOEXEC, 253);

	return fd < 0 || sendto(fd, "x", 1, 0, (struct sockaddr *)&to, length) < 0 ? errno : 0;
}

static int probe_socket(int family, int type, int protocol)
{
	return socket(family, type | SOCK_CLOEXEC, protocol) < 0 ? errno : 0;
}

static void become(const char *uid)
{
	uid_t id = (uid_t)number(uid);

	if (id && (setresgid(id, id, id) || setresuid(id, id, id))) {
		perror("setresuid");
		exit(2);
	}
}

static int probe(const char *name, const char *address, int port)
{
	const struct kind *kind = find_kind(name);

	if (kind)
		return verdict(probe_inet(kind, address, port));
	if (!strcmp(name, "ping"))
		return verdict(probe_ping(address));
	if (!strcmp(name, "raw"))
		return verdict(probe_raw(address));
	if (!strcmp(name, "packet"))
		return verdict(probe_socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
	if (!strcmp(name, "vsock"))
		return verdict(probe_socket(AF_VSOCK, SOCK_STREAM, 0));
	return 2;
}

/* Keeps one connection and reports each write, so that a test can pull the rug. */
static int hold(const char *text, int port)
{
	struct sockaddr_storage to = { 0 };
	socklen_t length = make_address(text, port, &to);
	int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[16];

	signal(SIGPIPE, SIG_IGN);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, length) || await(fd))
		return puts("failed") < 0;
	puts("held");
	while (fgets(line, sizeof(line), stdin)) {
		int code = send(fd, "x", 1, 0) < 0 ? errno : await(fd);

		verdict(code);
	}
	return 0;
}

struct server {
	int fd;
	const struct kind *kind;
	char spec[96];
};

static bool open_server(struct server *server, char *spec)
{
	char *address = strchr(spec, ':'), *port = strrchr(spec, ':');
	struct sockaddr_storage at = { 0 };
	socklen_t length;
	int yes = 1;

	if (!address || address == port)
		return false;
	*address++ = '\0';
	*port++ = '\0';
	server->kind = find_kind(spec);
	length = make_address(address, number(port), &at);
	if (!server->kind)
		return false;
	snprintf(server->spec, sizeof(server->spec), "%s %s %s", spec, address, port);
	server->fd = socket(
		at.ss_family, server->kind->type | SOCK_CLOEXEC, server->kind->protocol);
	if (server->fd < 0)
		return false;
	setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(server->fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	return !bind(server->fd, (struct sockaddr *)&at, length) &&
	       (!server->kind->stream || !listen(server->fd, 64));
}

static void echo(int fd)
{
	char byte[64];

	/* A held connection is answered in a child of its own. */
	if (fork() == 0) {
		while (recv(fd, byte, sizeof(byte), 0) > 0)
			if (send(fd, "y", 1, MSG_NOSIGNAL) < 0)
				break;
		_exit(0);
	}
}

static FILE *visits;

static void visit(const struct server *server)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	char bytes[64];

	fprintf(visits, "%s\n", server->spec);
	fflush(visits);
	if (server->kind->stream) {
		int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && send(fd, "hello", 5, MSG_NOSIGNAL) == 5 &&
			strcmp(server->kind->name, "close") != 0)
			echo(fd);
		close(fd);
	} else if (recvfrom(server->fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from,
			   &length) > 0) {
		sendto(server->fd, "hello", 5, 0, (struct sockaddr *)&from, length);
	}
}

static int serve(const char *log_path, int count, char **specs)
{
	static struct server servers[SERVERS];
	struct pollfd polls[SERVERS];
	int used = 0;

	signal(SIGCHLD, SIG_IGN);
	visits = fopen(log_path, "ae");
	if (!visits || count > SERVERS)
		return 2;
	for (int i = 0; i < count; i++) {
		if (!open_server(&servers[used], specs[i])) {
			printf("without %s: %s\n", specs[i], strerror(errno));
			continue;
		}
		polls[used] = (struct pollfd){ .fd = servers[used].fd, .events = POLLIN };
		used++;
	}
	puts("ready");
	while (poll(polls, (nfds_t)used, -1) >= 0 || errno == EINTR)
		for (int i = 0; i < used; i++)
			if (polls[i].revents)
				visit(&servers[i]);
	return 1;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int flood(const char *text, int port, int count)
{
	struct sockaddr_storage to = { 0 };
	socklen_t length = make_address(text, port, &to);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int64_t start = now_ms();

	for (int i = 0; i < count; i++)
		sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&to, length);
	printf("%lld\n", (long long)(now_ms() - start));
	return 0;
}

/* What the kernel has said before the text was said comes before it. */
static int audit(const char *last)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK,
		.nl_groups = 1 << (AUDIT_NLGRP_READLOG - 1) };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	int64_t end = now_ms() + AUDIT_MS;
	static char buffer[16384];

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return perror("audit multicast"), 2;
	puts("ready");
	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int64_t left = end - now_ms();
		struct nlmsghdr header;
		ssize_t length;

		if (left <= 0 || poll(&poll_fd, 1, (int)left) <= 0)
			return fprintf(stderr, "nobody said %s\n", last), 1;
		length = recv(fd, buffer, sizeof(buffer) - 1, 0);
		if (length < NLMSG_HDRLEN)
			continue;
		buffer[length] = '\0';
		memcpy(&header, buffer, sizeof(header));
		if (header.nlmsg_type == AUDIT_NETFILTER_PKT)
			puts(buffer + NLMSG_HDRLEN);
		else if (header.nlmsg_type == AUDIT_USER && strstr(buffer + NLMSG_HDRLEN, last))
			return 0;
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc >= 4 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argc - 3, argv + 3);
	if ((argc == 6 || argc == 7) && !strcmp(argv[1], "probe")) {
		source_port = argc == 7 ? number(argv[6]) : 0;
		become(argv[2]);
		return probe(argv[3], argv[4], number(argv[5]));
	}
	if (argc == 5 && !strcmp(argv[1], "hold")) {
		become(argv[2]);
		return hold(argv[3], number(argv[4]));
	}
	if (argc == 5 && !strcmp(argv[1], "flood"))
		return flood(argv[2], number(argv[3]), number(argv[4]));
	if (argc == 3 && !strcmp(argv[1], "audit"))
		return audit(argv[2]);
	fputs("usage: see the head of net.c\n", stderr);
	return 2;
}

// SPDX-License-Identifier: ISC
/*
 * The library's cgroup, account and firewall functions as commands, for the system tests beside it.
 * Prints a value on stdout where there is one; on failure the error text, and exits 1.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "account.h"
#include "cgroup.h"
#include "config.h"
#include "firewall.h"
#include "util.h"

static struct ac_err err;

static int done(int code)
{
	if (code < 0)
		fprintf(stderr, "%s\n", err.text[0] ? err.text : strerror(-code));
	return code < 0;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

/* host:port... as config.c would read them, but without config.c. */
static bool endpoint_from(char *text, struct ac_endpoint *endpoint)
{
	char *port = strrchr(text, ':'), *slash;
	unsigned char bytes[16];

	if (!port)
		return false;
	*port++ = '\0';
	endpoint->port = (uint16_t)number(port);
	slash = strchr(text, '/');
	if (slash)
		*slash++ = '\0';
	if (*text == '[') {
		text++;
		text[strcspn(text, "]")] = '\0';
	}
	snprintf(endpoint->host, sizeof(endpoint->host), "%s", text);
	if (inet_pton(AF_INET, text, bytes) == 1)
		endpoint->family = AF_INET;
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		endpoint->family = AF_INET6;
	endpoint->prefix = (uint8_t)(slash                         ? number(slash)
				     : endpoint->family == AF_INET ? 32
								   : 128);
	return true;
}

static int resolve(const char *session_id, char **words, struct ac_addresses *addresses)
{
	ac_autofree struct ac_policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		return -1;
	snprintf(policy->session_id, sizeof(policy->session_id), "%.*s",
		(int)strcspn(session_id, "-:"), session_id);
	policy->dev_server = strchr(session_id, ':') != NULL;
	if (policy->dev_server)
		policy->visitor = number(strchr(session_id, ':') + 1);
	for (; *words; words++)
		if (!endpoint_from(*words, &policy->endpoints[policy->endpoint_count++]))
			return -1;
	return ac_firewall_resolve(policy, addresses, &err);
}

static int print_addresses(uid_t uid)
{
	static struct ac_addresses addresses;
	char text[INET6_ADDRSTRLEN];

	if (done(ac_firewall_read(uid, &addresses, &err)))
		return 1;
	for (unsigned i = 0; i < addresses.count; i++) {
		const struct ac_address *address = &addresses.address[i];

		inet_ntop(address->family, address->bytes, text, sizeof(text));
		printf("%s/%u %u\n", text, address->prefix, address->port);
	}
	return 0;
}

static int print_flows(uid_t uid)
{
	static struct ac_flows flows;

	if (done(ac_firewall_flows(uid, &flows, &err)))
		return 1;
	printf("refused %llu\n", (unsigned long long)flows.refused);
	for (unsigned i = 0; i < flows.count; i++)
		printf("port %u %llu\n", flows.flow[i].address.port,
			(unsigned long long)flows.flow[i].packets);
	return 0;
}

/* Keeps the guard until standard input ends. */
static int hold_guard(uid_t first, uid_t last)
{
	struct ac_guard *guard;

	if (done(ac_guard_open(first, last, &guard, &err)))
		return 1;
	puts("ready");
	while (getchar() != EOF)
		;
	ac_guard_close(guard);
	return 0;
}

static int firewall(int argc, char **argv)
{
	static struct ac_addresses addresses;
	int code;

	if (!strcmp(argv[0], "load") && argc == 3)
		return done(ac_firewall_load(number(argv[1]), number(argv[2]), &err));
	if (!strcmp(argv[0], "unload"))
		return done(ac_firewall_unload(&err));
	if (!strcmp(argv[0], "loaded"))
		return printf("%d\n", ac_firewall_is_loaded()) < 0;
	if (!strcmp(argv[0], "loopback"))
		return printf("%d\n", ac_firewall_has_loopback()) < 0;
	if (!strcmp(argv[0], "count") && argc == 2)
		return printf("%d\n", ac_firewall_count(number(argv[1]))) < 0;
	if (!strcmp(argv[0], "check") && argc >= 3) {
		code = resolve(argv[2], argv + 3, &addresses);
		if (!code)
			code = ac_firewall_check(number(argv[1]), &addresses, &err);
		return done(code);
	}
	if (!strcmp(argv[0], "flows") && argc == 2)
		return print_flows(number(argv[1]));
	if (!strcmp(argv[0], "guard") && argc == 3)
		return hold_guard(number(argv[1]), number(argv[2]));
	if (!strcmp(argv[0], "read") && argc == 2)
		return print_addresses(number(argv[1]));
	if (!strcmp(argv[0], "remove") && argc == 2)
		return done(ac_firewall_remove(number(argv[1]), NULL, &err));
	if (!strcmp(argv[0], "add") && argc >= 3) {
		code = resolve(argv[2], argv + 3, &addresses);
		if (!code)
			code = ac_firewall_add(number(argv[1]), &addresses, &err);
		return done(code);
	}
	return 2;
}

static long passed_us(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from->tv_sec) * 1000000 + (now.tv_nsec - from->tv_nsec) / 1000;
}

/* bench <sessions> <rounds>: fills the table, then times adding so many more, and removing them. */
static int bench(unsigned sessions, unsigned rounds)
{
	static struct ac_addresses addresses;
	static long took[64];
	struct timespec from;

	addresses.count = 3;
	for (unsigned i = 0; i < 3; i++) {
		addresses.address[i] = (struct ac_address){ .family = AF_INET,
			.prefix = 32,
			.port = 443,
			.bytes = { 192, 0, 2, (unsigned char)(i + 1) } };
	}
	for (unsigned i = 0; i < sessions; i++)
		if (done(ac_firewall_add(70000 + i, &addresses, &err)))
			return 1;
	for (unsigned i = 0; i < rounds && i < AC_COUNT(took); i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		if (done(ac_firewall_add(71900 + i, &addresses, &err)))
			return 1;
		took[i] = passed_us(&from);
	}
	for (unsigned i = 0; i < rounds && i < AC_COUNT(took); i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		if (done(ac_firewall_remove(71900 + i, NULL, &err)))
			return 1;
		printf("%ld %ld\n", took[i], passed_us(&from));
	}
	return 0;
}

/* packets <count>: nanoseconds of processor time (others run, too) for one datagram out and in over
 * loopback, as whoever runs it. */
static int packets(int count)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	ac_autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct timespec from, to;
	char byte = 'x';

	if (count < 1 || fd < 0 || bind(fd, (struct sockaddr *)&at, length) ||
		getsockname(fd, (struct sockaddr *)&at, &length) ||
		connect(fd, (struct sockaddr *)&at, length))
		return 1;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < count; i++)
		if (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			return 1;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return printf("%lld\n",
		       ((to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec) /
			       count) < 0;
}

/* connects <count>: the same for one TCP connection over loopback, opened, accepted and reset. */
static int connects(int count)
{
	const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	ac_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timespec from, to;

	if (count < 1 || fd < 0 || bind(fd, (struct sockaddr *)&at, length) || listen(fd, 8) ||
		getsockname(fd, (struct sockaddr *)&at, &length))
		return 1;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < count; i++) {
		ac_autoclose int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ac_autoclose int in = -1;

		if (out < 0 || connect(out, (struct sockaddr *)&at, length))
			return 1;
		in = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (in < 0 || setsockopt(out, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
			return 1;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return printf("%lld\n",
		       ((to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec) /
			       count) < 0;
}

static int account(int argc, char **argv)
{
	uid_t uid;

	if (!strcmp(argv[0], "lease") && argc == 4) {
		if (done(ac_account_lease(argv[1], number(argv[2]), number(argv[3]), &uid, &err)))
			return 1;
		return printf("%u\n", uid) < 0;
	}
	if (!strcmp(argv[0], "release") && argc == 3)
		return done(ac_account_release(argv[1], number(argv[2]), &err));
	if (!strcmp(argv[0], "processes") && argc == 2)
		return printf("%d\n", ac_account_processes(number(argv[1]))) < 0;
	if (!strcmp(argv[0], "own-processes") && argc == 2)
		return printf("%d\n", ac_account_own_processes(number(argv[1]))) < 0;
	if (!strcmp(argv[0], "publish") && argc == 3)
		return done(ac_account_publish(argv[1], number(argv[2]), number(argv[2]), &err));
	if (!strcmp(argv[0], "withdraw") && argc == 3)
		return done(ac_account_withdraw(argv[1], number(argv[2]), number(argv[2]), &err));
	if (!strcmp(argv[0], "remove-ipc") && argc == 2)
		return done(ac_account_remove_ipc(number(argv[1]), &err));
	return 2;
}

static int cgroup(int argc, char **argv)
{
	const struct ac_limits limits = { .processes = 500, .memory_bytes = 1 << 30 };
	ac_autoclose int fd = -1;
	char path[AC_PATH_MAX];
	bool limited;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[0], "make")) {
		fd = ac_cgroup_make(argv[1], &limits, &limited, &err);
		return fd < 0 ? done(fd) : printf("limited %d\n", limited) < 0;
	}
	if (!strcmp(argv[0], "remove"))
		return done(ac_cgroup_remove(argv[1], &err));
	if (!strcmp(argv[0], "path")) {
		if (done(ac_cgroup_path(argv[1], path, &err)))
			return 1;
		return puts(path) < 0;
	}
	fd = ac_cgroup_open(argv[1], &err);
	if (fd < 0)
		return done(fd);
	if (!strcmp(argv[0], "enter") && argc == 3)
		return done(ac_cgroup_enter(fd, (pid_t)number(argv[2]), &err));
	if (!strcmp(argv[0], "has") && argc == 3)
		return printf("%d\n", ac_cgroup_has(fd, (pid_t)number(argv[2]))) < 0;
	if (!strcmp(argv[0], "populated"))
		return printf("%d\n", ac_cgroup_is_populated(fd)) < 0;
	if (!strcmp(argv[0], "freeze"))
		return done(ac_cgroup_freeze(fd, true, &err));
	if (!strcmp(argv[0], "thaw"))
		return done(ac_cgroup_freeze(fd, false, &err));
	if (!strcmp(argv[0], "kill"))
		return done(ac_cgroup_kill(fd, 5000, &err));
	return 2;
}

int main(int argc, char **argv)
{
	int code = 2;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc >= 3 && !strcmp(argv[1], "firewall"))
		code = firewall(argc - 2, argv + 2);
	else if (argc == 4 && !strcmp(argv[1], "bench"))
		code = bench(number(argv[2]), number(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "packets"))
		code = packets((int)number(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "connects"))
		code = connects((int)number(argv[2]));
	else if (argc >= 3 && !strcmp(argv[1], "account"))
		code = account(argc - 2, argv + 2);
	else if (argc >= 3 && !strcmp(argv[1], "cgroup"))
		code = cgroup(argc - 2, argv + 2);
	if (code == 2)
		fputs("usage: cellctl firewall|account|cgroup|bench|packets|connects ...\n",
			stderr);
	return code;
}

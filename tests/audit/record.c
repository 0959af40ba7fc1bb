/* SPDX-License-Identifier: ISC */
/*
 * Writes the kernel's audit stream as lines of audit.log: "# recording" first, then what comes, until
 * SIGTERM and what had come by then.
 */
#include <linux/audit.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static volatile sig_atomic_t stopping;

static void stop(int number)
{
	(void)number;
	stopping = 1;
}

int main(void)
{
	static char buffer[16384];
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct timeval step = { .tv_usec = 100000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT), size = 64 << 20;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step))) {
		perror("record");
		return 1;
	}
	(void)signal(SIGTERM, stop);
	(void)puts("# recording");
	(void)fflush(stdout);
	for (;;) {
		ssize_t length = recv(fd, buffer, sizeof(buffer) - 1, 0);
		struct nlmsghdr header;

		if (length < 0 && stopping)
			break;
		if (length < (ssize_t)sizeof(header))
			continue;
		buffer[length] = 0;
		memcpy(&header, buffer, sizeof(header));
		(void)printf("type=%u msg=%s\n", header.nlmsg_type, buffer + NLMSG_HDRLEN);
	}
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * Writes the kernel's audit stream as lines of audit.log, for <seconds>.
 */
#include <linux/audit.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

int main(int argc, char **argv)
{
	static char buffer[16384];
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct timeval step = { .tv_usec = 100000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT), size = 64 << 20;
	time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step))) {
		perror("record");
		return 1;
	}
	while (time(NULL) < end) {
		ssize_t length = recv(fd, buffer, sizeof(buffer) - 1, 0);
		struct nlmsghdr header;

		if (length < (ssize_t)sizeof(header))
			continue;
		buffer[length] = 0;
		memcpy(&header, buffer, sizeof(header));
		(void)printf("type=%u msg=%s\n", header.nlmsg_type, buffer + NLMSG_HDRLEN);
	}
	return 0;
}

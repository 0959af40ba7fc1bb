/* SPDX-License-Identifier: ISC */
/*
 * Telling who started us that we watch: a newline on a descriptor (as s6 has it), and sd_notify(3)'s
 * datagram, which is so small a protocol that no library is needed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "guardian.h"
#include "util.h"

/* An address that begins with '@' is an abstract one. */
static void tell_systemd(const char *address)
{
	static const char text[] = "READY=1";
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	ac_autoclose int fd = -1;
	size_t length = strlen(address);

	if ((address[0] != '/' && address[0] != '@') || length >= sizeof(name.sun_path)) {
		syslog(LOG_WARNING,
			"NOTIFY_SOCKET is no address: nobody is told that we are ready");
		return;
	}
	memcpy(name.sun_path, address, length);
	if (address[0] == '@')
		name.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
		sendto(fd, text, sizeof(text) - 1, MSG_NOSIGNAL, (const struct sockaddr *)&name,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		syslog(LOG_WARNING, "tell systemd that we are ready: %m");
}

void ac_ready_tell(int ready_fd)
{
	const char *address = getenv("NOTIFY_SOCKET");

	if (address)
		tell_systemd(address);
	if (ready_fd >= 0) {
		(void)!write(ready_fd, "\n", 1);
		close(ready_fd);
	}
}

/* SPDX-License-Identifier: ISC */
/*
 * Sending and receiving of fixed-size messages over a SOCK_SEQPACKET socket.
 *
 * What arrives is hostile until ac_wire_check says otherwise; descriptors that come with a message
 * are owned here until it has been checked, and closed if it fails.
 */
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "clock.h"
#include "journal.h"
#include "util.h"

#define SEND_TIMEOUT_MS 5000
#define SEND_TIMEOUT_NONBLOCK_MS 50 /* a server must not wait for a client that does not read */

union control {
	char bytes[CMSG_SPACE(sizeof(int) * AC_WIRE_FDS_MAX) + CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr align;
};

void ac_wire_make(struct ac_wire *message, enum ac_wire_type type, const char *session_id,
	int32_t value, const char *text)
{
	memset(message, 0, sizeof(*message));
	message->magic = AC_WIRE_MAGIC;
	message->version = AC_WIRE_VERSION;
	message->type = (uint16_t)type;
	message->value = value;
	if (session_id)
		strncpy(message->session_id, session_id, sizeof(message->session_id) - 1);
	if (text)
		strncpy(message->text, text, sizeof(message->text) - 1);
}

bool ac_wire_check(const struct ac_wire *message, size_t length)
{
	if (length != sizeof(*message) || message->magic != AC_WIRE_MAGIC ||
		message->version != AC_WIRE_VERSION)
		return false;
	if (message->type == 0 || message->type >= AC_WIRE_TYPE_COUNT)
		return false;
	if (!memchr(message->text, '\0', sizeof(message->text)) ||
		!memchr(message->session_id, '\0', sizeof(message->session_id)))
		return false;
	return message->session_id[0] == '\0' || ac_session_id_is_valid(message->session_id);
}

int ac_wire_connect(struct ac_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = AC_SOCKET };
	ac_autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return ac_fail_errno(err, errno, "make a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return ac_fail_errno(err, errno,
			"connect to the listener at %s (is the service agentcelld running?)",
			AC_SOCKET);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return ac_fail_errno(err, errno, "ask who listens at %s", AC_SOCKET);
	if (peer.uid != 0)
		return ac_fail(err, EPERM, "who listens at %s has uid %u, not root's", AC_SOCKET,
			peer.uid);
	return ac_take_fd(&fd);
}

/* 0 when ready, -ETIMEDOUT, or -errno; timeout_ms < 0 waits for ever. */
static int wait_for(int fd, short events, int timeout_ms)
{
	int64_t end = ac_clock_ms(CLOCK_MONOTONIC) + timeout_ms;

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = events };
		int64_t left = timeout_ms < 0 ? -1 : end - ac_clock_ms(CLOCK_MONOTONIC);
		int n = poll(&poll_fd, 1, timeout_ms >= 0 && left < 0 ? 0 : (int)left);

		if (n > 0)
			return poll_fd.revents & POLLNVAL ? -EBADF : 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int ac_wire_send(int fd, const struct ac_wire *message, const int *fds, unsigned fd_count,
	struct ac_err *err)
{
	union control control = { 0 };
	struct iovec iov = { .iov_len = sizeof(*message) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct ac_wire copy = *message; /* iov_base wants it writable */
	ssize_t n;

	if (fd_count > AC_WIRE_FDS_MAX)
		return ac_fail(err, EINVAL, "send %u descriptors; at most %d fit", fd_count,
			AC_WIRE_FDS_MAX);
	iov.iov_base = &copy;
	if (fd_count) {
		struct cmsghdr *cmsg;

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	for (;;) {
		int rc;

		n = sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		rc = wait_for(fd, POLLOUT,
			fcntl(fd, F_GETFL) & O_NONBLOCK ? SEND_TIMEOUT_NONBLOCK_MS
							: SEND_TIMEOUT_MS);
		if (rc < 0)
			return ac_fail_errno(err, -rc, "wait to send message %u", message->type);
	}
	if (n < 0)
		return ac_fail_errno(
			err, errno == EPIPE ? ECONNRESET : errno, "send message %u", message->type);
	return 0;
}

struct received {
	int fds[AC_WIRE_FDS_MAX];
	unsigned fd_count;
	pid_t pid; /* 0: the kernel said nothing */
	bool surplus;
};

static void take_fds(struct received *received, const struct cmsghdr *cmsg)
{
	unsigned count = (unsigned)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	unsigned i;

	for (i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (received->fd_count < AC_WIRE_FDS_MAX) {
			received->fds[received->fd_count++] = fd;
		} else {
			close(fd);
			received->surplus = true;
		}
	}
}

static void take_control(struct received *received, struct msghdr *header)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_RIGHTS) {
			take_fds(received, cmsg);
		} else if (cmsg->cmsg_type == SCM_CREDENTIALS &&
			   cmsg->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
			struct ucred credentials;

			memcpy(&credentials, CMSG_DATA(cmsg), sizeof(credentials));
			received->pid = credentials.pid;
		}
	}
	if (header->msg_flags & (MSG_CTRUNC | MSG_TRUNC))
		received->surplus = true;
}

static int refuse(struct received *received, int code, struct ac_err *err, const char *why)
{
	while (received->fd_count)
		close(received->fds[--received->fd_count]);
	return ac_fail(err, code, "receive a message: %s", why);
}

int ac_wire_receive(int fd, struct ac_wire *message, int fds[AC_WIRE_FDS_MAX], unsigned *fd_count,
	pid_t *pid, int timeout_ms, struct ac_err *err)
{
	struct ac_wire buffer = { 0 };
	union control control = { 0 };
	struct iovec iov = { .iov_base = &buffer, .iov_len = sizeof(buffer) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct received received = { .fd_count = 0 };
	int64_t end = ac_clock_ms(CLOCK_MONOTONIC) + timeout_ms;
	ssize_t n;

	do {
		int64_t left = end - ac_clock_ms(CLOCK_MONOTONIC);
		int rc = wait_for(fd, POLLIN, timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0);

		if (rc < 0)
			return ac_fail_errno(err, -rc, "wait for a message");
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return ac_fail_errno(err, errno, "receive a message");
	take_control(&received, &header);
	if (n == 0)
		return refuse(
			&received, ECONNRESET, err, "the other side has closed the connection");
	if (received.surplus || !ac_wire_check(&buffer, (size_t)n))
		return refuse(&received, EBADMSG, err, "it is malformed");
	if (received.fd_count && (!fds || !fd_count))
		return refuse(
			&received, EBADMSG, err, "it carries descriptors that nobody expects");
	if (pid && received.pid <= 0)
		return refuse(&received, EBADMSG, err, "the kernel does not say who sent it");
	*message = buffer;
	if (fds)
		memcpy(fds, received.fds, sizeof(received.fds));
	if (fd_count)
		*fd_count = received.fd_count;
	if (pid)
		*pid = received.pid;
	return 0;
}

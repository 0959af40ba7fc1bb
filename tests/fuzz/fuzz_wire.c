/* SPDX-License-Identifier: ISC */
/*
 * What arrives over a socket, hostile: bytes of a message, descriptors in number and kind.  Whatever
 * comes, no descriptor may be left over, and what is accepted has its NULs and a valid id.  The
 * texts that root reads back from disk (a journal line, a session policy) go the same way.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "journal.h"
#include "policy.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

/* The lowest free descriptor: it must be the same before and after. */
static int lowest_fd(void)
{
	int fd = dup(0);

	need(fd >= 0, "dup");
	close(fd);
	return fd;
}

static void send_raw(int fd, const uint8_t *data, size_t size, unsigned fd_count)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} control = { 0 };
	char copy[sizeof(struct ac_wire) + 64] = { 0 };
	struct iovec iov = { copy, size < sizeof(copy) ? size : sizeof(copy) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(copy, data, iov.iov_len);
	if (fd_count) {
		struct cmsghdr *cmsg;
		unsigned i;

		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		for (i = 0; i < fd_count; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(fd));
	}
	sendmsg(fd, &header, MSG_DONTWAIT);
}

static void try_message(const uint8_t *data, size_t size)
{
	struct ac_wire message;
	int ends[2], fds[AC_WIRE_FDS_MAX], before = lowest_fd();
	unsigned fd_count = 0, i;

	need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
	send_raw(ends[0], data + 1, size - 1, data[0] & 7);
	if (ac_wire_receive(ends[1], &message, fds, &fd_count, NULL, 0, NULL) == 0) {
		need(strnlen(message.text, AC_WIRE_TEXT_MAX) < AC_WIRE_TEXT_MAX, "text");
		need(!message.session_id[0] || ac_session_id_is_valid(message.session_id), "id");
		need(fd_count <= AC_WIRE_FDS_MAX && fd_count == (data[0] & 7u), "fd count");
		for (i = 0; i < fd_count; i++)
			close(fds[i]);
	}
	close(ends[0]);
	close(ends[1]);
	need(lowest_fd() == before, "a descriptor is left over");
}

static void try_texts(const char *text, size_t size)
{
	static struct ac_session_policy session;
	struct ac_journal_record record;
	char line[256];

	if (ac_journal_parse(text, size, &record) == 0) {
		int length = ac_journal_format(line, sizeof(line), &record);

		need(length == (int)size && memcmp(line, text, size) == 0, "journal round trip");
	}
	ac_policy_parse(text, size, &session, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	try_message(data, size);
	try_texts((const char *)data, size);
	return 0;
}

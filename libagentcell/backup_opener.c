/* SPDX-License-Identifier: ISC */
/* The opener's beginning and end, and the side that asks. */
#include "backup_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backup_child.h"
#include "util.h"

#define OPENER_FD 3
#define NOBODY 65534 /* what an id is shown as that a mount does not map: it would be anybody's */

/* A socket message has the first bytes, the others, and at most one descriptor. */
int ac_opener_send(int fd, const void *head, size_t head_length, const void *rest,
	size_t rest_length, int passed_fd)
{
	/* sendmsg(2) only reads.  NOLINTBEGIN(performance-no-int-to-ptr) */
	struct iovec parts[2] = { { (void *)(uintptr_t)head, head_length },
		{ (void *)(uintptr_t)rest, rest_length } };
	/* NOLINTEND(performance-no-int-to-ptr) */
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = rest_length ? 2 : 1 };

	if (passed_fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof control;
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &passed_fd, sizeof(int));
	}
	for (;;) {
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

		if (sent >= 0)
			return (size_t)sent == head_length + rest_length ? 0 : -EMSGSIZE;
		if (errno != EINTR)
			return -errno;
	}
}

ssize_t ac_opener_receive(
	int fd, void *head, size_t head_length, void *rest, size_t rest_length, int *passed_fd)
{
	struct iovec parts[2] = { { head, head_length }, { rest, rest_length } };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr message = { .msg_iov = parts,
		.msg_iovlen = rest_length ? 2 : 1,
		.msg_control = control,
		.msg_controllen = sizeof control };
	ssize_t length;

	*passed_fd = -1;
	do
		length = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
		header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(passed_fd, CMSG_DATA(header), sizeof(int));
	if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return length;
	if (*passed_fd >= 0)
		close(ac_take_fd(passed_fd));
	return -EBADMSG;
}

/* The one capability permitted, none effective, none to be inherited or gained. */
static int keep_one_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .permitted = 1u << CAP_DAC_READ_SEARCH } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
		syscall(SYS_capset, &header, data) < 0 || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static void empty_bounding_set(void)
{
	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* nothing is ever run here anyway */
}

_Noreturn static void be_the_opener(int fd, const struct ac_identity *who, pid_t parent)
{
	if (dup3(fd, OPENER_FD, O_CLOEXEC) < 0 && errno != EINVAL)
		_exit(1);
	if (close_range(OPENER_FD + 1, ~0u, 0) < 0)
		_exit(1);
	empty_bounding_set();
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || ac_backup_drop(who) ||
		keep_one_capability() || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		getppid() != parent)
		_exit(1);
	ac_opener_serve(OPENER_FD, who->uid);
	_exit(0);
}

int ac_opener_start(struct ac_opener *opener, const struct ac_identity *who)
{
	int ends[2];
	pid_t parent = getpid();

	*opener = (struct ac_opener){ .fd = -1, .pid = -1, .is_gone = true };
	pthread_mutex_init(&opener->lock, NULL);
	if (!who->uid || who->uid == NOBODY)
		return 0; /* root needs none */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	/* Without the handlers of fork(): in this process, which has other descriptors than the one
	 * that it was forked from, they would close what is not theirs. */
	opener->pid = _Fork();
	if (!opener->pid)
		be_the_opener(ends[1], who, parent);
	int result = opener->pid < 0 ? -errno : 0;

	close(ends[1]);
	if (result) {
		close(ends[0]);
		return result;
	}
	opener->fd = ends[0];
	opener->is_gone = false;
	return 0;
}

void ac_opener_stop(struct ac_opener *opener)
{
	if (opener->fd >= 0)
		close(ac_take_fd(&opener->fd));
	if (opener->pid > 0) {
		kill(opener->pid, SIGKILL); /* it may hang in a file system of the user's */
		while (waitpid(opener->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	opener->pid = -1;
	opener->is_gone = true;
	pthread_mutex_destroy(&opener->lock);
}

bool ac_opener_is_there(struct ac_opener *opener)
{
	if (!opener)
		return false;
	pthread_mutex_lock(&opener->lock);
	bool is_there = !opener->is_gone;

	pthread_mutex_unlock(&opener->lock);
	return is_there;
}

struct question {
	struct ac_opener_request request;
	int about_fd;
	void *value;
	size_t room;
};

/* Under the lock.  The length of the reply with its head, or -errno. */
static ssize_t exchange(struct ac_opener *opener, const struct question *question,
	struct ac_opener_reply *reply, int *passed_fd)
{
	int result = ac_opener_send(opener->fd, &question->request, sizeof question->request, NULL,
		0, question->about_fd);

	return result ? result
		      : ac_opener_receive(opener->fd, reply, sizeof *reply, question->value,
				question->room, passed_fd);
}

/* A descriptor, or a length, or -errno. */
static ssize_t ask(struct ac_opener *opener, const struct question *question)
{
	struct ac_opener_reply reply = { .result = -EPIPE };
	const bool wants_fd = question->request.kind != AC_OPENER_ATTRIBUTE;
	ssize_t length = -EPIPE;
	int fd = -1;

	if (!opener)
		return -EPIPE;
	pthread_mutex_lock(&opener->lock);
	if (!opener->is_gone) {
		length = exchange(opener, question, &reply, &fd);
		opener->is_gone = length < (ssize_t)sizeof reply;
	}
	pthread_mutex_unlock(&opener->lock);
	if (length < (ssize_t)sizeof reply)
		return -EPIPE;
	if (reply.result < 0 || !wants_fd) {
		if (fd >= 0)
			close(fd);
		return reply.result < 0 ? reply.result : length - (ssize_t)sizeof reply;
	}
	return fd < 0 ? -EPIPE : fd;
}

int ac_opener_look(struct ac_opener *opener, int directory_fd, const char *name)
{
	struct question question = { .request.kind = AC_OPENER_LOOK, .about_fd = directory_fd };
	int handle = openat(directory_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (handle >= 0 || errno != EACCES)
		return handle < 0 ? -errno : handle;
	if (strlen(name) >= sizeof question.request.name)
		return -ENAMETOOLONG;
	memcpy(question.request.name, name, strlen(name) + 1);
	return (int)ask(opener, &question);
}

int ac_opener_read(struct ac_opener *opener, int handle)
{
	const struct question question = { .request.kind = AC_OPENER_READ, .about_fd = handle };

	return (int)ask(opener, &question);
}

ssize_t ac_opener_attribute(
	struct ac_opener *opener, int fd, const char *name, void *value, size_t room)
{
	struct question question = {
		.request.kind = AC_OPENER_ATTRIBUTE, .about_fd = fd, .value = value, .room = room
	};

	if (strlen(name) >= sizeof question.request.name)
		return -ERANGE;
	memcpy(question.request.name, name, strlen(name) + 1);
	return ask(opener, &question);
}

/* SPDX-License-Identifier: ISC */
/*
 * Requests to the kernel's audit subsystem, through libaudit.
 */
#include "kernel.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "util.h"

#define BUFFER_BYTES (64 << 20)
#define BUFFER_LEAST (8 << 20)
#define BACKLOG 65536u /* a processor makes up to 1000 records a millisecond: see pace.c */
#define BACKLOG_LEAST 8192u
#define RECORD_BYTES 2304 /* of kernel memory: a sk_buff, and AUDIT_BUFSIZ with its trailer */
#define MEMORY_SHARE 16 /* a full queue takes no more than this part of the machine's */
#define REPLY_MS 2000

int ac_kernel_open(struct ac_kernel *kernel, struct ac_err *err)
{
	*kernel = (struct ac_kernel){ .fd = audit_open(), .was_enabled = true };
	if (kernel->fd < 0)
		return ac_fail_errno(err, errno,
			"open the kernel's audit interface (is the kernel built with "
			"CONFIG_AUDIT?)");
	return 0;
}

void ac_kernel_close(struct ac_kernel *kernel)
{
	if (kernel->fd >= 0)
		audit_close(kernel->fd);
	kernel->fd = -1;
}

/* Waits for the reply of that type to the request just sent. */
static int wait_reply(int fd, int type, struct audit_reply *reply)
{
	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int rc = poll(&poll_fd, 1, REPLY_MS);

		if (rc == 0)
			return -ETIMEDOUT;
		if (rc < 0 && errno != EINTR)
			return -errno;
		rc = audit_get_reply(fd, reply, GET_REPLY_NONBLOCKING, 0);
		if (rc < 0 && rc != -EAGAIN && rc != -EINTR)
			return rc;
		if (rc > 0 && reply->type == NLMSG_ERROR && reply->error && reply->error->error)
			return reply->error->error;
		if (rc > 0 && reply->type == type)
			return 0;
	}
}

int ac_kernel_status(struct ac_kernel *kernel, struct audit_status *status, struct ac_err *err)
{
	struct audit_reply reply = { .status = NULL };
	int rc = audit_request_status(kernel->fd);

	if (rc > 0)
		rc = wait_reply(kernel->fd, AUDIT_GET, &reply);
	if (rc >= 0 && !reply.status)
		rc = -EPROTO;
	if (rc < 0)
		return ac_fail_errno(err, -rc, "ask the kernel for the state of auditing");
	*status = *reply.status;
	return 0;
}

static int check_set(int rc, const char *what, struct ac_err *err)
{
	if (rc > 0)
		return 0;
	return ac_fail_errno(err, rc ? -rc : EIO, "%s", what);
}

static int enable(struct ac_kernel *kernel, bool may_enable, struct ac_err *err)
{
	int rc;

	if (!may_enable)
		return ac_fail(err, EPERM,
			"kernel auditing is off and [audit] enable_audit = no: nothing could be "
			"watched; switch it on (auditctl -e 1) or allow it");
	rc = check_set(audit_set_enabled(kernel->fd, 1), "switch kernel auditing on", err);
	if (!rc)
		kernel->was_enabled = false;
	return rc;
}

/* Below it, Landlock's records are dropped under load. */
static uint32_t wanted_backlog(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	long room = pages > 0 && page > 0 ? pages / MEMORY_SHARE * page / RECORD_BYTES : 0;

	if (room >= (long)BACKLOG)
		return BACKLOG;
	return room > (long)BACKLOG_LEAST ? (uint32_t)room : BACKLOG_LEAST;
}

int ac_kernel_prepare(struct ac_kernel *kernel, bool may_enable, struct ac_err *err)
{
	struct audit_status status = { 0 };
	const uint32_t backlog = wanted_backlog();
	int rc = ac_kernel_status(kernel, &status, err);

	if (rc)
		return rc;
	if (status.rate_limit)
		return ac_fail(err, EINVAL,
			"the kernel drops audit records above %u a second: remove '-r %u' from the "
			"audit rules (auditctl -r 0)",
			status.rate_limit, status.rate_limit);
	if (!status.enabled) {
		rc = enable(kernel, may_enable, err);
		if (rc)
			return rc;
	}
	/* Immutable (-e 2): the backlog stays what the site chose. */
	if (status.enabled != 2 && status.backlog_limit < backlog && status.backlog_limit) {
		rc = check_set(audit_set_backlog_limit(kernel->fd, backlog),
			"raise the audit backlog limit", err);
		if (!rc)
			kernel->old_backlog = status.backlog_limit;
	}
	return rc;
}

void ac_kernel_restore(struct ac_kernel *kernel)
{
	struct audit_status status = { 0 };

	if (kernel->fd < 0)
		return;
	if (kernel->old_backlog && !ac_kernel_status(kernel, &status, NULL) &&
		status.backlog_limit == wanted_backlog())
		(void)audit_set_backlog_limit(kernel->fd, kernel->old_backlog);
	if (!kernel->was_enabled)
		(void)audit_set_enabled(kernel->fd, 0);
	kernel->old_backlog = 0;
	kernel->was_enabled = true;
}

const char *ac_kernel_wrong(const struct audit_status *status, uint32_t lost_before)
{
	if (!status->enabled)
		return "kernel auditing was switched off";
	if (status->rate_limit)
		return "a rate limit for audit records was set";
	if (status->lost > lost_before) /* a reset counts from 0 again */
		return "the kernel lost audit records";
	return NULL;
}

static int check_namespace(struct ac_err *err)
{
	struct stat mine, first;

	/* Process 1 is in the first one, except in a container, where auditing does not work. */
	if (stat("/proc/1/ns/net", &first) && (errno == EACCES || errno == EPERM))
		return 0; /* it hides from root: each session's canary finds a wrong namespace too */
	if (stat("/proc/self/ns/net", &mine) || stat("/proc/1/ns/net", &first))
		return ac_fail_errno(err, errno, "look at the network namespace");
	if (mine.st_ino != first.st_ino)
		return ac_fail(err, ENOTSUP,
			"this is not the first network namespace: the kernel sends no audit "
			"records "
			"here");
	return 0;
}

static int enlarge(int fd, struct ac_err *err)
{
	socklen_t length = sizeof(int);
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) &&
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		return ac_fail_errno(err, errno, "enlarge the receive buffer");
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length))
		return ac_fail_errno(err, errno, "read the size of the receive buffer");
	if (size < BUFFER_LEAST)
		return ac_fail(err, ENOBUFS,
			"the receive buffer is only %d bytes: give agentcelld CAP_NET_ADMIN", size);
	return 0;
}

int ac_kernel_subscribe(struct ac_err *err)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	ac_autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	int rc = check_namespace(err);

	if (rc)
		return rc;
	if (fd < 0)
		return ac_fail_errno(err, errno, "open an audit socket");
	rc = enlarge(fd, err);
	if (rc)
		return rc;
	_Static_assert(AUDIT_NLGRP_READLOG == 1, "groups is a bit mask of group numbers");
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return ac_fail_errno(err, errno,
			"read the kernel's audit stream (needs CAP_AUDIT_READ and Linux 3.16)");
	return ac_take_fd(&fd);
}

/* Whoever gets hold of the socket can take it out of its group or put a filter before it. */
bool ac_kernel_subscribed(int fd)
{
	uint32_t groups[4] = { 0 };
	socklen_t length = sizeof(groups), filter = 0;

	return !getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, groups, &length) &&
	       groups[0] & 1u << (AUDIT_NLGRP_READLOG - 1) &&
	       !getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &filter) && !filter;
}

int ac_kernel_send_mark(struct ac_kernel *kernel, uint64_t mark, struct ac_err *err)
{
	char text[64];
	int rc;

	(void)snprintf(text, sizeof(text), "op=agentcell-mark=%016llx", (unsigned long long)mark);
	rc = audit_log_user_message(kernel->fd, AC_RECORD_TRUSTED_APP, text, NULL, NULL, NULL, 1);
	return check_set(rc, "send a record to the kernel", err);
}

/* SPDX-License-Identifier: ISC */
/*
 * The kernel's audit subsystem: its stream, its state, its settings.
 *
 * Works beside auditd and without it: the stream is the multicast group (any number of readers), and
 * the audit pid is never taken.  What is changed here is put back by ac_kernel_restore().
 */
#ifndef AC_KERNEL_H
#define AC_KERNEL_H

#include <libaudit.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct ac_kernel {
	int fd; /* control socket */
	bool was_enabled;
	uint32_t old_backlog; /* 0: not changed */
};

/* Opens the control socket.  Needs CAP_AUDIT_CONTROL. */
int ac_kernel_open(struct ac_kernel *kernel, struct ac_err *err);
void ac_kernel_close(struct ac_kernel *kernel);

int ac_kernel_status(struct ac_kernel *kernel, struct audit_status *status, struct ac_err *err);

/*
 * Makes auditing fit to watch with: enabled (if it is off: only when may_enable), no rate limit, a
 * backlog that does not drop Landlock records.  Refuses with what the admin can do.
 */
int ac_kernel_prepare(struct ac_kernel *kernel, bool may_enable, struct ac_err *err);
void ac_kernel_restore(struct ac_kernel *kernel);

/* Is the state still fit?  NULL, or what is wrong; lost: records lost since *lost was read. */
const char *ac_kernel_wrong(const struct audit_status *status, uint32_t lost_before);

/* The multicast stream: a socket with a 64 MiB buffer.  Needs CAP_AUDIT_READ, and CAP_NET_ADMIN for
 * the buffer.  In another network namespace than the first nothing would ever arrive: refused. */
int ac_kernel_subscribe(struct ac_err *err);
/* Does the stream still come to it, whole?  Asks, and leaves no trace. */
bool ac_kernel_subscribed(int fd);

/* Sends a user-space record with the mark; it comes back on the stream, behind all that came before. */
int ac_kernel_send_mark(struct ac_kernel *kernel, uint64_t mark, struct ac_err *err);

#endif

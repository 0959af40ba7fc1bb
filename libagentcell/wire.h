/* SPDX-License-Identifier: ISC */
/*
 * Messages between sudo's process, the launcher and the listener: fixed size, one per datagram of
 * a SOCK_SEQPACKET socket.  Anything of another size, magic, version, type or without its NUL is
 * refused (ac_wire_check) and ends the connection.
 *
 *   sudo -> listener  HELLO                       is the listener there and able? (text: version)
 *   listener -> sudo  WELCOME | REFUSED(text)
 *   sudo -> listener  EXPECT                      REGISTER will follow soon; no answer
 *   sudo -> listener  REGISTER (+2 fds: pidfd of sudo, listener's end of the launcher's socket pair)
 *                     the listener reads policy.json itself, runs the canary, takes the pidfd
 *   listener -> sudo  REGISTERED | REFUSED(text)
 *   sudo -> listener  ARM                         the journal lock is free: yours from now on
 *   listener -> sudo  ARMED | REFUSED(text)       the listener holds the lock and drives
 *   launcher -> listener  READY (value: pid; kernel-checked by SCM_CREDENTIALS)
 *   listener -> launcher  GO                      sent after state 'running' is journalled
 *   sudo -> listener  EXITED (value: wait status) the command ended, or was never started (-1)
 *   listener -> sudo  ENDED (value: enum ac_cause; text: the report for the person)
 *   listener -> sudo  NOTICE (text)               to be shown at the end
 *   anyone -> listener  LIST; listener -> LISTED* (text: one JSON object; value 1: more follow)
 *                     root sees all sessions, a user her own
 *   root or the user -> listener  KILL (session_id); listener -> ENDED | REFUSED
 *
 * The connection that registered a session belongs to it: its loss, either way, ends the session.
 */
#ifndef AC_WIRE_H
#define AC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "names.h"

#define AC_WIRE_MAGIC 0x41434331u /* "ACC1" */
#define AC_WIRE_VERSION 1
#define AC_WIRE_TEXT_MAX 4000
#define AC_WIRE_FDS_MAX 2

enum ac_wire_type {
	AC_WIRE_HELLO = 1,
	AC_WIRE_WELCOME,
	AC_WIRE_REFUSED,
	AC_WIRE_REGISTER,
	AC_WIRE_REGISTERED,
	AC_WIRE_ARM,
	AC_WIRE_ARMED,
	AC_WIRE_READY,
	AC_WIRE_GO,
	AC_WIRE_EXITED,
	AC_WIRE_ENDED,
	AC_WIRE_NOTICE,
	AC_WIRE_LIST,
	AC_WIRE_LISTED,
	AC_WIRE_KILL,
	AC_WIRE_EXPECT,
	AC_WIRE_TYPE_COUNT
};

struct ac_wire {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	int32_t value;
	char session_id[AC_SESSION_ID_SIZE + 3]; /* "" where none */
	char text[AC_WIRE_TEXT_MAX]; /* NUL-terminated */
};

/* Pure. */
void ac_wire_make(struct ac_wire *message, enum ac_wire_type type, const char *session_id,
	int32_t value, const char *text);
bool ac_wire_check(const struct ac_wire *message, size_t length);

/* Connects to AC_SOCKET and checks by SO_PEERCRED that the peer is root.  Returns the fd. */
int ac_wire_connect(struct ac_err *err);

/* Sends with fds (SCM_RIGHTS) / receives with a time limit.  When the other side does not read, send
 * gives up (-ETIMEDOUT) after 5 s, on an O_NONBLOCK socket after 50 ms.  recv returns -ETIMEDOUT,
 * -ECONNRESET for an orderly end, -EBADMSG for a message that does not check.
 * Received fds are O_CLOEXEC and the caller's; surplus ones are closed and refused.
 * pid (may be NULL) is the sender's as the kernel says (SO_PASSCRED must be set for it). */
int ac_wire_send(int fd, const struct ac_wire *message, const int *fds, unsigned fd_count,
	struct ac_err *err);
int ac_wire_receive(int fd, struct ac_wire *message, int fds[AC_WIRE_FDS_MAX], unsigned *fd_count,
	pid_t *pid, int timeout_ms, struct ac_err *err);

#endif

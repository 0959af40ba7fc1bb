/* SPDX-License-Identifier: ISC */
/*
 * /var/log/agentcell/agentcell.jsonl: one JSON object per line, and the same facts as standard
 * audit user-space records, so that ausearch, aureport and a SIEM see them without new parsers.
 *
 * Every line has: time (RFC 3339, UTC, ms), event, session_id, status, cause; the last two from
 * the fields of that name, else what the event implies.  Every string value is escaped (escape.h)
 * here: callers pass raw bytes.  No environment value is ever written.
 */
#ifndef AC_LOG_H
#define AC_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "policy.h"

enum ac_log_event {
	AC_LOG_START, /* session planned: plan and policy in words */
	AC_LOG_RUNNING,
	AC_LOG_DENIED, /* one denied access, session goes on */
	AC_LOG_ESCAPE, /* EscapeEvent */
	AC_LOG_KILL, /* the cgroup was killed, how many processes, how long it took */
	AC_LOG_HEARTBEAT,
	AC_LOG_LOST,
	AC_LOG_END, /* cause, status */
	AC_LOG_REFUSED, /* a request that never became a session */
	AC_LOG_RESTORE,
	AC_LOG_CHANGED, /* after the end: what the session left for the host to run or obey */
	AC_LOG_RESOLVED, /* a declared name leads elsewhere now, or is refused to */
	AC_LOG_COUNT
};

struct ac_log_field { /* string field; value NULL: number is used */
	const char *name;
	const char *value;
	int64_t number;
};

const char *ac_log_event_name(unsigned event); /* "start", ... NULL out of range */

/* Opens the log for appending, making its directory and the file where missing; judged on the
 * descriptor.  For doctor and for whoever keeps it open. */
int ac_log_open(const char *log_path, struct ac_err *err);

/* Appends one line: open O_APPEND (0640 root:adm where adm exists), one write, fsync when sync.
 * Tries as the lifecycle says are the caller's.  Blocks on disk. */
int ac_log_write(const char *log_path, enum ac_log_event event, const char *session_id,
	const struct ac_log_field *fields, unsigned count, bool sync, struct ac_err *err);

/* Pure: the line that ac_log_write would write, '\n' included; returns its length or -EMSGSIZE. */
int ac_log_format(char line[], size_t size, uint64_t realtime_ms, enum ac_log_event event,
	const char *session_id, const struct ac_log_field *fields, unsigned count);

/*
 * The audit record for the event (AUDIT_ADD_USER/USER_START at start, ANOM_ACCESS_FS / ANOM_EXEC /
 * ANOM_ROOT_TRANS ... for escapes, RESP_KILL_PROC / RESP_TERM_ACCESS for the kill, USER_END /
 * DEL_USER at the end).  type is one of <libaudit.h>; text is `k=v ...` already encoded.  Returns 0 only
 * when the kernel took it.
 */
int ac_log_audit(int type, const char *text, bool success, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * What is on record of a session: a line of JSON, and the same as a record of the audit system.
 *
 * The file is the record that must exist: it is tried three times, and a session whose events can't
 * be written down ends.  The audit record is for ausearch, aureport and SIEMs.
 */
#include <errno.h>
#include <libaudit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cell.h"
#include "log.h"
#include "util.h"

#define TRIES 3

/* Names that libaudit 3.0 has no constants for everywhere. */
enum {
	ANOM_ACCESS_FS = 2111,
	ANOM_EXEC = 2112,
	ANOM_ROOT_TRANS = 2117,
	ANOM_SESSION = 2121,
	RESP_ANOMALY = 2200,
	RESP_KILL_PROC = 2202,
	RESP_TERM_ACCESS = 2203,
	TRUSTED_APP = 1121,
	USER_START = 1105,
};

static int write_line(struct ac_guardian *guardian, enum ac_log_event event, const char *session_id,
	const struct ac_log_field *fields, unsigned count, struct ac_err *err)
{
	bool sync = event == AC_LOG_ESCAPE || event == AC_LOG_KILL || event == AC_LOG_LOST;
	int rc = -EIO;

	for (unsigned i = 0; i < TRIES && rc; i++) {
		struct timespec pause = { 0, (long)i * 50000000 };

		if (i)
			(void)nanosleep(&pause, NULL);
		rc = ac_log_write(
			guardian->config->log_path, event, session_id, fields, count, sync, err);
	}
	return rc;
}

static int anomaly_type(enum ac_operation operation)
{
	switch (operation) {
	case AC_OPERATION_READ:
	case AC_OPERATION_WRITE:
		return ANOM_ACCESS_FS;
	case AC_OPERATION_EXECUTE:
		return ANOM_EXEC;
	case AC_OPERATION_PRIVILEGE:
		return ANOM_ROOT_TRANS;
	case AC_OPERATION_NETWORK:
	case AC_OPERATION_COUNT:
		break;
	}
	return ANOM_SESSION;
}

/* Whose login a session counts as: the human's; where sudo had none, the session's own. */
static uid_t login_of(const struct ac_cell *cell)
{
	uid_t loginuid = cell->session.policy->plan.loginuid;

	return loginuid == UINT32_MAX ? cell->uid : loginuid;
}

/* The record that SIEMs read; without it the JSON line still stands.  What ends a session is sent in
 * the name of its login; that costs a process and a LOGIN record, so what only counts is not. */
static void send_record(int type, const struct ac_cell *cell, const char *what,
	const struct ac_report *report, bool success)
{
	const struct ac_policy *policy = &cell->session.policy->policy;
	char *path = NULL, *exe = NULL;
	char *text = NULL;

	if (report) {
		path = audit_encode_nv_string("path", report->target, 0);
		exe = audit_encode_nv_string("cell-exe", report->exe, 0);
	}
	if (report && path && exe &&
		asprintf(&text,
			"op=agentcell-%s session=%s acct=\"%s\" uid=%u cell-pid=%d access=%s %s %s",
			what, cell->id, policy->os_user, cell->uid, (int)report->pid,
			ac_operation_name(report->operation), path, exe) < 0)
		text = NULL;
	if (!report && asprintf(&text, "op=agentcell-%s session=%s acct=\"%s\" uid=%u", what,
			       cell->id, policy->os_user, cell->uid) < 0)
		text = NULL;
	if (text && (type == RESP_ANOMALY || type == TRUSTED_APP || type == USER_START ||
			    ac_warden_record(
				    &cell->guardian->warden, login_of(cell), type, text, success)))
		(void)ac_log_audit(type, text, success, NULL);
	free(text);
	free(path);
	free(exe);
}

/* The fields of one judged event. */
#define REPORT_FIELDS(report) \
	{ "operation", ac_operation_name((report)->operation), 0 }, \
		{ "target", (report)->target, 0 }, { "reason", (report)->reason, 0 }, \
		{ "class", ac_class_name((report)->class), 0 }, { "pid", NULL, (report)->pid }, \
		{ "ppid", NULL, (report)->ppid }, { "comm", (report)->comm, 0 }, \
		{ "exe", (report)->exe, 0 }, { "cwd", (report)->cwd, 0 }, \
		{ "uid", NULL, (report)->uid }, { "serial", NULL, (int64_t)(report)->serial }, \
		{ "exit", NULL, (report)->exit }, \
	{ \
		"event_ms", NULL, (int64_t)(report)->time_ms \
	}

int ac_keep_running(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_session_policy *session = cell->session.policy;
	const struct ac_log_field fields[] = {
		{ "user", session->plan.user, 0 },
		{ "uid", NULL, cell->uid },
		{ "harness", session->plan.harness, 0 },
		{ "pid", NULL, cell->launcher_pid },
		{ "backup_id", session->policy.backup_id, 0 },
	};

	send_record(USER_START, cell, "running", NULL, true);
	return write_line(guardian, AC_LOG_RUNNING, cell->id, fields, AC_COUNT(fields), err);
}

int ac_keep_denied(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_report *report, struct ac_err *err)
{
	const struct ac_log_field fields[] = { REPORT_FIELDS(report) };

	send_record(RESP_ANOMALY, cell, "denied", report, false);
	return write_line(guardian, AC_LOG_DENIED, cell->id, fields, AC_COUNT(fields), err);
}

int ac_keep_escape(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_report *report, struct ac_err *err)
{
	const struct ac_policy *policy = &cell->session.policy->policy;
	const struct ac_log_field fields[] = {
		REPORT_FIELDS(report),
		{ "user", cell->session.policy->plan.user, 0 },
		{ "backup_id", policy->backup_id, 0 },
	};
	int rc = write_line(guardian, AC_LOG_ESCAPE, cell->id, fields, AC_COUNT(fields), err);

	send_record(anomaly_type(report->operation), cell, "escape", report, false);
	return rc;
}

int ac_keep_kill(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_log_field fields[] = {
		{ "cause", ac_cause_name(cell->session.life.cause), 0 },
		{ "reason", cell->why, 0 },
		{ "took_ms", NULL, (int64_t)(ac_now_ms() - cell->ended_ms) },
		{ "events", NULL, (int64_t)guardian->watched.events },
		{ "denied", NULL, (int64_t)guardian->watched.denied },
	};

	send_record(RESP_KILL_PROC, cell, "kill", NULL, true);
	send_record(RESP_TERM_ACCESS, cell, "terminate", NULL, true);
	return write_line(guardian, AC_LOG_KILL, cell->id, fields, AC_COUNT(fields), err);
}

int ac_keep_heartbeat(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_watched *watched, struct ac_err *err)
{
	const struct ac_log_field fields[] = {
		{ "events", NULL, (int64_t)watched->events },
		{ "denied", NULL, (int64_t)watched->denied },
		{ "suppressed", NULL, cell->suppressed + (int64_t)watched->dropped },
		{ "lost", NULL, 0 }, /* else there would be no session to say so */
		{ "held", NULL, (int64_t)watched->held },
	};

	send_record(TRUSTED_APP, cell, "heartbeat", NULL, true);
	return write_line(guardian, AC_LOG_HEARTBEAT, cell->id, fields, AC_COUNT(fields), err);
}

/* Audit gets what is a sign of somebody's ill will: a name that was pointed to an inner address. */
int ac_keep_resolved(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_refresh_news *news, struct ac_err *err)
{
	const struct ac_log_field fields[] = {
		{ "added", news->added, 0 },
		{ "left", news->left, 0 },
		{ "closed", news->closed, 0 },
		{ "refused", news->refused, 0 },
		{ "failed", news->failed, 0 },
	};

	if (news->refused[0])
		send_record(RESP_ANOMALY, cell, "rebinding", NULL, false);
	return write_line(guardian, AC_LOG_RESOLVED, cell->id, fields, AC_COUNT(fields), err);
}

int ac_keep_lost(struct ac_guardian *guardian, const char *session_id, const char *reason,
	const char *outcome, struct ac_err *err)
{
	const struct ac_log_field fields[] = {
		{ "reason", reason, 0 },
		{ "outcome", outcome, 0 },
	};

	return write_line(guardian, AC_LOG_LOST, session_id, fields, AC_COUNT(fields), err);
}

/* SPDX-License-Identifier: ISC */
/*
 * The release of a session and its end: where the lifecycle is driven.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "account.h"
#include "cell.h"
#include "cgroup.h"
#include "util.h"
#include "wire.h"

#define SYNC_MS 2000
#define REPORT_MAX AC_WIRE_TEXT_MAX
#ifndef AC_HEARTBEAT_MS /* tests have less time */
#define AC_HEARTBEAT_MS 60000
#endif

static int rank(enum ac_life_event event)
{
	return event == AC_EVENT_ESCAPE ? 3 : event == AC_EVENT_LOST ? 2 : 1;
}

void ac_cell_end(struct ac_cell *cell, enum ac_life_event event, const char *why)
{
	if (cell->asked && rank(cell->event) >= rank(event))
		return;
	cell->asked = true;
	cell->event = event;
	(void)snprintf(cell->why, sizeof(cell->why), "%.159s", why);
}

/* All four uids of the process, as the kernel has them now. */
static bool has_uid(pid_t pid, uid_t uid)
{
	char path[64], line[256];
	unsigned ids[4];
	bool same = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ac_autofclose FILE *status = fopen(path, "re");

	while (status && fgets(line, sizeof(line), status))
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
		if (sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4)
			same = ids[0] == uid && ids[1] == uid && ids[2] == uid && ids[3] == uid;
	return same;
}

static int release(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	struct ac_session *session = &cell->session;
	struct ac_wire go;
	int rc;

	/* What the launcher did to get here must not be taken for what the agent does. */
	rc = ac_guardian_sync(guardian, SYNC_MS, err);
	if (rc)
		return rc;
	ac_secrets_learn(cell);
	ac_watch_arm(guardian->watch, cell->uid, cell->launcher_pid);
	cell->launcher_ready = true;
	rc = ac_drive(&session->life, &ac_session_ops, session, AC_STATE_RUNNING);
	if (rc || session->life.state != AC_STATE_RUNNING)
		return ac_fail(err, EIO, "session %s could not be released: %s", cell->id,
			session->err.text);
	rc = ac_keep_running(guardian, cell, err);
	if (!rc)
		rc = ac_cell_set_clock(
			guardian, cell, session->policy->policy.limits.wall_clock_s, err);
	if (rc)
		return rc;
	cell->started_ms = cell->heartbeat_ms = ac_now_ms();
	ac_cell_freeze(guardian, cell);
	ac_wire_make(&go, AC_WIRE_GO, cell->id, 0, "");
	return ac_wire_send(cell->launcher.fd, &go, NULL, 0, err);
}

void ac_cell_ready(struct ac_guardian *guardian, struct ac_cell *cell, pid_t pid)
{
	struct ac_err err = { 0 };
	int rc;

	if (!cell->owned || cell->launcher_ready || cell->asked) {
		ac_cell_end(cell, AC_EVENT_LOST, "the launcher spoke out of turn");
		return;
	}
	if (!has_uid(pid, cell->uid)) {
		ac_cell_end(cell, AC_EVENT_LOST, "the launcher does not have the session's uid");
		return;
	}
	cell->launcher_pid = pid;
	rc = ac_cgroup_enter(cell->session.cgroup_fd, pid, &err);
	if (!rc)
		rc = release(guardian, cell, &err);
	if (!rc)
		return;
	syslog(LOG_ERR, "session %s: %s", cell->id, err.text);
	ac_cell_end(cell, AC_EVENT_LOST, err.text);
}

static void tell(struct ac_guardian *guardian, struct ac_cell *cell)
{
	char text[REPORT_MAX];

	if (!cell->watched || !ac_watch_read(guardian->watch, cell->uid, &guardian->watched))
		memset(&guardian->watched, 0, sizeof(guardian->watched));
	ac_cell_report(cell, &guardian->watched, text, sizeof(text));
	if (cell->client)
		ac_client_end(cell->client, cell->id, cell->session.life.cause, text);
	if (cell->killer)
		ac_client_end(cell->killer, cell->id, cell->session.life.cause, text);
}

/* ENDED is in the journal: the record of the end, the word to sudo, and out. */
static void finish(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_err err = { 0 };

	if (ac_session_finish(&cell->session, &err))
		syslog(LOG_ERR, "session %s: %s", cell->id, err.text);
	tell(guardian, cell);
	ac_cell_free(guardian, cell);
}

static void drive_out(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_session *session = &cell->session;
	int rc;

	ac_guardian_beat(guardian);
	if (!cell->ending) {
		cell->ending = true;
		ac_refresh_end(cell); /* or it would open again what is taken away now */
		/* A launcher that has not reported yet is in no cgroup: it goes when its socket ends. */
		ac_source_close(&cell->launcher);
		cell->ended_ms = ac_now_ms();
		rc = ac_drive_event(&session->life, &ac_session_ops, session, cell->event);
	} else {
		session->comes_again = true;
		rc = ac_drive(&session->life, &ac_session_ops, session, AC_STATE_ENDED);
	}
	ac_guardian_beat(guardian);
	if (session->life.state == AC_STATE_ENDED) {
		finish(guardian, cell);
		return;
	}
	/* A session that cannot be ended is an alarm and a retry, never silence; a large tree needs a while. */
	if (guardian->seconds % 60 == 0 || (cell->asked && session->err.code != EAGAIN))
		syslog(LOG_ALERT, "session %s does not end (state %s, %s): %s; trying again",
			cell->id, ac_state_name(session->life.state), strerror(-rc),
			session->err.text);
	cell->asked = false;
}

void ac_cells_settle(struct ac_guardian *guardian)
{
	struct ac_cell *cell = guardian->cells;

	while (cell) {
		struct ac_cell *next = cell->next; /* settling one changes only that one */

		if (cell->asked && cell->owned)
			drive_out(guardian, cell);
		else if (cell->asked) {
			/* sudo drives, and will see the connection go; a dead one left an orphan. */
			guardian->owner_gone = true;
			ac_cell_free(guardian, cell);
		}
		cell = next;
	}
}

static bool is_stopped(pid_t pid)
{
	char path[64], text[512] = "";
	const char *state;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	ac_autofclose FILE *file = fopen(path, "re");

	if (file && !fgets(text, sizeof(text), file))
		text[0] = 0;
	state = strrchr(text, ')'); /* the name before it may hold anything */
	return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

/* A stopped sudo can't show or end anything: its cell stands still with it. */
static void follow_sudo(struct ac_guardian *guardian, struct ac_cell *cell)
{
	bool stopped = is_stopped(cell->sudo_pid);

	if (stopped == cell->stopped)
		return;
	cell->stopped = stopped;
	ac_cell_freeze(guardian, cell);
}

void ac_cell_second(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_err err;

	if (cell->ending) {
		drive_out(guardian, cell);
		return;
	}
	if (!cell->owned || cell->session.life.state != AC_STATE_RUNNING)
		return;
	if (cell->sudo.fd >= 0)
		follow_sudo(guardian, cell);
	ac_refresh_second(guardian, cell);
	if (ac_now_ms() - cell->heartbeat_ms < AC_HEARTBEAT_MS ||
		!ac_watch_read(guardian->watch, cell->uid, &guardian->watched))
		return;
	cell->heartbeat_ms = ac_now_ms();
	cell->logged = 0;
	if (ac_keep_heartbeat(guardian, cell, &guardian->watched, &err))
		ac_cell_end(cell, AC_EVENT_LOST, "the log could not be written");
	cell->suppressed = 0;
}

void ac_cell_denied(
	struct ac_guardian *guardian, struct ac_cell *cell, const struct ac_report *report)
{
	struct ac_denial *denial = &cell->history[cell->history_next];
	struct ac_err err;

	cell->history_next = (cell->history_next + 1) % AC_CELL_HISTORY;
	cell->history_count += cell->history_count < AC_CELL_HISTORY;
	denial->time_ms = report->time_ms;
	denial->operation = report->operation;
	denial->pid = report->pid;
	(void)snprintf(denial->comm, sizeof(denial->comm), "%.31s", report->comm);
	(void)snprintf(denial->target, sizeof(denial->target), "%.255s", report->target);
	(void)snprintf(denial->reason, sizeof(denial->reason), "%.79s", report->reason);
	/* Of a stream of denials the first ones tell the story; the heartbeat counts the rest. */
	if (cell->logged >= AC_CELL_LOGGED_PER_MINUTE) {
		cell->suppressed++;
		return;
	}
	cell->logged++;
	if (ac_keep_denied(guardian, cell, report, &err))
		ac_cell_end(cell, AC_EVENT_LOST, "the log could not be written");
}

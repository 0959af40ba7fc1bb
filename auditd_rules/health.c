/* SPDX-License-Identifier: ISC */
/*
 * Do we still see everything?  Once a second, and whenever the stream says that something changed.
 *
 * What we cannot see must not run: at the first doubt every cell is frozen.  Then up to three times,
 * with growing pauses, the stream is opened anew, rules and state are set right, and a mark must come
 * back; if it does, the cells go on, else their sessions end as lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>
#include <unistd.h>

#include "cell.h"
#include "names.h"
#include "state.h"

#define ATTEMPTS 3
#define MARK_MS 1000 /* cells are frozen meanwhile */
#define FIRST_MARK_MS 10000 /* nobody waits yet; a machine that boots is busy */
#define QUIET_RETRY_MS 5000
#define MARK_EACH_MS 2000
#define STALLED_MS 3000

/* auditctl -R begins with -D and stops at a rule that is there already, which ours would then be: the
 * site's later rules were never loaded.  So whoever loads rules is let finish first. */
#define RELOAD_QUIET_MS 500
#define RELOAD_LIMIT_MS 5000

static const char rules_removed[] = "audit rules were removed";
static const unsigned pauses_ms[ATTEMPTS] = { 0, 300, 1000 };

static void take_baseline(struct ac_guardian *guardian, const struct audit_status *status)
{
	struct ac_stream stream;

	ac_watch_stream(guardian->watch, &stream);
	guardian->health.overruns = stream.overruns;
	guardian->health.missing = stream.missing;
	guardian->health.config_changes = stream.config_changes;
	guardian->health.lost_before = status->lost;
}

/* The kernel's stream is opened anew each time; the pipe from auditd is there, or is not. */
static int open_stream(struct ac_guardian *guardian, struct ac_err *err)
{
	struct ac_stream stream;
	int fd;

	if (!guardian->plugin) {
		fd = ac_kernel_subscribe(err);
		if (fd < 0)
			return fd;
		guardian->health.stream_fd = fd;
		ac_watch_set_source(guardian->watch, fd, false);
		return 0;
	}
	ac_watch_stream(guardian->watch, &stream);
	if (stream.closed)
		return ac_fail(err, EPIPE, "auditd has closed the pipe: it starts us again");
	if (stream.records)
		return 0;
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK))
		return ac_fail_errno(err, errno, "read audit records from standard input");
	ac_watch_set_source(guardian->watch, fd, true);
	return 0;
}

/* Everything that watching needs, from the start. */
static int set_up(struct ac_guardian *guardian, int mark_ms, struct ac_err *err)
{
	struct audit_status status;
	int rc = ac_kernel_prepare(&guardian->kernel, guardian->config->enable_audit, err);

	if (!rc)
		rc = ac_rules_load(&guardian->rules, &guardian->kernel, err);
	if (!rc)
		rc = ac_state_save(&guardian->kernel, &guardian->rules, err);
	if (rc)
		return rc;
	rc = open_stream(guardian, err);
	if (!rc)
		rc = ac_guardian_sync(guardian, mark_ms, err);
	if (!rc)
		rc = ac_kernel_status(&guardian->kernel, &status, err);
	if (!rc)
		take_baseline(guardian, &status);
	return rc;
}

int ac_health_init(struct ac_guardian *guardian, struct ac_err *err)
{
	int rc = ac_kernel_open(&guardian->kernel, err);

	if (!rc) {
		ac_state_load(&guardian->kernel, &guardian->rules);
		rc = ac_watch_start(guardian->watch, guardian->warden.pulse, err);
	}
	if (!rc)
		rc = set_up(guardian, FIRST_MARK_MS, err);
	return rc;
}

void ac_health_fini(struct ac_guardian *guardian)
{
	if (guardian->kernel.fd < 0)
		return;
	ac_rules_unload(&guardian->rules, &guardian->kernel);
	ac_kernel_restore(&guardian->kernel);
	ac_state_clear();
	ac_kernel_close(&guardian->kernel);
}

/*
 * The kernel's own stream stands still only when something is done to its socket, which can be asked.
 * auditd can, stopped or before a full disk, and its pipe looks as if nothing happened.  So while
 * sessions run it is asked, with a mark, for a sign of life.
 */
static const char *find_stalled(struct ac_guardian *guardian)
{
	struct ac_health *health = &guardian->health;
	uint64_t now = ac_now_ms();

	if (!guardian->plugin || !guardian->cells) {
		health->mark = 0;
		return NULL;
	}
	if (health->mark && !ac_watch_saw(guardian->watch, health->mark))
		return now - health->mark_ms > STALLED_MS ? "auditd passes no records on" : NULL;
	if (health->mark && now - health->mark_ms < MARK_EACH_MS)
		return NULL;
	if (getrandom(&health->mark, sizeof(health->mark), 0) != sizeof(health->mark))
		return "no random number for a mark";
	health->mark_ms = now;
	ac_watch_expect(guardian->watch, health->mark);
	return ac_kernel_send_mark(&guardian->kernel, health->mark, NULL)
		       ? "the kernel takes no records of ours"
		       : NULL;
}

static const char *find_wrong(struct ac_guardian *guardian)
{
	struct ac_health *health = &guardian->health;
	struct audit_status status;
	struct ac_stream stream;
	const char *wrong;
	int missing;

	ac_watch_stream(guardian->watch, &stream);
	if (stream.closed)
		return "the audit stream was closed";
	if (!guardian->plugin && !ac_kernel_subscribed(health->stream_fd))
		return "the audit stream was cut off";
	if (stream.overruns != health->overruns)
		return "the audit stream overran its buffer";
	if (stream.missing != health->missing)
		return "records are missing from the audit stream";
	if (ac_kernel_status(&guardian->kernel, &status, NULL))
		return "the kernel does not tell the state of auditing";
	wrong = ac_kernel_wrong(&status, health->lost_before);
	if (wrong)
		return wrong;
	health->lost_before = status.lost;
	missing = ac_rules_missing(&guardian->rules, &guardian->kernel, NULL);
	if (missing)
		return missing < 0 ? "the kernel does not tell its audit rules" : rules_removed;
	health->config_changes = stream.config_changes;
	return find_stalled(guardian);
}

static void freeze_all(struct ac_guardian *guardian)
{
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		ac_cell_freeze(guardian, cell);
}

static void keep(struct ac_guardian *guardian, const char *reason, const char *outcome)
{
	struct ac_err err;

	syslog(LOG_ALERT, "%s: %s", reason, outcome);
	if (ac_keep_lost(guardian, "", reason, outcome, &err))
		syslog(LOG_ALERT, "%s", err.text);
}

static void give_up(struct ac_guardian *guardian)
{
	keep(guardian, guardian->health.wrong, "every session ends");
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		ac_cell_end(cell, AC_EVENT_LOST, guardian->health.wrong);
}

/* A pipe, unlike the kernel's stream, can't be opened anew. */
static bool pipe_is_closed(struct ac_guardian *guardian)
{
	struct ac_stream stream;

	ac_watch_stream(guardian->watch, &stream);
	return guardian->plugin && stream.closed;
}

/* Cells stand still meanwhile.  Each change of the rules is a record. */
static bool is_being_reloaded(struct ac_guardian *guardian)
{
	struct ac_health *health = &guardian->health;
	uint64_t now = ac_now_ms();
	struct ac_stream stream;

	if (health->wrong != rules_removed || health->attempts)
		return false;
	ac_watch_stream(guardian->watch, &stream);
	if (!health->reload_ms)
		health->reload_ms = now;
	if (!health->quiet_ms || stream.config_changes != health->config_changes)
		health->quiet_ms = now;
	health->config_changes = stream.config_changes;
	return now < health->quiet_ms + RELOAD_QUIET_MS &&
	       now < health->reload_ms + RELOAD_LIMIT_MS;
}

static void try_again(struct ac_guardian *guardian)
{
	struct ac_health *health = &guardian->health;
	const char *wrong = health->wrong;
	struct ac_err err = { 0 };

	if (ac_now_ms() < health->next_try_ms || is_being_reloaded(guardian))
		return;
	if (pipe_is_closed(guardian)) {
		give_up(guardian);
		guardian->stopping = true; /* make room for the one that the next auditd starts */
		return;
	}
	health->attempts++;
	if (wrong == rules_removed && !ac_rules_missing(&guardian->rules, &guardian->kernel, NULL))
		ac_rules_disown(&guardian->rules);
	if (!set_up(guardian, MARK_MS, &err)) {
		health->wrong = NULL;
		health->attempts = 0;
		keep(guardian, wrong, "watching again");
		freeze_all(guardian); /* as each one's own state wants it */
		return;
	}
	syslog(LOG_ERR, "%s", err.text);
	if (health->attempts == ATTEMPTS)
		give_up(guardian);
	health->next_try_ms = ac_now_ms() + (health->attempts < ATTEMPTS
							    ? pauses_ms[health->attempts]
							    : QUIET_RETRY_MS);
}

void ac_health_check(struct ac_guardian *guardian)
{
	struct ac_health *health = &guardian->health;
	uint64_t killed = atomic_load(&guardian->warden.pulse->killed);

	if (killed != guardian->killed_by_warden) {
		guardian->killed_by_warden = killed;
		keep(guardian, "the listener stood still", "the warden has killed every cell");
		for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
			ac_cell_end(cell, AC_EVENT_LOST, "the listener stood still");
	}
	if (!health->wrong) {
		health->wrong = find_wrong(guardian);
		if (!health->wrong)
			return;
		freeze_all(guardian);
		keep(guardian, health->wrong, "every cell is frozen");
		health->attempts = 0;
		health->next_try_ms = health->reload_ms = health->quiet_ms = 0;
	}
	try_again(guardian);
}

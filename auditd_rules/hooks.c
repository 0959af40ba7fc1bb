/* SPDX-License-Identifier: ISC */
/*
 * What the lifecycle asks of the listener: is the launcher ready, and is everything judged that
 * happened.  The kill and the clean-up are the same for all (libagentcell/session.c).
 */
#include <syslog.h>

#include "cell.h"

#define DRAIN_MS 2000

static enum ac_life_event switch_user(struct ac_session *session)
{
	const struct ac_cell *cell = session->owner;

	return cell->launcher_ready ? AC_EVENT_OK : AC_EVENT_FAIL;
}

static void keep_escape(struct ac_cell *cell)
{
	struct ac_guardian *guardian = cell->guardian;
	struct ac_err err;

	if (cell->escape_logged)
		return;
	cell->escape_logged = true;
	/* The session is dead already: all that is left to do without a log is to say so aloud. */
	if (ac_keep_escape(guardian, cell, &guardian->watched.escape, &err) ||
		ac_keep_kill(guardian, cell, &err))
		syslog(LOG_ALERT, "session %s: the escape is not in the log: %s", cell->id,
			err.text);
}

/* Every process is dead, so every record of theirs is on its way: it is behind none that we send. */
static enum ac_life_event drain(struct ac_session *session)
{
	struct ac_cell *cell = session->owner;
	struct ac_guardian *guardian = cell->guardian;

	if (ac_guardian_sync(guardian, DRAIN_MS, &session->err))
		return guardian->health.wrong ? AC_EVENT_LOST : AC_EVENT_FAIL;
	ac_guardian_collect(guardian);
	if (!ac_watch_read(guardian->watch, cell->uid, &guardian->watched))
		return AC_EVENT_LOST;
	if (guardian->watched.escaped)
		keep_escape(cell);
	if (guardian->watched.escaped && session->life.cause != AC_CAUSE_ESCAPE)
		return AC_EVENT_ESCAPE;
	return AC_EVENT_OK;
}

void ac_cell_set_hooks(struct ac_cell *cell)
{
	cell->session.owner = cell;
	cell->session.switch_user = switch_user;
	cell->session.drain = drain;
}

/* SPDX-License-Identifier: ISC */
/*
 * What a dead owner left: sessions whose journal nobody holds.  Looked for at the start and every ten
 * seconds; whoever gets the lock ends them.
 */
#include <syslog.h>

#include "cell.h"

static int adopt_one(void *context, const char *session_id)
{
	struct ac_guardian *guardian = context;
	struct ac_cell *cell;
	struct ac_err err = { 0 };

	if (ac_cell_find(guardian, session_id))
		return 0;
	cell = ac_cell_new(guardian, session_id);
	if (!cell)
		return 0;
	/* Open first: what can't be read (yet) is still being made, or its owner died with nothing made. */
	if (ac_session_open(&cell->session, session_id, &err)) {
		ac_cell_free(guardian, cell);
		(void)ac_session_discard(session_id, guardian->config, &err);
		return 0;
	}
	if (ac_journal_lock(&cell->session.journal)) {
		ac_cell_free(guardian, cell);
		return 0;
	}
	/* The owner may have gone on between the two. */
	struct ac_journal_record record;

	if (!ac_journal_last(&cell->session.journal, &record, &err))
		cell->session.life = record.life;
	syslog(LOG_WARNING, "session %s was left in state %s: ending it", session_id,
		ac_state_name(cell->session.life.state));
	cell->uid = cell->session.policy->policy.uid;
	cell->owned = true;
	ac_cell_end(cell, AC_EVENT_RESTART, "its owner died");
	return 0;
}

void ac_adopt(struct ac_guardian *guardian)
{
	struct ac_err err;

	if (ac_journal_sessions(adopt_one, guardian, &err))
		syslog(LOG_ERR, "%s", err.text);
	ac_cells_settle(guardian);
}

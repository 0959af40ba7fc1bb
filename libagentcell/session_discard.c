/* SPDX-License-Identifier: ISC */
/*
 * What is left of a session whose owner died between the lease of the uid and the policy: no policy,
 * so no backup, no cgroup, no firewall element, no process; only a directory and a lease.
 */
#include <errno.h>
#include <stdio.h>

#include "account.h"
#include "log.h"
#include "session.h"
#include "util.h"

static int write_end(const char *session_id, const struct ac_config *config, struct ac_life life)
{
	char journal[64];

	snprintf(journal, sizeof journal, "%s:0:none cleanup:0:aborted ended:0:aborted",
		ac_state_name(life.state));
	const struct ac_log_field fields[] = {
		{ "status", "aborted", 0 },
		{ "cause", "aborted", 0 },
		{ "reason", "its owner died before there was a policy", 0 },
		{ "journal", journal, 0 },
	};

	return ac_log_write(
		config->log_path, AC_LOG_END, session_id, fields, AC_COUNT(fields), true, NULL);
}

int ac_session_discard(const char *session_id, const struct ac_config *config, struct ac_err *err)
{
	struct ac_journal journal = AC_JOURNAL_CLOSED;
	struct ac_journal_record record = { .life = { AC_STATE_PLANNED, 0, AC_CAUSE_NONE } };
	int result = ac_journal_open(session_id, &journal, err);

	if (result)
		return result;
	if (ac_journal_lock(&journal) != 0) {
		ac_journal_close(&journal);
		return ac_fail(err, EBUSY, "session %s has an owner", session_id);
	}
	result = ac_journal_last(&journal, &record, err);
	if (result == -ENODATA)
		result = 0;
	if (!result && record.life.state > AC_STATE_POLICY && record.life.state != AC_STATE_ENDED)
		result = ac_fail(err, EEXIST, "session %s came as far as %s", session_id,
			ac_state_name(record.life.state));
	if (!result)
		result = ac_account_release_session(session_id, err);
	if (!result) {
		if (record.life.state != AC_STATE_ENDED)
			write_end(session_id, config, record.life);
		return ac_journal_remove(&journal, err);
	}
	ac_journal_close(&journal);
	return result;
}

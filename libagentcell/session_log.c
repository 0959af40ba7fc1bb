/* SPDX-License-Identifier: ISC */
/*
 * Start and end of a session on record: in the JSON log and as audit user-space records.  The end
 * record holds every state that the journal went through, since the journal itself goes away.
 */
#include "session.h"

#include <errno.h>
#include <libaudit.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "util.h"

#define LOG_TRIES 3

static int write_log(struct ac_session *session, enum ac_log_event event,
	const struct ac_log_field *fields, unsigned count, struct ac_err *err)
{
	int result = -EIO;

	for (int i = 0; i < LOG_TRIES && result; i++)
		result = ac_log_write(session->config->log_path, event,
			session->policy->plan.session_id, fields, count, true, err);
	return result;
}

/* "a, b, c", raw: ac_log_write escapes; cut at the buffer's end with "..." */
static void join_paths(char *text, size_t size, const struct ac_path_list *list)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < list->count; i++) {
		int length = snprintf(
			text + used, size - used, "%s%s", i ? ", " : "", list->entry[i].path);

		if (length < 0 || (size_t)length >= size - used - 4) {
			snprintf(text + used, size - used, "...");
			return;
		}
		used += (size_t)length;
	}
}

static void join_names(char *text, size_t size, const struct ac_names *names)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < names->count && used < size; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s", i ? " " : "", names->name[i]);
}

int ac_session_log_start(struct ac_session *session, struct ac_err *err)
{
	const struct ac_plan *plan = &session->policy->plan;
	const struct ac_policy *policy = &session->policy->policy;
	char write_paths[8192], read_paths[8192], excluded[8192], names[4096];

	join_paths(write_paths, sizeof write_paths, &policy->write_paths);
	join_paths(read_paths, sizeof read_paths, &policy->read_paths);
	join_paths(excluded, sizeof excluded, &policy->excluded_paths);
	join_names(names, sizeof names, &policy->env_allowlist);
	const struct ac_log_field fields[] = {
		{ "status", "planned", 0 },
		{ "cause", "none", 0 },
		{ "user", plan->user, 0 },
		{ "user_uid", NULL, plan->user_uid },
		{ "auid", NULL, plan->loginuid },
		{ "ses", NULL, plan->audit_session },
		{ "os_user", policy->os_user, 0 },
		{ "uid", NULL, policy->uid },
		{ "harness", plan->harness, 0 },
		{ "command", plan->command, 0 },
		{ "cwd", plan->cwd, 0 },
		{ "risk", ac_risk_name(policy->risk), 0 },
		{ "write_paths", write_paths, 0 },
		{ "read_paths", read_paths, 0 },
		{ "excluded_paths", excluded, 0 },
		{ "firewall_rule", policy->firewall_rule, 0 },
		{ "wall_clock_s", NULL, (int64_t)policy->limits.wall_clock_s },
		{ "env_allowlist", names, 0 },
		{ "backup_id", policy->backup_id, 0 },
	};
	char text[512];

	int result = write_log(session, AC_LOG_START, fields, AC_COUNT(fields), err);

	if (result)
		return result;
	snprintf(text, sizeof text, "op=agentcell-start session=%s acct=\"%s\" id=%u user-uid=%u",
		plan->session_id, policy->os_user, (unsigned)policy->uid, (unsigned)plan->user_uid);
	/* The file is the record that must exist; without kernel auditing the listener refuses the
	 * session anyway. */
	struct ac_err ignored;

	ac_log_audit(AUDIT_ADD_USER, text, true, &ignored);
	return 0;
}

struct states {
	char *text;
	size_t size, used;
};

static int add_state(void *context, const struct ac_journal_record *record)
{
	struct states *states = context;
	const char *name = ac_state_name(record->life.state);
	const char *cause = ac_cause_name(record->life.cause);

	if (states->used < states->size)
		states->used += (size_t)snprintf(states->text + states->used,
			states->size - states->used, "%s%s:%u:%s", states->used ? " " : "",
			name ? name : "?", record->life.tries, cause ? cause : "?");
	return 0;
}

int ac_session_log_end(struct ac_session *session, struct ac_err *err)
{
	const struct ac_policy *policy = &session->policy->policy;
	const char *cause = ac_cause_name(session->life.cause);
	char journal[4096] = "", text[512];
	struct states states = { journal, sizeof journal, 0 };
	struct ac_err ignored;

	ac_journal_each(&session->journal, add_state, &states, &ignored);
	const struct ac_log_field fields[] = {
		{ "status", ac_life_status(session->life), 0 },
		{ "cause", cause ? cause : "?", 0 },
		{ "user", session->policy->plan.user, 0 },
		{ "uid", NULL, policy->uid },
		{ "backup_id", policy->backup_id, 0 },
		{ "reason", session->err.code ? session->err.text : "", 0 },
		{ "journal", journal, 0 },
	};
	int result = write_log(session, AC_LOG_END, fields, AC_COUNT(fields), err);

	snprintf(text, sizeof text, "op=agentcell-end session=%s acct=\"%s\" id=%u cause=%s",
		policy->session_id, policy->os_user, (unsigned)policy->uid, cause ? cause : "?");
	ac_log_audit(AUDIT_DEL_USER, text, session->life.cause <= AC_CAUSE_WALL_CLOCK, &ignored);
	return result;
}

int ac_session_finish(struct ac_session *session, struct ac_err *err)
{
	int logged = ac_session_log_end(session, err);
	int result = ac_journal_remove(&session->journal, logged ? NULL : err);

	return logged ? logged : result;
}

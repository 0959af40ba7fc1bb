/* SPDX-License-Identifier: ISC */
/*
 * Drives the session's set-up.  Runs in sudo's main process with the command's gid, groups and umask
 * already set: they are put aside and put back exactly, since the command inherits them.
 */
#include "provision.h"

#include <errno.h>
#include <fcntl.h>
#include <security/pam_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util.h"
#include "variables.h"
#include "view.h"
#include "wire.h"

#define REGISTER_TIMEOUT_MS 10000
#define END_TIMEOUT_MS 30000

static int read_fd(pam_handle_t *pam, const char *name, int *fd, struct ac_err *err)
{
	const char *text = pam_getenv(pam, name);
	char *end = NULL;
	long number = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;

	if (number < 3 || number > 1 << 20 || *end || fcntl((int)number, F_GETFD) < 0)
		return ac_fail(err, EINVAL,
			"%s is missing: this PAM service is only for sudo's agentcell plugin",
			name);
	*fd = (int)number;
	return 0;
}

/* The descriptors stay the plugin's: this process has one journal lock and one connection. */
static int take_over(struct ac_provision *provision, pam_handle_t *pam, struct ac_err *err)
{
	struct ac_session *session = &provision->session;
	const char *id = pam_getenv(pam, "AGENTCELL_SESSION");
	struct ac_journal_record record;

	if (!id || !ac_session_id_is_valid(id))
		return ac_fail(err, EINVAL,
			"no session was planned: this PAM service is only for sudo's agentcell "
			"plugin");
	session->variables = pam_getenv(pam, "AGENTCELL_VARIABLES");
	int result = read_fd(pam, "AGENTCELL_JOURNAL_FD", &session->journal.fd, err);

	if (!result)
		result = read_fd(
			pam, "AGENTCELL_DIRECTORY_FD", &session->journal.directory_fd, err);
	if (!result)
		result = read_fd(pam, "AGENTCELL_LISTENER_FD", &session->listener_fd, err);
	if (!result)
		result = read_fd(pam, "AGENTCELL_LAUNCHER_FD", &session->launcher_fd, err);
	if (result)
		return result;
	session->policy = ac_policy_read_dup(session->journal.directory_fd, err);
	if (!session->policy)
		return -err->code;
	if (strcmp(session->policy->plan.session_id, id) != 0)
		result = ac_fail(err, EBADMSG, "the policy on disk is not that of session %s", id);
	if (!result)
		result = ac_journal_last(&session->journal, &record, err);
	if (result)
		return result;
	/* From here on the session is ended by this module, whatever happens. */
	pam_putenv(pam, "AGENTCELL_TAKEN=1");
	memcpy(session->journal.session_id, id, AC_SESSION_ID_SIZE);
	session->journal.count = record.count;
	session->life = record.life;
	return 0;
}

static void put_ids_aside(struct ac_provision *provision)
{
	provision->umask = umask(077);
	if (getresgid(&provision->gids[0], &provision->gids[1], &provision->gids[2]) != 0 ||
		setresgid((gid_t)-1, 0, (gid_t)-1) != 0)
		abort();
}

static void put_ids_back(const struct ac_provision *provision)
{
	/* The command would run with a gid of root's. */
	if (setresgid(provision->gids[0], provision->gids[1], provision->gids[2]) != 0)
		abort();
	umask(provision->umask);
}

static int ask(struct ac_session *session, enum ac_wire_type type, enum ac_wire_type expected,
	const int *fds, unsigned fd_count, struct ac_err *err)
{
	struct ac_wire message;

	ac_wire_make(&message, type, session->policy->plan.session_id, 0, "");
	int result = ac_wire_send(session->listener_fd, &message, fds, fd_count, err);

	if (!result)
		result = ac_wire_receive(
			session->listener_fd, &message, NULL, NULL, NULL, REGISTER_TIMEOUT_MS, err);
	if (result)
		return ac_fail_within(err, "the listener");
	if (message.type == (uint16_t)expected)
		return 0;
	return ac_fail(err, EPERM, "the listener refuses the session: %s",
		message.type == AC_WIRE_REFUSED ? message.text : "unexpected answer");
}

static enum ac_life_event register_session(struct ac_session *session)
{
	ac_autoclose int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	const int fds[] = { self, session->launcher_fd };

	if (self < 0) {
		ac_fail_errno(&session->err, errno, "cannot open a pidfd of sudo");
		return AC_EVENT_FAIL;
	}
	int result = ask(session, AC_WIRE_REGISTER, AC_WIRE_REGISTERED, fds, 2, &session->err);

	return result == 0 ? AC_EVENT_OK : AC_EVENT_FAIL;
}

/* Nothing depends on it: it only makes the listener ready. */
static void announce(struct ac_session *session)
{
	struct ac_wire message;
	struct ac_err ignored;

	ac_wire_make(&message, AC_WIRE_EXPECT, session->policy->plan.session_id, 0, "");
	(void)ac_wire_send(session->listener_fd, &message, NULL, 0, &ignored);
}

/* Before the launcher was forked there is nothing to drain; afterwards only the listener can. */
static enum ac_life_event drain(struct ac_session *session)
{
	const struct ac_provision *provision = session->owner;

	return provision->is_started ? AC_EVENT_LOST : AC_EVENT_OK;
}

static void report_progress(void *context, const struct ac_backup_totals *totals)
{
	struct ac_provision *provision = context;

	if (isatty(STDERR_FILENO))
		pam_info(provision->pam, "agentcell: backup: %llu files, %llu MiB so far",
			(unsigned long long)totals->files,
			(unsigned long long)(totals->bytes >> 20));
}

static int set_up(struct ac_provision *provision, struct ac_err *err)
{
	struct ac_session *session = &provision->session;
	int result = ac_drive(&session->life, &ac_session_ops, session, AC_STATE_SWITCH);

	if (result || session->life.state != AC_STATE_SWITCH) {
		*err = session->err;
		return err->code ? -err->code : ac_fail(err, EIO, "the journal cannot be written");
	}
	return 0;
}

/* Takes the lock again, and the state as it is by now: a listener may have had the session meanwhile,
 * and one that it has ended is not ended twice (the uid may be somebody else's already). */
static bool take_back(struct ac_session *session)
{
	struct ac_journal_record record;
	struct ac_err ignored;

	if (ac_journal_lock(&session->journal) != 0 ||
		ac_journal_last(&session->journal, &record, &ignored) != 0)
		return false;
	session->life = record.life;
	session->journal.count = record.count;
	return record.life.state != AC_STATE_ENDED;
}

/* From here on a failure leaves through the lifecycle. */
static int enter_and_arm(struct ac_provision *provision, struct ac_err *err)
{
	struct ac_session *session = &provision->session;
	char **variables = ac_variables_take(provision->pam);
	int result = variables ? ac_view_enter(session->policy, variables, &provision->absent, err)
			       : ac_fail_errno(err, ENOMEM, "no memory for the environment");

	ac_variables_free(variables);
	if (!result)
		result = ac_home_open(&provision->home, session->policy, err);
	if (!result) {
		provision->is_started = true;
		ac_journal_unlock(&session->journal);
		result = ask(session, AC_WIRE_ARM, AC_WIRE_ARMED, NULL, 0, err);
	}
	if (!result) {
		provision->is_armed = true;
		return 0;
	}
	ac_host_return(&provision->host);
	provision->is_started = false; /* sudo forks nothing after a failed session */
	session->err = *err;
	if (take_back(session))
		ac_drive_event(&session->life, &ac_session_ops, session, AC_EVENT_EXIT);
	return result;
}

static int open_all(struct ac_provision *provision, struct ac_err *err)
{
	struct ac_session *session = &provision->session;
	int result = set_up(provision, err);

	if (!result)
		result = enter_and_arm(provision, err);
	if (result && session->life.state == AC_STATE_ENDED) {
		struct ac_err ignored;

		session->err = *err;
		ac_session_finish(session, &ignored);
		session->journal = (struct ac_journal)AC_JOURNAL_CLOSED;
	}
	return result;
}

int ac_provision_open(struct ac_provision *provision, pam_handle_t *pam, struct ac_err *err)
{
	struct ac_session *session = &provision->session;

	provision->pam = pam;
	provision->host = (struct ac_host)AC_HOST_NONE;
	provision->home = (struct ac_home)AC_HOME_NONE;
	ac_session_init(session, NULL);
	session->owner = provision;
	session->monitor = register_session;
	session->drain = drain;
	session->announce = announce;
	session->progress = report_progress;
	session->progress_context = provision;
	put_ids_aside(provision);
	provision->config = session->config = ac_config_read_dup(AC_CONFIG_FILE, err);
	int result = provision->config ? 0 : -err->code;

	if (!result)
		result = take_over(provision, pam, err);
	if (!result)
		result = ac_host_remember(&provision->host, err);
	if (!result)
		result = open_all(provision, err);
	put_ids_back(provision);
	return result;
}

/* The listener is gone: this process takes the lock and ends the session itself.  True when it did. */
static bool end_alone(struct ac_provision *provision)
{
	struct ac_session *session = &provision->session;
	struct ac_journal_record record;
	struct ac_err err = { 0 };

	if (ac_journal_lock(&session->journal) != 0)
		return false; /* somebody else drives: a restarted listener */
	if (ac_journal_last(&session->journal, &record, &err) == 0) {
		session->life = record.life;
		session->journal.count = record.count;
	}
	ac_drive_event(&session->life, &ac_session_ops, session, AC_EVENT_LOST);
	bool is_over = session->life.state == AC_STATE_ENDED;

	if (is_over) {
		ac_session_finish(session, &err);
		session->journal = (struct ac_journal)AC_JOURNAL_CLOSED;
	}
	pam_error(provision->pam,
		"agentcell: the listener was lost, the session was ended\n"
		"  restore  agentcell restore %s",
		session->policy->policy.backup_id);
	return is_over;
}

static void show(struct ac_provision *provision, const struct ac_wire *message)
{
	if (*message->text)
		pam_error(provision->pam, "%s", message->text);
}

static void say(void *context, const char *text)
{
	struct ac_provision *provision = context;

	pam_info(provision->pam, "%s", text);
}

void ac_provision_close(struct ac_provision *provision, pam_handle_t *pam, int status)
{
	struct ac_session *session = &provision->session;
	struct ac_wire message;
	struct ac_err err;

	provision->pam = pam;
	if (!provision->is_armed)
		return;
	ac_wire_make(&message, AC_WIRE_EXITED, session->policy->plan.session_id, status, "");
	/* A message that was under way (ENDED after an escape) is read even if ours is not taken. */
	(void)ac_wire_send(session->listener_fd, &message, NULL, 0, &err);
	int result;

	do {
		result = ac_wire_receive(
			session->listener_fd, &message, NULL, NULL, NULL, END_TIMEOUT_MS, &err);
		if (result == 0)
			show(provision, &message);
	} while (result == 0 && message.type == AC_WIRE_NOTICE);
	bool is_over = result == 0 && message.type == AC_WIRE_ENDED;

	if (is_over)
		ac_home_bring_out(&provision->home, session->policy, (enum ac_cause)message.value,
			say, provision);
	else
		is_over = end_alone(provision);
	if (is_over)
		ac_aftermath(
			provision->config, session->policy, &provision->absent, say, provision);
	provision->is_armed = false;
}

void ac_provision_free(struct ac_provision *provision)
{
	struct ac_session *session = &provision->session;

	ac_host_forget(&provision->host);
	ac_home_close(&provision->home);
	/* The plugin's, not ours to close. */
	session->journal = (struct ac_journal)AC_JOURNAL_CLOSED;
	session->listener_fd = session->launcher_fd = session->cgroup_fd = -1;
	ac_session_fini(session);
	free(provision->config);
	free(provision);
}

/* SPDX-License-Identifier: ISC */
/*
 * The acts: state -> function.  Each is idempotent, since a crash may repeat it, and each one that
 * takes something away treats "not there" as done.  What went wrong is in session->err.
 */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "cgroup.h"
#include "hosts.h"
#include "netns.h"
#include "preflight.h"
#include "util.h"

#define KILL_TIMEOUT_MS 5000

/* Where the crash tests stop a process (tests/lib/barrier.h, by a build of their own); nothing here. */
#ifndef AC_BARRIER
#define AC_BARRIER(state)
#endif

void ac_session_init(struct ac_session *session, struct ac_config *config)
{
	memset(session, 0, sizeof *session);
	session->config = config;
	session->journal = (struct ac_journal)AC_JOURNAL_CLOSED;
	session->listener_fd = session->launcher_fd = session->cgroup_fd = -1;
	session->network_namespace_fd = session->firewall_link = -1;
}

static void close_if_open(int *fd)
{
	if (*fd >= 0)
		close(ac_take_fd(fd));
}

void ac_session_fini(struct ac_session *session)
{
	close_if_open(&session->listener_fd);
	close_if_open(&session->launcher_fd);
	close_if_open(&session->cgroup_fd);
	close_if_open(&session->network_namespace_fd);
	close_if_open(&session->firewall_link);
	ac_session_leave_access(session);
	ac_journal_close(&session->journal);
	free(AC_TAKE(session->policy));
	free(AC_TAKE(session->addresses));
}

static struct ac_policy *policy_of(struct ac_session *session)
{
	return &session->policy->policy;
}

static enum ac_life_event event_of(int result)
{
	return result == 0 ? AC_EVENT_OK : AC_EVENT_FAIL;
}

static enum ac_life_event write_policy(struct ac_session *session)
{
	int result = ac_policy_write(session->journal.directory_fd, session->policy, &session->err);

	if (!result)
		result = ac_session_log_start(session, &session->err);
	return event_of(result);
}

static struct ac_backup_request backup_request(struct ac_session *session)
{
	const struct ac_plan *plan = &session->policy->plan;
	struct ac_policy *policy = policy_of(session);

	return (struct ac_backup_request){
		.directory = policy->backup_directory,
		.backup_id = policy->backup_id,
		.session_id = plan->session_id,
		.user = plan->user,
		.identity = { plan->user_uid, plan->user_gid, plan->group_count, plan->groups },
		.paths = &policy->write_paths,
		.exclude = &session->config->backup_exclude,
		.allow_torn = session->config->allow_torn,
		.allow_unreadable = session->config->allow_unreadable,
		.progress = session->progress,
		.progress_context = session->progress_context,
	};
}

static int make_cgroup(struct ac_session *session, struct ac_err *err)
{
	const struct ac_policy *policy = policy_of(session);

	if (session->cgroup_fd < 0)
		session->cgroup_fd = ac_cgroup_make(policy->session_id, &policy->limits, NULL, err);
	return session->cgroup_fd < 0 ? session->cgroup_fd : 0;
}

/*
 * While the child makes the backup: what the next states wait for and nobody can use yet.  An empty
 * cgroup is taken away by the clean-up of any state.  What fails here is done again, and judged, by the
 * state whose act it is.
 */
static void do_meanwhile(void *context)
{
	struct ac_session *session = context;
	struct ac_err ignored;

	(void)make_cgroup(session, &ignored);
	if (session->announce)
		session->announce(session);
	session->is_uid_unused = ac_account_processes(policy_of(session)->uid) == 0;
}

static enum ac_life_event make_backup(struct ac_session *session)
{
	struct ac_backup_request request = backup_request(session);
	struct ac_backup_totals totals;
	ac_autofree char *environment = ac_preflight_dup(
		session->policy, AC_CONFIG_FILE, session->variables);

	request.environment = environment;
	request.meanwhile = do_meanwhile;
	request.meanwhile_context = session;
	return event_of(ac_backup_make(&request, &totals, &session->err));
}

static enum ac_life_event take_account(struct ac_session *session)
{
	const struct ac_policy *policy = policy_of(session);
	int running = session->is_uid_unused ? ac_account_own_processes(policy->uid)
					     : ac_account_processes(policy->uid);

	if (running < 0) {
		ac_fail_errno(&session->err, -running, "look for processes of uid %u",
			(unsigned)policy->uid);
		return AC_EVENT_FAIL;
	}
	if (running > 0) {
		ac_fail(&session->err, EBUSY,
			"uid %u is in use by %d process(es) that agentcell did not start (one of "
			"its "
			"four uids in /proc/*/status): try again, the next session takes another",
			(unsigned)policy->uid, running);
		return AC_EVENT_FAIL;
	}
	if (make_cgroup(session, &session->err) != 0)
		return AC_EVENT_FAIL;
	return event_of(
		ac_account_publish(policy->os_user, policy->uid, policy->gid, &session->err));
}

static enum ac_life_event raise_firewall(struct ac_session *session)
{
	const struct ac_policy *policy = policy_of(session);
	int result = 0;

	if (!session->addresses)
		session->addresses = calloc(1, sizeof *session->addresses);
	if (!session->addresses) {
		ac_fail_errno(&session->err, ENOMEM, "no memory for the session's addresses");
		return AC_EVENT_FAIL;
	}
	if (policy->firewall_enabled)
		result = ac_firewall_load(
			session->config->uid_first, session->config->uid_last, &session->err);
	if (!result)
		result = ac_firewall_resolve(policy, session->addresses, &session->err);
	if (!result && policy->firewall_enabled)
		result = ac_firewall_add(policy->uid, session->addresses, &session->err);
	if (!result)
		result = ac_hosts_make(
			session->journal.directory_fd, policy, session->addresses, &session->err);
	return event_of(result);
}

static enum ac_life_event kill_all(struct ac_session *session)
{
	const struct ac_policy *policy = policy_of(session);
	struct ac_err *err = &session->err;
	int result = 0;

	if (session->cgroup_fd < 0) {
		int fd = ac_cgroup_open(policy->session_id, err);

		if (fd < 0 && fd != -ENOENT)
			return AC_EVENT_FAIL;
		session->cgroup_fd = fd < 0 ? -1 : fd;
	}
	if (session->cgroup_fd >= 0)
		result = ac_cgroup_kill(session->cgroup_fd, KILL_TIMEOUT_MS, err);
	if (result)
		return AC_EVENT_FAIL;
	/* Dead is what was seen to be dead: nothing of the uid may be left anywhere. */
	int running = ac_account_own_processes(policy->uid);

	if (running != 0)
		ac_fail(err, EBUSY, "%d processes of uid %u are still there", running,
			(unsigned)policy->uid);
	return running == 0 ? AC_EVENT_OK : AC_EVENT_FAIL;
}

struct visit {
	struct ac_session *session;
	int (*function)(struct ac_session *session, void *context);
	void *context;
};

static int visit(void *context)
{
	const struct visit *visit = context;

	return visit->function(visit->session, visit->context);
}

int ac_session_in_network(struct ac_session *session,
	int (*function)(struct ac_session *session, void *context), void *context,
	struct ac_err *err)
{
	struct visit act = { session, function, context };

	return ac_netns_run(session->network_namespace_fd, visit, &act, err);
}

static int remove_elements(struct ac_session *session, void *unused)
{
	(void)unused;
	return ac_firewall_remove(policy_of(session)->uid, &session->firewall_link, &session->err);
}

static int remove_firewall(struct ac_session *session)
{
	if (!policy_of(session)->firewall_enabled)
		return 0;
	return ac_session_in_network(session, remove_elements, NULL, &session->err);
}

static int finish_backup(struct ac_session *session)
{
	struct ac_backup_request request = backup_request(session);
	struct ac_err ignored;

	/* The restore point itself is safe; that old ones were not pruned must not keep a uid. */
	ac_backup_finish(&request, session->life.cause, session->config, &ignored);
	return 0;
}

static enum ac_life_event clean_up(struct ac_session *session)
{
	const struct ac_policy *policy = policy_of(session);
	struct ac_err *err = &session->err;
	int result = remove_firewall(session);

	close_if_open(&session->cgroup_fd);
	if (!result)
		result = ac_session_revoke_access(session);
	if (!result)
		result = ac_cgroup_remove(policy->session_id, err);
	if (!result)
		result = ac_account_withdraw(policy->os_user, policy->uid, policy->gid, err);
	if (!result)
		result = ac_account_remove_ipc(policy->uid, err);
	if (!result)
		result = finish_backup(session);
	if (!result)
		result = ac_account_release(policy->session_id, policy->uid, err);
	return event_of(result);
}

static enum ac_life_event call_hook(struct ac_session *session,
	enum ac_life_event (*hook)(struct ac_session *), enum ac_life_event missing)
{
	return hook ? hook(session) : missing;
}

static enum ac_life_event act(void *world, struct ac_life life)
{
	struct ac_session *session = world;

	session->life = life;
	AC_BARRIER(life.state);
	switch ((enum ac_state)life.state) {
	case AC_STATE_POLICY:
		return write_policy(session);
	case AC_STATE_BACKUP:
		return make_backup(session);
	case AC_STATE_ACCOUNT:
		return take_account(session);
	case AC_STATE_FIREWALL:
		return raise_firewall(session);
	case AC_STATE_MONITOR:
		return call_hook(session, session->monitor, AC_EVENT_FAIL);
	case AC_STATE_SWITCH:
		return call_hook(session, session->switch_user, AC_EVENT_FAIL);
	case AC_STATE_TERMINATE:
		return kill_all(session);
	case AC_STATE_DRAIN:
		return call_hook(session, session->drain, AC_EVENT_LOST);
	case AC_STATE_CLEANUP:
		return clean_up(session);
	case AC_STATE_PLANNED:
	case AC_STATE_RUNNING:
	case AC_STATE_ENDED:
	case AC_STATE_COUNT:
		break;
	}
	return AC_EVENT_FAIL;
}

static int journal(void *world, struct ac_life life)
{
	struct ac_session *session = world;

	return ac_journal_append(&session->journal, life);
}

static void wait_seconds(void *world, unsigned seconds)
{
	const struct ac_session *session = world;
	struct timespec left = { .tv_sec = session->comes_again ? 0 : seconds };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

const struct ac_drive_ops ac_session_ops = { act, journal, wait_seconds };

int ac_session_open(struct ac_session *session, const char *session_id, struct ac_err *err)
{
	struct ac_journal_record record = { .count = 0 };
	int result = ac_journal_open(session_id, &session->journal, err);

	if (result)
		return result;
	free(session->policy);
	session->policy = ac_policy_read_dup(session->journal.directory_fd, err);
	if (!session->policy)
		return -err->code;
	if (strcmp(session->policy->plan.session_id, session_id) != 0)
		result = ac_fail(
			err, EBADMSG, "the policy of session %s names another", session_id);
	if (!result)
		result = ac_journal_last(&session->journal, &record, err);
	if (!result)
		session->life = record.life;
	return result;
}

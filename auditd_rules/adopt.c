/* SPDX-License-Identifier: ISC */
/*
 * What a dead owner left: sessions whose journal nobody holds.  Looked for at the start and every ten
 * seconds; whoever gets the lock ends them.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "cell.h"
#include "netns.h"
#include "util.h"

#define SUDO_GOES_MS 1500

static bool is_sudo(pid_t pid)
{
	char path[64], comm[32] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	ac_autofclose FILE *stream = fopen(path, "re");

	return stream && fgets(comm, sizeof(comm), stream) && !strcmp(comm, "sudo\n");
}

/*
 * In SWITCH sudo may be about to fork: no process of the uid is seen yet, the uid would be given
 * back, and then the launcher would come up in it.  sudo has seen its connection end and goes by
 * itself; if it does not, it is made to.
 */
static void see_sudo_gone(struct ac_guardian *guardian, const struct ac_session *session)
{
	pid_t pid = session->policy->plan.sudo_pid;
	ac_autoclose int pidfd = -1;
	struct pollfd gone = { .events = POLLIN };

	if (session->life.state != AC_STATE_SWITCH || pid <= 1)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || !is_sudo(pid))
		return;
	gone.fd = pidfd;
	if (poll(&gone, 1, SUDO_GOES_MS) == 1)
		return;
	syslog(LOG_WARNING, "session %s: sudo (process %d) does not go: killing it",
		session->policy->plan.session_id, (int)pid);
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	ac_guardian_beat(guardian);
	(void)poll(&gone, 1, SUDO_GOES_MS);
}

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
	see_sudo_gone(guardian, &cell->session);
	cell->uid = cell->session.policy->policy.uid;
	ac_session_hold_access(&cell->session);
	/* Its firewall elements are where sudo was; when that is gone, they are. */
	cell->session.network_namespace_fd = ac_netns_find(
		cell->session.policy->plan.network, &err);
	if (cell->session.network_namespace_fd < 0)
		cell->session.network_namespace_fd = -1;
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

/* SPDX-License-Identifier: ISC */
/*
 * The life of a session in the guardian: registered by sudo, armed, released, ended.
 *
 * Handlers only ask for an end; ac_cells_settle() carries it out between two rounds of the loop, so
 * that driving one session never runs into another one being driven.
 */
#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <unistd.h>

#include "cgroup.h"
#include "hosts.h"
#include "network.h"
#include "util.h"
#include "wire.h"

#define LAUNCHER_S 10 /* the view is built in this time */
#define CANARY_MS 2000

struct ac_cell *ac_cell_find(struct ac_guardian *guardian, const char *session_id)
{
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (!strcmp(cell->id, session_id))
			return cell;
	return NULL;
}

struct ac_cell *ac_cell_of_uid(struct ac_guardian *guardian, uid_t uid)
{
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (cell->watched && cell->uid == uid)
			return cell;
	return NULL;
}

struct ac_cell *ac_cell_new(struct ac_guardian *guardian, const char *session_id)
{
	struct ac_cell *cell = calloc(1, sizeof(*cell));

	if (!cell)
		return NULL;
	cell->guardian = guardian;
	(void)snprintf(cell->id, sizeof(cell->id), "%s", session_id);
	ac_session_init(&cell->session, guardian->config);
	cell->freeze_fd = cell->kill_fd = cell->sudo.fd = cell->launcher.fd = -1;
	cell->wall_clock.fd = -1;
	ac_refresh_init(&cell->refresh);
	cell->next = guardian->cells;
	guardian->cells = cell;
	return cell;
}

void ac_cell_free(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_cell **link = &guardian->cells;

	while (*link && *link != cell)
		link = &(*link)->next;
	if (*link)
		*link = cell->next;
	if (cell->watched)
		ac_watch_remove(guardian->watch, cell->uid);
	if (cell->client)
		ac_client_detach(cell->client);
	ac_refresh_fini(cell);
	ac_source_close(&cell->sudo);
	ac_source_close(&cell->launcher);
	ac_source_close(&cell->wall_clock);
	if (cell->freeze_fd >= 0)
		close(cell->freeze_fd);
	if (cell->kill_fd >= 0)
		close(cell->kill_fd);
	ac_network_leave(guardian, cell);
	if (cell->session.firewall_link >= 0)
		ac_errands_close(guardian->errands, ac_take_fd(&cell->session.firewall_link));
	ac_session_fini(&cell->session);
	free(cell->secrets);
	free(cell);
}

static struct ac_cell *cell_of_sudo(struct ac_source *source)
{
	return (struct ac_cell *)((char *)source - offsetof(struct ac_cell, sudo));
}

static void sudo_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_cell *cell = cell_of_sudo(source);

	(void)guardian;
	ac_source_close(source);
	ac_cell_end(cell, AC_EVENT_LOST, "sudo was killed");
}

static void launcher_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_cell *cell = (struct ac_cell *)((char *)source -
						  offsetof(struct ac_cell, launcher));
	struct ac_wire message;
	struct ac_err err;
	pid_t pid;

	if (ac_wire_receive(source->fd, &message, NULL, NULL, &pid, 0, &err) ||
		message.type != AC_WIRE_READY || strcmp(message.session_id, cell->id) != 0) {
		ac_source_close(source); /* after GO its end closes with the launcher's exec */
		if (!cell->launcher_ready)
			ac_cell_end(cell, AC_EVENT_LOST, "the launcher died before it was ready");
		return;
	}
	ac_cell_ready(guardian, cell, pid);
}

static void clock_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_cell *cell = (struct ac_cell *)((char *)source -
						  offsetof(struct ac_cell, wall_clock));

	(void)guardian;
	ac_source_close(source);
	if (cell->session.life.state == AC_STATE_RUNNING)
		ac_cell_end(cell, AC_EVENT_WALL_CLOCK, "its time was up");
	else
		ac_cell_end(cell, AC_EVENT_LOST, "the launcher did not come within 10 s");
}

int ac_cell_set_clock(
	struct ac_guardian *guardian, struct ac_cell *cell, uint64_t seconds, struct ac_err *err)
{
	struct itimerspec once = { .it_value = { .tv_sec = (time_t)seconds } };
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	ac_source_close(&cell->wall_clock);
	if (fd < 0 || timerfd_settime(fd, 0, &once, NULL))
		return ac_fail_errno(err, errno, "set the session's clock");
	return ac_source_add(guardian, &cell->wall_clock, fd, clock_ready, err);
}

static int open_controls(struct ac_cell *cell, struct ac_err *err)
{
	int fd = ac_cgroup_open(cell->id, err);
	struct stat status;

	if (fd < 0)
		return fd;
	cell->session.cgroup_fd = fd;
	if (!fstat(fd, &status))
		cell->cgroup_id = status.st_ino;
	cell->freeze_fd = openat(fd, "cgroup.freeze", O_WRONLY | O_CLOEXEC);
	cell->kill_fd = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (cell->freeze_fd < 0 || cell->kill_fd < 0)
		return ac_fail_errno(err, errno,
			"open cgroup.freeze and cgroup.kill (Linux 5.14) of session %s", cell->id);
	return 0;
}

/*
 * What sudo's side told us, and what the kernel holds, must be the same.  From here on what happens to
 * the elements is noticed.
 */
static int compare_elements(struct ac_session *session, void *context)
{
	struct ac_cell *cell = context;

	return ac_firewall_check(cell->uid, &cell->addresses, &session->err);
}

static int know_addresses(struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_policy *policy = &cell->session.policy->policy;
	int rc = ac_hosts_read(cell->session.journal.directory_fd, policy, &cell->addresses, err);

	if (!rc)
		rc = ac_refresh_begin(cell, err);
	if (rc || !policy->firewall_enabled)
		return rc;
	rc = ac_session_in_network(&cell->session, compare_elements, cell, &cell->session.err);
	if (rc)
		*err = cell->session.err;
	return rc;
}

static int make_judge(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_session_policy *policy = cell->session.policy;

	cell->judge.session = policy;
	cell->judge.silent = guardian->silent;
	cell->judge.declared = &cell->addresses;
	cell->judge.tolerated = &policy->policy.tolerated;
	return know_addresses(cell, err);
}

/* Both kinds of record must come back under the session's uid, or the session would be unwatched. */
static int fly_canary(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_policy *policy = &cell->session.policy->policy;
	unsigned wanted = AC_CANARY_RULE;
	bool landlock = false;
	int rc = ac_warden_canary(&guardian->warden, policy->uid, policy->gid, &landlock, err);

	if (!rc)
		rc = ac_guardian_sync(guardian, CANARY_MS, err);
	if (rc)
		return rc;
	if (landlock)
		wanted |= AC_CANARY_LANDLOCK;
	if (!ac_watch_read(guardian->watch, cell->uid, &guardian->watched))
		return ac_fail(err, EIO, "session %s is not watched", cell->id);
	if ((guardian->watched.canary & wanted) == wanted)
		return 0;
	return ac_fail(err, ENODATA, "the canary of session %s was refused, but %s: %s", cell->id,
		guardian->watched.canary & AC_CANARY_RULE
			? "Landlock's record did not arrive"
			: "the audit rule's record did not arrive",
		"look for 'never' or 'exclude' rules of the site (auditctl -l)");
}

static int prepare(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_policy *policy;
	int rc = ac_session_open(&cell->session, cell->id, err);

	if (rc)
		return rc;
	policy = &cell->session.policy->policy;
	cell->uid = policy->uid;
	ac_session_hold_access(&cell->session);
	rc = open_controls(cell, err);
	if (!rc)
		rc = ac_network_join(guardian, cell, err);
	if (!rc)
		rc = make_judge(guardian, cell, err);
	if (!rc)
		rc = ac_watch_add(guardian->watch, cell->uid, &cell->judge, cell->freeze_fd,
			cell->kill_fd, err);
	if (rc)
		return rc;
	cell->watched = true;
	return fly_canary(guardian, cell, err);
}

struct ac_cell *ac_cell_register(struct ac_guardian *guardian, const char *session_id,
	pid_t sudo_pid, int pidfd, int launcher_fd, struct ac_err *err)
{
	struct ac_cell *cell = NULL;
	int on = 1, rc = 0;

	if (guardian->health.wrong)
		(void)ac_fail(err, EIO, "not watching: %s", guardian->health.wrong);
	else if (ac_cell_find(guardian, session_id))
		(void)ac_fail(err, EEXIST, "session %s is registered already", session_id);
	else if (!(cell = ac_cell_new(guardian, session_id)))
		(void)ac_fail_errno(err, ENOMEM, "no memory for session %s", session_id);
	if (!cell) {
		close(pidfd);
		close(launcher_fd);
		return NULL;
	}
	cell->sudo_pid = sudo_pid;
	cell->sudo.fd = pidfd;
	cell->launcher.fd = launcher_fd;
	if (setsockopt(launcher_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		rc = ac_fail_errno(err, errno, "ask the kernel who the launcher is");
	if (!rc)
		rc = prepare(guardian, cell, err);
	if (!rc)
		rc = ac_source_add(guardian, &cell->sudo, pidfd, sudo_ready, err);
	if (!rc)
		rc = ac_source_add(guardian, &cell->launcher, launcher_fd, launcher_ready, err);
	if (rc) {
		ac_cell_free(guardian, cell);
		return NULL;
	}
	return cell;
}

/* From here on we hold the lock and drive; sudo waits. */
int ac_cell_arm(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	struct ac_journal_record record;
	int rc = ac_journal_lock(&cell->session.journal);

	if (rc)
		return ac_fail_errno(err, -rc, "take over session %s", cell->id);
	rc = ac_journal_last(&cell->session.journal, &record, err);
	if (!rc && (record.life.state != AC_STATE_SWITCH || record.life.cause != AC_CAUSE_NONE))
		rc = ac_fail(err, EINVAL, "session %s is in state %s, not switch", cell->id,
			ac_state_name(record.life.state));
	if (!rc)
		rc = ac_cell_set_clock(guardian, cell, LAUNCHER_S, err);
	if (rc) {
		ac_journal_unlock(&cell->session.journal);
		return rc;
	}
	cell->session.life = record.life;
	ac_cell_set_hooks(cell);
	cell->owned = true;
	return 0;
}

void ac_cell_freeze(struct ac_guardian *guardian, struct ac_cell *cell)
{
	if (cell->watched)
		ac_watch_freeze(guardian->watch, cell->uid,
			cell->stopped || cell->suspect || cell->unheld ||
				guardian->health.wrong != NULL);
}

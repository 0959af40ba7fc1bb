/* SPDX-License-Identifier: ISC */
/*
 * The loop and what it stands on.  One event is handled per round, so that a handler may close and
 * free whatever it likes.
 */
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "cell.h"
#include "cgroup.h"
#include "clock.h"
#include "confine.h"
#include "network.h"
#include "safefile.h"
#include "util.h"

#define SYNC_STEP_MS 20
#define LOCK_FILE AC_RUN_DIRECTORY "/agentcelld.lock"

uint64_t ac_now_ms(void)
{
	return (uint64_t)ac_clock_ms(CLOCK_BOOTTIME);
}

int ac_source_add(struct ac_guardian *guardian, struct ac_source *source, int fd,
	void (*ready)(struct ac_guardian *, struct ac_source *), struct ac_err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	source->fd = fd;
	source->ready = ready;
	if (epoll_ctl(guardian->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return ac_fail_errno(err, errno, "watch a descriptor");
	return 0;
}

void ac_source_close(struct ac_source *source)
{
	if (source->fd >= 0)
		close(ac_take_fd(&source->fd)); /* the last reference: epoll forgets it */
}

void ac_guardian_beat(struct ac_guardian *guardian)
{
	atomic_fetch_add(&guardian->warden.pulse->guardian, 1);
}

int ac_guardian_sync(struct ac_guardian *guardian, int timeout_ms, struct ac_err *err)
{
	uint64_t end = ac_now_ms() + (uint64_t)timeout_ms, mark;
	int rc;

	if (getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
		return ac_fail_errno(err, EIO, "make a mark");
	guardian->health.mark = 0; /* ours takes its place */
	ac_watch_expect(guardian->watch, mark);
	rc = ac_kernel_send_mark(&guardian->kernel, mark, err);
	while (!rc && !ac_watch_saw(guardian->watch, mark)) {
		struct pollfd poll_fd = { .fd = ac_watch_event_fd(guardian->watch),
			.events = POLLIN };
		uint64_t drained;

		if (ac_now_ms() >= end)
			return ac_fail(err, ETIMEDOUT,
				"our own record did not come back on the audit stream within %d ms",
				timeout_ms);
		(void)poll(&poll_fd, 1, SYNC_STEP_MS);
		(void)!read(poll_fd.fd, &drained, sizeof(drained));
	}
	return rc;
}

static void handle_report(struct ac_guardian *guardian)
{
	struct ac_report *report = &guardian->report;
	struct ac_cell *cell = ac_cell_of_uid(guardian, report->uid);

	if (!cell)
		return;
	if (report->kind == AC_VERDICT_RESOLVE) {
		ac_guardian_beat(guardian);
		ac_resolve(cell, report);
		ac_watch_resolved(guardian->watch, report->uid, report);
	}
	if (report->kind == AC_VERDICT_DENIED)
		ac_cell_denied(guardian, cell, report);
}

void ac_guardian_collect(struct ac_guardian *guardian)
{
	uint64_t drained;

	(void)!read(ac_watch_event_fd(guardian->watch), &drained, sizeof(drained));
	while (ac_watch_take(guardian->watch, &guardian->report))
		handle_report(guardian);
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (cell->watched &&
			ac_watch_read(guardian->watch, cell->uid, &guardian->watched) &&
			guardian->watched.escaped)
			ac_cell_end(cell, AC_EVENT_ESCAPE, "it tried to leave its cell");
}

static void tell_queue(struct ac_guardian *guardian)
{
	struct audit_status status;

	if (ac_watch_asks_queue(guardian->watch) &&
		!ac_kernel_status(&guardian->kernel, &status, NULL))
		ac_watch_tell_queue(guardian->watch, status.backlog, status.backlog_limit);
}

static void stream_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_stream stream;

	(void)source;
	ac_guardian_collect(guardian);
	tell_queue(guardian);
	ac_watch_stream(guardian->watch, &stream);
	if (stream.config_changes != guardian->health.config_changes || stream.closed ||
		stream.overruns != guardian->health.overruns ||
		stream.missing != guardian->health.missing)
		ac_health_check(guardian);
}

static void signal_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
		guardian->stopping = true;
}

static void second_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	uint64_t expirations;

	if (read(source->fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return;
	guardian->seconds++;
	ac_health_check(guardian);
	for (struct ac_cell *cell = guardian->cells, *next; cell; cell = next) {
		next = cell->next;
		ac_cell_second(guardian, cell);
	}
	if (guardian->owner_gone || guardian->seconds % 10 == 0) {
		guardian->owner_gone = false;
		ac_adopt(guardian);
	}
	if (guardian->seconds % 10 == 0)
		ac_leftovers_settle(guardian);
	ac_adopt_strays(guardian);
}

/* Without the warden a kill -9 of the listener would leave cells alone: another one, or no cells. */
static void warden_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	(void)source;
	syslog(LOG_ALERT, "the warden is dead: no session may go on");
	guardian->stopping = true;
}

static int make_second(struct ac_guardian *guardian, struct ac_err *err)
{
	struct itimerspec each = { { 1, 0 }, { 1, 0 } };
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &each, NULL))
		return ac_fail_errno(err, errno, "make a timer");
	return ac_source_add(guardian, &guardian->second, fd, second_ready, err);
}

static int make_signals(struct ac_guardian *guardian, struct ac_err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return ac_fail_errno(err, errno, "block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return ac_fail_errno(err, errno, "make a signal descriptor");
	return ac_source_add(guardian, &guardian->signals, fd, signal_ready, err);
}

static int read_files(struct ac_guardian *guardian, const char *config_path, struct ac_err *err)
{
	int rc;

	guardian->config = calloc(1, sizeof(*guardian->config));
	guardian->silent = calloc(1, sizeof(*guardian->silent));
	if (!guardian->config || !guardian->silent)
		return ac_fail_errno(err, ENOMEM, "no memory");
	rc = ac_config_read(config_path, guardian->config, err);
	if (!rc)
		rc = ac_silent_read(AC_SILENT_FILE, guardian->silent, err);
	if (!rc)
		rc = ac_rules_read(AC_RULES_FILE, guardian->config->uid_first,
			guardian->config->uid_last, &guardian->rules, err);
	return rc;
}

static int make_directories(struct ac_err *err)
{
	static const struct {
		const char *path;
		mode_t mode;
	} directories[] = { { AC_RUN_DIRECTORY, 0755 }, { AC_SESSIONS_DIRECTORY, 0700 },
		{ AC_UIDS_DIRECTORY, 0700 } };

	for (unsigned i = 0; i < AC_COUNT(directories); i++) {
		int fd = ac_make_directory(directories[i].path, directories[i].mode, err);

		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

/* One listener on a machine: what it changes in the kernel is put back by the one that changed it. */
static int lock_out_others(struct ac_guardian *guardian, struct ac_err *err)
{
	guardian->lock_fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (guardian->lock_fd < 0)
		return ac_fail_errno(err, errno, "open %s", LOCK_FILE);
	if (flock(guardian->lock_fd, LOCK_EX | LOCK_NB))
		return ac_fail(err, EBUSY, "another listener is running (%s is locked)", LOCK_FILE);
	return 0;
}

/* The warden comes first: it is forked while there is one thread, and must outlive all else. */
static int start(struct ac_guardian *guardian, const char *config_path, struct ac_err *err)
{
	int rc = read_files(guardian, config_path, err);

	if (!rc)
		rc = make_directories(err);
	if (!rc)
		rc = ac_cgroup_make_room(err);
	if (!rc)
		rc = ac_confine(err);
	if (!rc)
		rc = ac_warden_start(&guardian->warden, err);
	if (!rc) /* behind the fork: the warden must not hold it */
		rc = lock_out_others(guardian, err);
	if (!rc && mlockall(MCL_CURRENT | MCL_FUTURE))
		syslog(LOG_WARNING, "memory is not locked (CAP_IPC_LOCK): %m");
	guardian->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!rc && guardian->epoll_fd < 0)
		rc = ac_fail_errno(err, errno, "epoll_create1");
	if (!rc)
		rc = make_signals(guardian, err);
	if (!rc)
		guardian->watch = ac_watch_create(
			guardian->config->uid_first, guardian->config->uid_last, err);
	if (!rc && !guardian->watch)
		rc = -err->code;
	if (!rc)
		rc = ac_health_init(guardian, err);
	if (!rc)
		rc = ac_network_init(guardian, err);
	return rc;
}

static int serve(struct ac_guardian *guardian, struct ac_err *err)
{
	int rc = ac_source_add(
		guardian, &guardian->stream, ac_watch_event_fd(guardian->watch), stream_ready, err);

	if (!rc)
		rc = ac_source_add(guardian, &guardian->warden_source, guardian->warden.pidfd,
			warden_ready, err);
	if (!rc)
		rc = make_second(guardian, err);
	if (rc)
		return rc;
	guardian->errands = ac_errands_start();
	ac_adopt(guardian);
	ac_bygone_end(guardian->config->log_path);
	ac_leftovers_settle(guardian);
	return ac_client_listen(guardian, err);
}

static void loop(struct ac_guardian *guardian)
{
	while (!guardian->stopping) {
		struct epoll_event event;
		struct ac_source *source;
		int count = epoll_wait(guardian->epoll_fd, &event, 1, 1000);

		ac_guardian_beat(guardian);
		if (count < 1)
			continue;
		source = event.data.ptr;
		source->ready(guardian, source);
		ac_cells_settle(guardian);
	}
}

static void stop(struct ac_guardian *guardian)
{
	ac_source_close(&guardian->listener);
	if (guardian->listener.ready)
		(void)unlink(AC_SOCKET);
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		ac_cell_end(cell, AC_EVENT_LOST, "the listener was stopped");
	ac_cells_settle(guardian);
	while (guardian->cells) /* what would not end keeps its journal: the next one adopts it */
		ac_cell_free(guardian, guardian->cells);
	while (guardian->clients)
		ac_client_close(guardian, guardian->clients);
	ac_leftovers_leave(guardian);
	ac_network_fini(guardian);
	ac_errands_stop(guardian->errands);
	ac_health_fini(guardian);
	ac_watch_destroy(guardian->watch);
	ac_rules_fini(&guardian->rules);
	ac_warden_stop(&guardian->warden);
	ac_source_close(&guardian->signals);
	ac_source_close(&guardian->second);
	if (guardian->epoll_fd >= 0)
		close(guardian->epoll_fd);
	if (guardian->lock_fd >= 0)
		close(guardian->lock_fd);
	free(guardian->silent);
	free(guardian->config);
	free(guardian);
}

int ac_guardian_run(const char *config_path, int ready_fd, bool plugin)
{
	struct ac_guardian *guardian = calloc(1, sizeof(*guardian));
	struct ac_err err = { 0 };
	int rc;

	if (!guardian)
		return 1;
	guardian->epoll_fd = guardian->kernel.fd = guardian->warden.fd = guardian->warden.pidfd =
		-1;
	guardian->lock_fd = -1;
	guardian->plugin = plugin;
	guardian->listener.fd = guardian->signals.fd = guardian->second.fd = -1;
	rc = start(guardian, config_path, &err);
	if (!rc)
		rc = serve(guardian, &err);
	if (!rc) {
		ac_ready_tell(ready_fd);
		syslog(LOG_INFO, "watching uids %u-%u%s", guardian->config->uid_first,
			guardian->config->uid_last,
			ac_watch_is_realtime(guardian->watch) ? ""
							      : ", without real-time priority");
		loop(guardian);
	} else {
		syslog(LOG_ERR, "%s", err.text);
	}
	stop(guardian);
	return rc ? 1 : 0;
}

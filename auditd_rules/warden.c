/* SPDX-License-Identifier: ISC */
/*
 * The warden's loop.  It trusts nothing but the pulse and its own clock, and allocates nothing while
 * all is well.
 */
#include "warden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "canary.h"
#include "cgroup.h"
#include "clock.h"
#include "journal.h"
#include "log.h"
#include "util.h"

#define ROUND_MS 250
#define KILL_MS 2000
#define ANSWER_MS 3000
#define NICE (-10)

#define TEXT_MAX 20000 /* two names of AC_PATH_MAX, in hex */

enum { ASK_CANARY = 1, ASK_STOP, ASK_RECORD };

struct question { /* sent as far as it is used */
	uint32_t what;
	uid_t uid; /* of a record: the login's */
	gid_t gid;
	int32_t type;
	uint32_t success;
	char text[TEXT_MAX];
};

#define WITHOUT_TEXT offsetof(struct question, text)

struct answer {
	int32_t status; /* 0, or what went wrong */
	uint32_t landlock;
};

struct pulse_watch { /* one pulse as the warden sees it */
	uint64_t value;
	int64_t changed_ms;
};

static int kill_cell(void *context, const char *session_id)
{
	ac_autoclose int fd = ac_cgroup_open(session_id, NULL);

	(void)context;
	if (fd >= 0)
		(void)ac_cgroup_kill(fd, KILL_MS, NULL);
	return 0;
}

static void kill_all(struct ac_pulse *pulse)
{
	(void)ac_journal_sessions(kill_cell, NULL, NULL);
	atomic_fetch_add(&pulse->killed, 1);
}

/* True when the pulse has stood still for longer than limit; 0 beats: not started yet. */
static bool is_still(struct pulse_watch *watch, uint64_t value, int64_t limit)
{
	if (value != watch->value || !value) {
		watch->value = value;
		watch->changed_ms = ac_clock_ms(CLOCK_MONOTONIC);
		return false;
	}
	/* CLOCK_MONOTONIC: a suspended machine is nobody's fault. */
	return ac_clock_ms(CLOCK_MONOTONIC) - watch->changed_ms > limit;
}

static void play_canary(int fd, const struct question *question)
{
	struct answer answer = { .status = -1, .landlock = ac_canary_has_landlock() };
	pid_t pid = ac_canary_fly(question->uid, question->gid);
	int status;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		answer.status = WEXITSTATUS(status);
	(void)!send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
}

static bool become_login(uid_t loginuid)
{
	ac_autoclose int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && dprintf(fd, "%u", loginuid) > 0;
}

/* By a grandchild, which may wait for the kernel's queue as long as it must. */
static void play_record(const struct question *question)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0) {
			(void)become_login(question->uid); /* not allowed: then as whoever we are */
			(void)ac_log_audit(question->type, question->text, question->success, NULL);
		}
		_exit(0);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

/* Of the right size for what it asks; then true. */
static bool is_question(struct question *question, ssize_t length, uint32_t what)
{
	if (length < (ssize_t)WITHOUT_TEXT || question->what != what)
		return false;
	question->text[(size_t)length - WITHOUT_TEXT < TEXT_MAX ? (size_t)length - WITHOUT_TEXT
								: TEXT_MAX - 1] = 0;
	return true;
}

static void run(int fd, struct ac_pulse *pulse)
{
	static struct question question;
	struct pulse_watch watch = { 0 }, guardian = { 0 };

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		ssize_t length = 0;

		(void)poll(&poll_fd, 1, ROUND_MS);
		if (poll_fd.revents) {
			length = recv(fd, &question, sizeof(question), MSG_DONTWAIT);
			if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
				kill_all(pulse); /* the listener is dead */
				return;
			}
		}
		if (is_question(&question, length, ASK_STOP))
			return;
		if (is_question(&question, length, ASK_CANARY))
			play_canary(fd, &question);
		if (is_question(&question, length, ASK_RECORD))
			play_record(&question);
		if (is_still(&watch, atomic_load(&pulse->watch), AC_WARDEN_BLIND_MS) ||
			is_still(&guardian, atomic_load(&pulse->guardian), AC_WARDEN_STUCK_MS))
			kill_all(pulse);
	}
}

static void become_warden(int fd, struct ac_pulse *pulse)
{
	sigset_t none;

	/* The service manager's and the terminal's signals are for the listener; its death is ours. */
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, number == SIGCHLD ? SIG_DFL : SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "agentcell-ward");
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)mlockall(MCL_CURRENT);
	run(fd, pulse);
	_exit(0);
}

int ac_warden_start(struct ac_warden *warden, struct ac_err *err)
{
	struct ac_pulse *pulse = mmap(
		NULL, sizeof(*pulse), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pair[2] = { -1, -1 };
	pid_t pid = -1;

	if (pulse != MAP_FAILED && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		pid = fork();
	if (pid == 0) {
		close(pair[0]);
		become_warden(pair[1], pulse);
	}
	if (pid < 0) {
		int code = errno;

		if (pair[0] >= 0)
			close(pair[0]);
		if (pair[1] >= 0)
			close(pair[1]);
		if (pulse != MAP_FAILED)
			munmap(pulse, sizeof(*pulse));
		return ac_fail_errno(err, code, "start the warden");
	}
	close(pair[1]);
	*warden = (struct ac_warden){ pid, (int)syscall(SYS_pidfd_open, pid, 0), pair[0], pulse };
	if (warden->pidfd < 0)
		return ac_fail_errno(err, errno, "hold the warden's pidfd");
	return 0;
}

static bool ask(struct ac_warden *warden, const struct question *question, size_t text_length)
{
	size_t length = WITHOUT_TEXT + text_length;

	return send(warden->fd, question, length, MSG_NOSIGNAL) == (ssize_t)length;
}

int ac_warden_record(
	struct ac_warden *warden, uid_t loginuid, int type, const char *text, bool success)
{
	static struct question question; /* the guardian is one thread; too large for a stack */
	size_t length = strlen(text);

	if (length >= TEXT_MAX)
		return -EMSGSIZE;
	question = (struct question){
		.what = ASK_RECORD, .uid = loginuid, .type = type, .success = success
	};
	memcpy(question.text, text, length);
	return ask(warden, &question, length) ? 0 : -errno;
}

int ac_warden_canary(
	struct ac_warden *warden, uid_t uid, gid_t gid, bool *landlock, struct ac_err *err)
{
	struct question question = { .what = ASK_CANARY, .uid = uid, .gid = gid };
	struct pollfd poll_fd = { .fd = warden->fd, .events = POLLIN };
	struct answer answer;

	if (!ask(warden, &question, 0))
		return ac_fail_errno(err, errno, "ask the warden for a canary");
	while (poll(&poll_fd, 1, ANSWER_MS) < 0 && errno == EINTR)
		;
	if (recv(warden->fd, &answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer))
		return ac_fail(err, ETIMEDOUT, "the warden does not answer");
	if (answer.status == 2)
		return ac_fail(err, EPROTO,
			"the canary was not refused what it must be: is " AC_SESSIONS_DIRECTORY
			" readable by others?");
	if (answer.status)
		return ac_fail(err, EPROTO,
			"the canary could not take uid %u or confine itself (%d)", uid,
			answer.status);
	*landlock = answer.landlock;
	return 0;
}

void ac_warden_stop(struct ac_warden *warden)
{
	struct question question = { .what = ASK_STOP };

	if (warden->fd < 0)
		return;
	(void)ask(warden, &question, 0);
	close(ac_take_fd(&warden->fd));
	while (waitpid(warden->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (warden->pidfd >= 0)
		close(ac_take_fd(&warden->pidfd));
}

/* SPDX-License-Identifier: ISC */
/*
 * Taking back the access that a session had by ACL: path by path, in a child where the caller must not
 * stand still.  Parent and child share a page that says what is done, so that no tree is walked twice.
 *
 * The child of such a caller is there from the session's start: it holds the declared objects open, so
 * that they are found wherever they were moved, and it alone looks up their paths, which may lie on a
 * server that is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access_back.h"
#include "access_note.h"
#include "names.h"
#include "resolve.h"
#include "session.h"
#include "util.h"

#define MOMENT_MS 50 /* a small project's end is not put off to the next second */

struct progress { /* shared memory */
	bool is_done[AC_PATHS_MAX];
	bool is_over; /* the note is gone, too */
	struct ac_err err;
};

struct ac_session_access {
	int fd[AC_PATHS_MAX]; /* in the child: the declared object, or -1 */
	struct progress *progress;
	pid_t child; /* or 0 */
	pid_t parent; /* in the child; else 0 */
	int child_fd, go_fd; /* its pidfd, the pipe by which it is told to begin; or -1 */
	bool has_waited;
};

static int start_child(struct ac_session *session);

/* The very object that was judged, so nobody's rights are asked again. */
static int open_judged(const struct ac_path_entry *entry)
{
	ac_autoclose int fd = ac_access_look_up(entry);

	return fd >= 0 && ac_access_is_same(fd, entry) ? ac_take_fd(&fd) : -1;
}

void ac_session_hold_access(struct ac_session *session)
{
	const struct ac_policy *policy = &session->policy->policy;
	struct ac_session_access *held;

	if (!policy->access_acl || session->access)
		return;
	held = calloc(1, sizeof *held);
	if (!held)
		return;
	held->progress = mmap(NULL, sizeof *held->progress, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (held->progress == MAP_FAILED) {
		free(held);
		return;
	}
	held->child_fd = held->go_fd = -1;
	session->access = held;
	(void)start_child(session); /* or again when it is needed */
}

static void forget_child(struct ac_session_access *held)
{
	held->child = 0;
	held->has_waited = false;
	if (held->child_fd >= 0)
		close(ac_take_fd(&held->child_fd));
	if (held->go_fd >= 0)
		close(ac_take_fd(&held->go_fd));
}

void ac_session_leave_access(struct ac_session *session)
{
	struct ac_session_access *held = AC_TAKE(session->access);

	if (!held)
		return;
	/* Whoever has the session next begins again. */
	if (held->child > 0) {
		(void)kill(held->child, SIGKILL);
		while (waitpid(held->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	forget_child(held);
	munmap(held->progress, sizeof *held->progress);
	free(held);
}

static void name_note(char name[32], unsigned index)
{
	snprintf(name, 32, "access.%u", index);
}

/* What was never given need not be found. */
static bool is_noted(int directory, unsigned index)
{
	struct stat status;
	char name[32];

	name_note(name, index);
	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* For after the machine's going down (access_note.h): what was given, less what is done. */
static int write_note(const struct ac_session_policy *session, int directory, const bool *is_done,
	struct ac_err *err)
{
	const struct ac_plan *plan = &session->plan;
	const struct ac_path_list *paths = &session->policy.write_paths;
	ac_autofree struct ac_access_note *note = calloc(1, sizeof *note);

	if (!note)
		return ac_fail_errno(err, ENOMEM, "no memory to note access by ACL");
	memcpy(note->session_id, plan->session_id, sizeof note->session_id);
	note->user_uid = plan->user_uid;
	note->user_gid = plan->user_gid;
	note->group_count = plan->group_count;
	memcpy(note->groups, plan->groups, sizeof note->groups);
	note->session_uid = session->policy.uid;
	note->session_gid = session->policy.gid;
	for (unsigned i = 0; i < paths->count; i++)
		if (!is_done[i] && is_noted(directory, i))
			note->paths.entry[note->paths.count++] = paths->entry[i];
	return ac_access_note_write(note, err);
}

int ac_session_note_access(
	const struct ac_session_policy *session, unsigned index, struct ac_err *err)
{
	static const bool none_done[AC_PATHS_MAX];
	char path[AC_PATH_MAX], name[32];

	name_note(name, index);
	snprintf(path, sizeof path, AC_SESSIONS_DIRECTORY "/%s", session->plan.session_id);
	ac_autoclose int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ac_autoclose int fd = directory < 0
				      ? -1
				      : openat(directory, name,
						O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return ac_fail_errno(err, errno, "cannot write %s/%s", path, name);
	return write_note(session, directory, none_done, err);
}

static struct ac_access_back back_of(const struct ac_session *session)
{
	const struct ac_plan *plan = &session->policy->plan;
	struct ac_access_back back = {
		.access = ac_access_of(session->policy),
		.user = { plan->user_uid, plan->user_gid, plan->group_count, plan->groups },
		.parent = session->access ? session->access->parent : 0,
	};

	if (session->config) {
		back.access.uid_first = session->config->uid_first;
		back.access.uid_last = session->config->uid_last;
	}
	return back;
}

/* All that can be done is done, whatever fails. */
static int revoke_all(struct ac_session *session)
{
	const struct ac_path_list *paths = &session->policy->policy.write_paths;
	const struct ac_session_access *held = session->access;
	const struct ac_access_back back = back_of(session);
	int directory = session->journal.directory_fd, result = 0;
	bool own_done[AC_PATHS_MAX] = { false }, is_new = false;
	bool *is_done = held ? held->progress->is_done : own_done;

	for (unsigned i = 0; i < paths->count; i++) {
		if (is_done[i] || !is_noted(directory, i))
			continue;
		int one = ac_access_take_back(
			&back, &paths->entry[i], held ? held->fd[i] : -1, &session->err);

		is_new = is_new || one == 0;
		is_done[i] = one == 0;
		if (one && !result)
			result = one;
	}
	if (!is_new && result)
		return result;
	struct ac_err *err = &session->err, ignored;
	int written = write_note(session->policy, directory, is_done, result ? &ignored : err);

	if (!result && held)
		held->progress->is_over = written == 0;
	return result ? result : written;
}

/* The parent's connections must end when the parent ends them. */
static void keep_own(int one, int other)
{
	unsigned low = (unsigned)(one < other ? one : other),
		 high = (unsigned)(one < other ? other : one);

	if (low > 3)
		(void)close_range(3, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0u, 0);
}

/* Holds, waits for the word, takes back.  Without a word the parent has let go of the session. */
static _Noreturn void be_child(struct ac_session *session, pid_t parent, int go_fd)
{
	const struct ac_path_list *paths = &session->policy->policy.write_paths;
	struct ac_session_access *held = session->access;
	char word;

	held->parent = parent;
	ac_access_die_with(parent);
	keep_own(session->journal.directory_fd, go_fd);
	for (unsigned i = 0; i < paths->count; i++)
		held->fd[i] = open_judged(&paths->entry[i]);
	if (read(go_fd, &word, 1) != 1)
		_exit(1);
	int result = revoke_all(session);

	held->progress->err = session->err;
	_exit(result ? 1 : 0);
}

static int start_child(struct ac_session *session)
{
	struct ac_session_access *held = session->access;
	pid_t parent = getpid();
	int word[2];

	if (pipe2(word, O_CLOEXEC) != 0)
		return ac_fail_errno(&session->err, errno, "cannot make a pipe");
	ac_autoclose int go_fd = word[0];

	held->go_fd = word[1];
	held->progress->err.code = 0;
	pid_t pid = fork();

	if (pid == 0)
		be_child(session, parent, go_fd);
	if (pid < 0) {
		int code = errno;

		forget_child(held);
		return ac_fail_errno(&session->err, code, "cannot start a process");
	}
	held->child = pid;
	held->child_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/* A second word would be nobody's: the pipe is closed with the first. */
static void let_go(struct ac_session_access *held)
{
	if (held->go_fd < 0)
		return;
	(void)!write(held->go_fd, "", 1);
	close(ac_take_fd(&held->go_fd));
}

static bool is_all_done(const struct ac_session *session)
{
	unsigned count = session->policy->policy.write_paths.count;

	if (session->access->progress->is_over)
		return true;
	for (unsigned i = 0; i < count; i++)
		if (is_noted(session->journal.directory_fd, i))
			return false;
	return true; /* nothing was ever given */
}

static int wait_for_child(struct ac_session *session)
{
	struct ac_session_access *held = session->access;
	struct pollfd poll_fd = { .fd = held->child_fd, .events = POLLIN };
	pid_t pid;

	(void)poll(&poll_fd, 1, held->has_waited ? 0 : MOMENT_MS);
	held->has_waited = true;
	pid = waitpid(held->child, NULL, WNOHANG);
	if (pid == 0 || (pid < 0 && errno == EINTR)) {
		session->comes_again = true; /* the moment was the wait */
		return ac_fail(&session->err, EAGAIN,
			"still taking back the session's access to its paths");
	}
	forget_child(held);
	if (is_all_done(session))
		return 0;
	session->err = held->progress->err;
	return session->err.code ? -session->err.code
				 : ac_fail(&session->err, ECHILD,
					   "the process that takes back the session's access died");
}

int ac_session_revoke_access(struct ac_session *session)
{
	const struct ac_policy *policy = &session->policy->policy;
	int result = 0;

	if (!policy->access_acl)
		return 0;
	if (!session->access)
		return revoke_all(session);
	if (is_all_done(session))
		return 0;
	if (!session->access->child)
		result = start_child(session);
	if (result)
		return result;
	let_go(session->access);
	return wait_for_child(session);
}

/* SPDX-License-Identifier: ISC */
/*
 * Taking back the access that a session had by ACL: path by path, in a child where the caller must not
 * stand still.  Parent and child share a page that says what is done, so that no tree is walked twice.
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

#define MOMENT_MS 300

struct progress { /* shared memory */
	bool is_done[AC_PATHS_MAX];
	bool is_over; /* the note is gone, too */
	struct ac_err err;
};

struct ac_session_access {
	int fd[AC_PATHS_MAX]; /* the declared object, or -1 */
	struct progress *progress;
	pid_t child; /* or 0 */
	pid_t parent; /* in the child; else 0 */
	int child_fd;
};

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
	held->child_fd = -1;
	for (unsigned i = 0; i < AC_PATHS_MAX; i++)
		held->fd[i] = i < policy->write_paths.count
				      ? open_judged(&policy->write_paths.entry[i])
				      : -1;
	session->access = held;
}

void ac_session_leave_access(struct ac_session *session)
{
	struct ac_session_access *held = AC_TAKE(session->access);

	if (!held)
		return;
	for (unsigned i = 0; i < AC_PATHS_MAX; i++)
		if (held->fd[i] >= 0)
			close(held->fd[i]);
	/* Whoever has the session next begins again. */
	if (held->child > 0) {
		(void)kill(held->child, SIGKILL);
		while (waitpid(held->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (held->child_fd >= 0)
		close(held->child_fd);
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

static int by_number(const void *a, const void *b)
{
	const int *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The parent's connections must end when the parent ends them. */
static void keep_own(const struct ac_session *session)
{
	int kept[AC_PATHS_MAX + 1];
	unsigned from = 3;

	memcpy(kept, session->access->fd, sizeof session->access->fd);
	kept[AC_PATHS_MAX] = session->journal.directory_fd;
	qsort(kept, AC_COUNT(kept), sizeof kept[0], by_number);
	for (size_t i = 0; i < AC_COUNT(kept); i++) {
		if (kept[i] < (int)from)
			continue;
		if (kept[i] > (int)from)
			(void)close_range(from, (unsigned)kept[i] - 1, 0);
		from = (unsigned)kept[i] + 1;
	}
	(void)close_range(from, ~0u, 0);
}

static int start_child(struct ac_session *session)
{
	struct ac_session_access *held = session->access;
	pid_t parent = getpid();

	held->progress->err.code = 0;
	pid_t pid = fork();

	if (pid < 0)
		return ac_fail_errno(&session->err, errno, "cannot start a process");
	if (pid == 0) {
		held->parent = parent;
		ac_access_die_with(parent);
		keep_own(session);
		int result = revoke_all(session);

		held->progress->err = session->err;
		_exit(result ? 1 : 0);
	}
	held->child = pid;
	held->child_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
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

	(void)poll(&poll_fd, 1, MOMENT_MS);
	pid = waitpid(held->child, NULL, WNOHANG);
	if (pid == 0 || (pid < 0 && errno == EINTR)) {
		session->comes_again = true; /* the moment was the wait */
		return ac_fail(&session->err, EAGAIN,
			"still taking back the session's access to its paths");
	}
	if (held->child_fd >= 0)
		close(ac_take_fd(&held->child_fd));
	held->child = 0;
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
	return result ? result : wait_for_child(session);
}

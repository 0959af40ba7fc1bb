/* SPDX-License-Identifier: ISC */
/*
 * Access by ACL that no session is left to take back: the machine went down in the middle of it
 * (access_note.h).  Looked for at the start and every ten seconds.  A tree may be large, or on a server
 * that does not answer, so each note has a child of its own, and nobody waits for it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "access_back.h"
#include "access_note.h"
#include "account.h"
#include "guardian.h"
#include "util.h"

#define CHILDREN_MAX 32 /* at a time */

struct ac_leftover {
	struct ac_leftover *next;
	struct ac_source child; /* pidfd */
	pid_t pid;
	uid_t uid;
};

static unsigned count(const struct ac_guardian *guardian)
{
	unsigned sum = 0;

	for (const struct ac_leftover *one = guardian->leftovers; one; one = one->next)
		sum++;
	return sum;
}

static const struct ac_leftover *find(const struct ac_guardian *guardian, uid_t uid)
{
	const struct ac_leftover *one = guardian->leftovers;

	while (one && one->uid != uid)
		one = one->next;
	return one;
}

static void drop(struct ac_guardian *guardian, struct ac_leftover *leftover)
{
	struct ac_leftover **link = &guardian->leftovers;

	while (*link != leftover)
		link = &(*link)->next;
	*link = leftover->next;
	while (waitpid(leftover->pid, NULL, 0) < 0 && errno == EINTR)
		;
	ac_source_close(&leftover->child);
	free(leftover);
}

static void child_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	drop(guardian,
		(struct ac_leftover *)((char *)source - offsetof(struct ac_leftover, child)));
}

static _Noreturn void settle(
	const struct ac_guardian *guardian, uid_t uid, bool is_to_tell, pid_t parent)
{
	char session_id[AC_SESSION_ID_SIZE] = "";
	struct ac_err err = { 0 };

	ac_access_die_with(parent);
	closelog(); /* the parent's connections must end when the parent ends them */
	(void)close_range(3, ~0u, 0);
	int result = ac_access_note_settle(uid, guardian->config, parent, session_id, &err);

	if (result && is_to_tell)
		syslog(LOG_ALERT,
			"access by ACL that was left when the machine went down is not taken back, "
			"and uid %u not used: %s; trying again (or see to it, and "
			"remove " AC_ACL_DIRECTORY "/%u)",
			(unsigned)uid, err.text, (unsigned)uid);
	else if (!result && *session_id)
		syslog(LOG_NOTICE,
			"session %s: the machine went down in the middle of it; its access by ACL "
			"is taken back, uid %u is free",
			session_id, (unsigned)uid);
	_exit(result ? 1 : 0);
}

static void start_child(struct ac_guardian *guardian, uid_t uid, bool is_to_tell)
{
	struct ac_leftover *leftover = calloc(1, sizeof(*leftover));
	struct ac_err err = { 0 };
	pid_t parent = getpid();
	pid_t pid = leftover ? fork() : -1;

	if (pid == 0)
		settle(guardian, uid, is_to_tell, parent);
	if (pid < 0) {
		syslog(LOG_ERR, "cannot start a process to take back access by ACL: %m");
		free(leftover);
		return;
	}
	leftover->pid = pid;
	leftover->uid = uid;
	leftover->next = guardian->leftovers;
	guardian->leftovers = leftover;
	leftover->child.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (leftover->child.fd >= 0 &&
		!ac_source_add(guardian, &leftover->child, leftover->child.fd, child_ready, &err))
		return;
	(void)kill(pid, SIGKILL); /* else nobody would see its end */
	drop(guardian, leftover);
}

struct round {
	struct ac_guardian *guardian;
	bool is_to_tell;
};

/* With a lease it is a session's own affair, or of whoever adopts that; unless the lease is stale. */
static void meet(void *context, uid_t uid)
{
	const struct round *round = context;

	if (find(round->guardian, uid)) {
		if (round->is_to_tell)
			syslog(LOG_WARNING, "still taking back the access by ACL of uid %u",
				(unsigned)uid);
		return;
	}
	if (ac_account_is_leased(uid) && !round->is_to_tell)
		return;
	if (count(round->guardian) < CHILDREN_MAX)
		start_child(round->guardian, uid, round->is_to_tell);
}

void ac_leftovers_settle(struct ac_guardian *guardian)
{
	struct round round = { guardian, guardian->seconds % 60 == 0 };
	struct ac_err err;

	if (ac_access_notes_each(meet, &round, &err))
		syslog(LOG_ERR, "%s", err.text);
}

/* What they have not done the next listener does. */
void ac_leftovers_leave(struct ac_guardian *guardian)
{
	while (guardian->leftovers) {
		(void)kill(guardian->leftovers->pid, SIGKILL);
		drop(guardian, guardian->leftovers);
	}
}

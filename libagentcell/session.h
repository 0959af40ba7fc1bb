/* SPDX-License-Identifier: ISC */
/*
 * The acts of the lifecycle in the real world: state -> function, nothing else.
 *
 * A struct ac_session is one process's hold on one session.  sudo's process (plugin and PAM module)
 * drives it from planned to switch; the listener from there to ended; whoever adopts an orphan the
 * rest.  The acts that differ between them are function pointers.
 */
#ifndef AC_SESSION_H
#define AC_SESSION_H

#include "backup.h"
#include "config.h"
#include "drive.h"
#include "firewall.h"
#include "journal.h"
#include "policy.h"

struct ac_session {
	struct ac_config *config; /* borrowed */
	struct ac_session_policy *policy; /* owned, heap */
	struct ac_journal journal;
	struct ac_life life;
	const char *variables; /* names of those that enter the cell; borrowed, may be NULL */
	int listener_fd; /* sudo's connection, -1 elsewhere */
	int launcher_fd; /* the listener's end of the launcher's socket pair while unsent, or -1 */
	int cgroup_fd; /* made beside the backup, -1 before */
	bool is_uid_unused; /* seen beside the backup */
	int network_namespace_fd; /* the one that the firewall elements are in, -1: the caller's */
	int firewall_link; /* the socket that removed the elements, or -1: closing it may take a while */
	struct ac_session_access *access; /* while it is held (below); owned, or NULL */
	struct ac_addresses *addresses; /* what the endpoints resolved to; owned, may be NULL */
	struct ac_err err; /* of the act that failed last */
	bool comes_again; /* who drives it must not stand still for one session, and comes again by itself */
	void *owner; /* for the hooks */
	/* Hooks; a missing one answers FAIL for monitor and switch, LOST for drain. */
	enum ac_life_event (*monitor)(struct ac_session *session);
	enum ac_life_event (*switch_user)(struct ac_session *session);
	enum ac_life_event (*drain)(struct ac_session *session);
	/* Called early, when there is time: somebody may have to get ready.  May be NULL. */
	void (*announce)(struct ac_session *session);
	void (*progress)(void *context, const struct ac_backup_totals *totals);
	void *progress_context;
};

extern const struct ac_drive_ops ac_session_ops; /* world is a struct ac_session */

void ac_session_init(struct ac_session *session, struct ac_config *config);
void ac_session_fini(struct ac_session *session);

/* Runs function in the network namespace that the session's firewall elements are in: the one in
 * which sudo was started, which need not be the listener's. */
int ac_session_in_network(struct ac_session *session,
	int (*function)(struct ac_session *session, void *context), void *context,
	struct ac_err *err);

/*
 * Access by ACL (access.h) is noted in the session's directory before it is given (index: of the
 * policy's write_paths), and taken back before the uid is.  What lies at a declared path is cleaned
 * when it is what was declared, or carries the session's entry (moved between file systems, it is a
 * copy); while neither is there, the step fails, and whoever drives the session tries again: the uid is
 * not free as long as something may still name it.
 *
 * Who cannot wait for a large tree holds the access first: the paths stay open, wherever they are moved
 * to, and a child of its own does the work, a moment of which is waited for.  Best effort.
 */
int ac_session_note_access(
	const struct ac_session_policy *session, unsigned index, struct ac_err *err);
int ac_session_revoke_access(struct ac_session *session);
void ac_session_hold_access(struct ac_session *session);
void ac_session_leave_access(struct ac_session *session);

/* Opens a session that exists on disk: policy, journal (unlocked) and last state. */
int ac_session_open(struct ac_session *session, const char *session_id, struct ac_err *err);

/*
 * Ends a session that died so early that it has no policy: nothing of it exists but its directory and
 * its lease.  0; -EBUSY while its owner lives; -EEXIST when it came further (then adopt it).
 */
int ac_session_discard(const char *session_id, const struct ac_config *config, struct ac_err *err);

/* Writes the log and audit records of start and end.  The end record holds the journal in words. */
int ac_session_log_start(struct ac_session *session, struct ac_err *err);
int ac_session_log_end(struct ac_session *session, struct ac_err *err);

/* Once ENDED is in the journal: writes the end record and removes the session directory. */
int ac_session_finish(struct ac_session *session, struct ac_err *err);

#endif

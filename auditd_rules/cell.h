/* SPDX-License-Identifier: ISC */
/*
 * One registered session, as the guardian holds it.
 */
#ifndef AC_CELL_H
#define AC_CELL_H

#include "guardian.h"
#include "refresh.h"
#include "session.h"

#define AC_CELL_HISTORY 20
#define AC_CELL_LOGGED_PER_MINUTE 120

struct ac_denial { /* one line of the report */
	uint64_t time_ms;
	enum ac_operation operation;
	pid_t pid;
	char comm[32];
	char target[256];
	char reason[80];
};

struct ac_secret { /* what lies where a secret would be, as it was when the session was released */
	struct ac_object object;
	const char *path; /* the policy's */
};

struct ac_cell {
	struct ac_cell *next;
	struct ac_guardian *guardian;
	struct ac_client *client; /* NULL: the connection is gone, or an adopted orphan */
	struct ac_session session;
	struct ac_judge judge;
	struct ac_secret *secrets; /* heap */
	unsigned secret_count;
	struct ac_addresses addresses; /* declared, as the firewall has it; the judge's, too */
	struct ac_refresh refresh;
	char id[AC_SESSION_ID_SIZE];
	uid_t uid;
	pid_t sudo_pid, launcher_pid;
	int freeze_fd, kill_fd;
	struct ac_source sudo; /* pidfd: readable when sudo is dead */
	struct ac_source launcher; /* listener's end of the launcher's socket pair */
	struct ac_source wall_clock; /* also the limit for the launcher to come */
	bool watched; /* registered with the hot thread */
	bool owned; /* we hold the journal's lock and drive */
	bool launcher_ready;
	bool stopped; /* sudo is stopped: so is the cell */
	struct ac_network *network; /* NULL: the firewall is switched off */
	uint64_t cgroup_id;
	bool doubted, suspect; /* somebody changes our table; did, and this session is concerned */
	bool unheld; /* the firewall does not hold it any more: frozen until it is dead */
	bool asked; /* to end: */
	enum ac_life_event event; /* by what */
	char why[160]; /* in words, for the report */
	bool ending; /* on the way out; retried each second until it is done */
	bool escape_logged;
	struct ac_client *killer; /* waits for the end; or NULL */
	struct ac_denial history[AC_CELL_HISTORY];
	unsigned history_next, history_count;
	unsigned logged, suppressed; /* denied ones, this minute */
	uint64_t started_ms, heartbeat_ms, ended_ms;
};

struct ac_cell *ac_cell_find(struct ac_guardian *guardian, const char *session_id);
struct ac_cell *ac_cell_of_uid(struct ac_guardian *guardian, uid_t uid);

/* REGISTER: takes over the two descriptors in every case. */
struct ac_cell *ac_cell_register(struct ac_guardian *guardian, const char *session_id,
	pid_t sudo_pid, int pidfd, int launcher_fd, struct ac_err *err);
int ac_cell_arm(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err);

/* Asks for the end of a session; the worst event wins.  The loop carries it out when no handler is in
 * the middle of something: ac_cells_settle(). */
void ac_cell_end(struct ac_cell *cell, enum ac_life_event event, const char *why);
void ac_cells_settle(struct ac_guardian *guardian);

/* settle.c from here on.  The launcher is there (its pid, as the kernel says): checked, moved into the cgroup, released. */
void ac_cell_ready(struct ac_guardian *guardian, struct ac_cell *cell, pid_t pid);

void ac_cell_second(struct ac_guardian *guardian, struct ac_cell *cell);
void ac_cell_denied(
	struct ac_guardian *guardian, struct ac_cell *cell, const struct ac_report *report);
/* Frozen while sudo is stopped or the stream is lost. */
void ac_cell_freeze(struct ac_guardian *guardian, struct ac_cell *cell);

struct ac_cell *ac_cell_new(struct ac_guardian *guardian, const char *session_id);
void ac_cell_free(struct ac_guardian *guardian, struct ac_cell *cell);
int ac_cell_set_clock(
	struct ac_guardian *guardian, struct ac_cell *cell, uint64_t seconds, struct ac_err *err);

/* hooks.c: what the lifecycle asks of the listener. */
void ac_cell_set_hooks(struct ac_cell *cell);

/* keeper.c: JSON log and audit records; all try three times. */
int ac_keep_running(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err);
int ac_keep_denied(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_report *report, struct ac_err *err);
int ac_keep_escape(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_report *report, struct ac_err *err);
int ac_keep_kill(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err);
int ac_keep_heartbeat(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_watched *watched, struct ac_err *err);
int ac_keep_resolved(struct ac_guardian *guardian, struct ac_cell *cell,
	const struct ac_refresh_news *news, struct ac_err *err);
int ac_keep_lost(struct ac_guardian *guardian, const char *session_id, const char *reason,
	const char *outcome, struct ac_err *err);

/* report.c: what the person gets to read; several lines. */
void ac_cell_report(
	const struct ac_cell *cell, const struct ac_watched *watched, char *text, size_t size);

/* resolve.c.  The launcher stands in the view: bait and excluded paths are known by their inodes from now on. */
void ac_secrets_learn(struct ac_cell *cell);
/* Settles what the judge left open (RESOLVE): kind, class, reason and target become final. */
void ac_resolve(struct ac_cell *cell, struct ac_report *report);

struct ac_lead { /* where a refused name leads */
	bool barred; /* a directory on the way can't be searched by the session */
	bool missing; /* only the last component is not there */
	bool own,
		shut; /* the directory where it ends is the session's; lets it make no name there */
	uint64_t inode; /* of that directory, or of what else it is */
	uint64_t came; /* the directory of the last component that the session could look for */
	char path[AC_PATH_MAX]; /* absolute and canonical, as the cell sees it */
};

/*
 * lead.c: where a refused name leads, by the cell's own root.
 * other: a process of the same cell, should the report's be gone.
 */
int ac_lead(const struct ac_report *report, pid_t other, struct ac_lead *lead);
/* The same for a directory, and then for each symlink in it. */
int ac_lead_links(const struct ac_report *report, pid_t other, struct ac_lead *directory,
	void (*take)(void *data, const struct ac_lead *link), void *data);

#endif

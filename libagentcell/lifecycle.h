/* SPDX-License-Identifier: ISC */
/*
 * The session lifecycle: one pure table, (state, tries, cause) x event -> next.
 *
 * Plugin, PAM module and listener all ask it and obey it; spec/ checks this same compiled object.
 * No I/O, no allocation, no globals that change.  Total: every input has an answer.  What is no
 * valid life (ac_life_is_valid) may still have processes, so it answers with TERMINATE and a cause
 * of LOST or worse; an event out of range counts as LOST.
 */
#ifndef AC_LIFECYCLE_H
#define AC_LIFECYCLE_H

enum ac_state {
	AC_STATE_PLANNED, /* asked for; sudoers has accepted */
	AC_STATE_POLICY, /* act: write the session policy */
	AC_STATE_BACKUP, /* act: back the declared paths up and verify */
	AC_STATE_ACCOUNT, /* act: take the uid into use, make the cgroup */
	AC_STATE_FIREWALL, /* act: add the elements and read them back */
	AC_STATE_MONITOR, /* act: register with the listener (canary included) */
	AC_STATE_SWITCH, /* act: build the view, fork, launcher reports, barrier released */
	AC_STATE_RUNNING, /* waits for an event from outside */
	AC_STATE_TERMINATE, /* act: kill the cgroup, see that no process is left */
	AC_STATE_DRAIN, /* act: read the audit records that are still under way */
	AC_STATE_CLEANUP, /* act: firewall, account, view, directories out */
	AC_STATE_ENDED,
	AC_STATE_COUNT
};

/* Ordered: the worst is never forgotten. */
enum ac_cause {
	AC_CAUSE_NONE,
	AC_CAUSE_CLEAN,
	AC_CAUSE_WALL_CLOCK,
	AC_CAUSE_REFUSED, /* by policy or by the person, before anything was made */
	AC_CAUSE_ABORTED, /* a step failed before any agent process existed */
	AC_CAUSE_LOST, /* owner, listener or telemetry was lost */
	AC_CAUSE_ESCAPE,
	AC_CAUSE_COUNT
};

enum ac_life_event {
	AC_EVENT_OK, /* the act of this state succeeded */
	AC_EVENT_FAIL, /* the act of this state failed; retried as far as the table allows */
	AC_EVENT_EXIT, /* the agent exited, or a person ended the session (or gave up in set-up) */
	AC_EVENT_WALL_CLOCK,
	AC_EVENT_REFUSE, /* by policy or by the person, in set-up only; counts as LOST in RUNNING */
	AC_EVENT_LOST, /* telemetry, listener or owner lost for good */
	AC_EVENT_ESCAPE,
	AC_EVENT_RESTART, /* adopted from a dead owner's journal */
	AC_EVENT_COUNT
};

struct ac_life {
	unsigned char state; /* enum ac_state */
	unsigned char tries; /* failures of this state so far */
	unsigned char cause; /* enum ac_cause */
};

/*
 * Never goes back: (state, cause, tries) of the answer is the same as, or behind, that of life.
 * A cause, once there, only gets worse.  REFUSED and ABORTED mean: no agent was ever released.
 */
struct ac_life ac_life_next(struct ac_life life, enum ac_life_event event);

/* In range, no more tries than the state allows, and a cause on every life behind RUNNING. */
int ac_life_is_valid(struct ac_life life);

/* Nothing leads on to RUNNING any more: the session is behind it, or a cause is pending. */
int ac_life_is_leaving(struct ac_life life);

/* True in the states in which an agent process may exist; for what is no state, too. */
int ac_life_is_alive(struct ac_life life);
int ac_life_is_same(struct ac_life a, struct ac_life b);

/*
 * May a journal hold `next` right behind `previous`?  True when one event leads there, or several of
 * which only the last was written: the kill, and tries of the same state, may go unwritten (drive.h).
 * False for next == previous: what changes nothing is not written.
 */
int ac_life_conforms(struct ac_life previous, struct ac_life next);

/* Seconds to wait before the next try of life.state; 0 at the first. */
unsigned ac_life_retry_delay(struct ac_life life);

/* Lower-case words for journal, log and --json ("wall_clock"); NULL when out of range. */
const char *ac_state_name(unsigned state);
const char *ac_cause_name(unsigned cause);

/* The word 'status' of architecture.md: planned, running, ended, terminated, aborted. */
const char *ac_life_status(struct ac_life life);

#endif

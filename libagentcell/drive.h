/* SPDX-License-Identifier: ISC */
/*
 * The only loop that moves a session: journal first, then act.
 *
 * The world is behind an ops struct, so the same object runs in sudo, in the listener and under
 * the explorer in tests/unit, which tries every way in which an act or a journal write can fail.
 */
#ifndef AC_DRIVE_H
#define AC_DRIVE_H

#include "lifecycle.h"

struct ac_drive_ops {
	/* Performs the act of life.state.  Returns the event that it amounts to: OK, FAIL, or
	 * EXIT / WALL_CLOCK / REFUSE / LOST / ESCAPE when that is what happened meanwhile.  An act
	 * that learned of an escape answers ESCAPE, even when it failed; what it did not finish, it
	 * does when it is called again.
	 * Never called for PLANNED, RUNNING or ENDED.  Every act may be repeated: after a failure,
	 * after a refused journal write, and by whoever adopts the session; so SWITCH answers OK
	 * again when the launcher was ready already, and the acts from TERMINATE on succeed when
	 * there is nothing left to do.  TERMINATE answers OK only after it saw no process left. */
	enum ac_life_event (*act)(void *world, struct ac_life life);
	/* Appends one journal record and syncs it: 0, or -errno.  Called before each act. */
	int (*journal)(void *world, struct ac_life life);
	/* Waits before a retry. */
	void (*wait)(void *world, unsigned seconds);
};

/*
 * Runs acts from *life on until its state is `until` (whose act is not run), RUNNING, or ENDED,
 * whichever comes first; PLANNED moves on by OK, and its record is the caller's to write.
 *
 * Returns 0 or, with the session not ended and *life where it stands:
 *   -EAGAIN  an act of TERMINATE, DRAIN or CLEANUP has failed as often as one call tries it (four
 *            times).  Those are never given up: the listener calls again later; sudo's process
 *            lets go of the lock and leaves the session to the listener.
 *   -EIO     the journal refused a record without which nothing may go on.  The state is the one
 *            on disk; the cause may be worse, and then no further call does a set-up act.
 * A refused record is the failure of the step that led there.  Two things go on unwritten: the kill
 * (TERMINATE), and another try of the state that is on disk already.  ENDED is always written.
 *
 * One call makes less than 100 acts, whatever they answer: no step goes back (lifecycle.h).
 */
int ac_drive(
	struct ac_life *life, const struct ac_drive_ops *ops, void *world, enum ac_state until);

/* Applies one event from outside, journals the result and goes on as ac_drive(..., ENDED): what
 * the owner of a session in RUNNING calls with what happened, and who takes a session over with
 * RESTART (the old owner is dead) or LOST (sudo's process, when the listener is). */
int ac_drive_event(struct ac_life *life, const struct ac_drive_ops *ops, void *world,
	enum ac_life_event event);

/* The one step that both are made of: journals where the event leads, and goes there.  0; 1 when it
 * went on unwritten; -EIO.  Public for spec/, which links this object too. */
int ac_drive_move(struct ac_life *life, const struct ac_drive_ops *ops, void *world,
	enum ac_life_event event);

#endif

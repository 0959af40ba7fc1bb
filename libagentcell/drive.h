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
	 * EXIT / WALL_CLOCK / REFUSE / LOST / ESCAPE when that is what happened meanwhile.
	 * Never called for PLANNED, RUNNING or ENDED. */
	enum ac_life_event (*act)(void *world, struct ac_life life);
	/* Appends one journal record and syncs it: 0, or -errno.  Called before each act. */
	int (*journal)(void *world, struct ac_life life);
	/* Waits before a retry. */
	void (*wait)(void *world, unsigned seconds);
};

/*
 * Runs acts from *life on until its state is `until` (whose act is not run), RUNNING, or ENDED,
 * whichever comes first; PLANNED moves on by OK.  Returns 0, or -EIO when the journal could not be
 * written where nothing may go on unwritten (life then holds the state that is on disk).
 */
int ac_drive(
	struct ac_life *life, const struct ac_drive_ops *ops, void *world, enum ac_state until);

/* Applies one event from outside (life.state RUNNING, or any state for RESTART, EXIT, ESCAPE,
 * LOST, WALL_CLOCK), journals the result and goes on as ac_drive(..., AC_STATE_ENDED). */
int ac_drive_event(struct ac_life *life, const struct ac_drive_ops *ops, void *world,
	enum ac_life_event event);

#endif

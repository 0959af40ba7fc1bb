/* SPDX-License-Identifier: ISC */
/*
 * The loop.  It knows no state's meaning but three: RUNNING and ENDED have no act, and TERMINATE may
 * go on unwritten.  Everything else is the table's (lifecycle.c).
 */
#include "drive.h"

#include <errno.h>
#include <stdbool.h>

/* What the act of the state amounts to; the two ways to have no act come first. */
static enum ac_life_event perform(struct ac_life life, const struct ac_drive_ops *ops, void *world)
{
	unsigned delay = ac_life_retry_delay(life);

	if (life.state <= AC_STATE_RUNNING && ac_life_is_leaving(life))
		return AC_EVENT_FAIL;
	if (life.state == AC_STATE_PLANNED)
		return AC_EVENT_OK;
	if (delay)
		ops->wait(world, delay);
	return ops->act(world, life);
}

/*
 * Writes where the event leads, then goes there.  A refused write is the failure of the step that
 * led there, and the worse cause is kept; but the state that is on disk already needs no record, and
 * a full disk must not keep an agent alive.  0; 1 when it went on unwritten; -EIO when it could not.
 */
int ac_drive_move(
	struct ac_life *life, const struct ac_drive_ops *ops, void *world, enum ac_life_event event)
{
	struct ac_life next = ac_life_next(*life, event);
	bool stays = next.state == life->state;
	bool written = ac_life_is_same(next, *life) || ops->journal(world, next) == 0;

	if (!written && !stays && next.state != AC_STATE_TERMINATE) {
		if (next.cause > life->cause)
			life->cause = next.cause;
		if (event == AC_EVENT_FAIL || ac_drive_move(life, ops, world, AC_EVENT_FAIL) < 0)
			return -EIO;
		return 1;
	}
	*life = next;
	return written ? 0 : 1;
}

int ac_drive(struct ac_life *life, const struct ac_drive_ops *ops, void *world, enum ac_state until)
{
	while (life->state != until && life->state != AC_STATE_RUNNING &&
		life->state != AC_STATE_ENDED) {
		struct ac_life before = *life;
		int rc = ac_drive_move(life, ops, world, perform(*life, ops, world));

		if (rc < 0)
			return rc;
		if (ac_life_is_same(before, *life))
			return rc ? -EIO : -EAGAIN;
	}
	return 0;
}

int ac_drive_event(
	struct ac_life *life, const struct ac_drive_ops *ops, void *world, enum ac_life_event event)
{
	int rc = ac_drive_move(life, ops, world, event);

	return rc < 0 ? rc : ac_drive(life, ops, world, AC_STATE_ENDED);
}

/* SPDX-License-Identifier: ISC */
/*
 * Back-pressure: a cell that makes records faster than the kernel hands them out is held, frozen,
 * until the stream has caught up.
 *
 * The kernel's queue is bounded (backlog_limit).  A system call that finds it full waits; the record of
 * a Landlock denial cannot wait (security/landlock/audit.c asks for it with GFP_ATOMIC) and is dropped,
 * the neighbour's as well as the flooder's.  That a queue builds up shows in the records' times: many
 * of one tick of the kernel's clock, or older than the tick before.  The queue keeps its order: a
 * record that was made after the hold is behind all that was there.
 */
#include <stdbool.h>
#include <stdint.h>

#include "watch_parts.h"

#define LATE_MS 8 /* two of the coarse clock's ticks at CONFIG_HZ=250, one at 100 */
#define HASTY_EVENTS 48 /* in a row, late or of one tick: a build starts 8 programs in a tick */
#define HOLD_MS 100 /* at most at a time: the queue may be somebody else's */

void ac_pace_record(struct ac_watch *watch, uint64_t time_ms)
{
	if (watch->held_since && time_ms > watch->held_wall_ms)
		watch->caught_up = true;
}

static bool is_hasty(const struct ac_watch *watch, struct ac_slot *slot, uint64_t time_ms)
{
	bool late = watch->wall_ms >= time_ms + LATE_MS;

	slot->hasty = late || time_ms == slot->last_ms ? slot->hasty + 1 : 0;
	slot->last_ms = time_ms;
	return slot->hasty >= HASTY_EVENTS;
}

void ac_pace_event(struct ac_watch *watch, struct ac_slot *slot, uint64_t time_ms)
{
	if (!watch->wall_ms || !is_hasty(watch, slot, time_ms) || slot->held)
		return;
	slot->held = true;
	slot->watched.held++;
	ac_slot_settle(slot);
	if (!watch->held_since)
		watch->held_since = watch->turn_ms;
	watch->held_wall_ms = watch->wall_ms;
	watch->caught_up = false;
}

void ac_pace_turn(struct ac_watch *watch, bool idle)
{
	if (!watch->held_since ||
		(!watch->caught_up && !idle && watch->turn_ms - watch->held_since < HOLD_MS))
		return;
	watch->held_since = 0;
	for (uid_t uid = watch->first; uid <= watch->last; uid++) {
		struct ac_slot *slot = watch->slot_of[uid - watch->first];

		if (!slot || !slot->held)
			continue;
		slot->held = false;
		slot->hasty = 0;
		ac_slot_settle(slot);
	}
}

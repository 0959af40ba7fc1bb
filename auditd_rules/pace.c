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
 *
 * That nothing comes does not say that the queue is empty: under a hypervisor the processor of kauditd
 * may stand still, often for 100 ms, in which another one makes 100,000 records.  So the kernel is asked
 * for the queue's length before a session goes on.  Then it is on probation: one late event, a long queue
 * or a silence is enough to hold it again; silence has to be explained at growing distances.
 */
#include <stdbool.h>
#include <stdint.h>

#include "watch_parts.h"

#define LATE_MS 8 /* two of the coarse clock's ticks at CONFIG_HZ=250, one at 100 */
#define HASTY_EVENTS 48 /* in a row, late or of one tick: a build starts 8 programs in a tick */
#define SHORT_QUEUE 64
#define HOLD_MS 100 /* then the queue is somebody else's, who must leave some room */
#define HOLD_MOST_MS 1000
#define PATIENCE_MOST_MS 64 /* who was silent for so long after a hold is no suspect any more */
#define PROBATION_MS 1000

void ac_pace_record(struct ac_watch *watch, uint64_t time_ms)
{
	watch->record_ms = watch->turn_ms;
	if (watch->held_since && time_ms > watch->held_wall_ms)
		watch->caught_up = true;
}

static bool is_hasty(const struct ac_watch *watch, struct ac_slot *slot, uint64_t time_ms)
{
	bool late = watch->wall_ms >= time_ms + LATE_MS;

	slot->hasty = late || time_ms == slot->last_ms ? slot->hasty + 1 : 0;
	slot->last_ms = time_ms;
	return slot->hasty >= HASTY_EVENTS || (late && watch->on_probation && slot->on_probation);
}

static void hold(struct ac_watch *watch, struct ac_slot *slot)
{
	slot->held = true;
	slot->watched.held++;
	ac_slot_settle(slot);
	if (!watch->held_since)
		watch->held_since = watch->turn_ms;
	watch->held_wall_ms = watch->wall_ms;
	watch->caught_up = watch->queue_told = false;
}

void ac_pace_event(struct ac_watch *watch, struct ac_slot *slot, uint64_t time_ms)
{
	if (!watch->wall_ms || !is_hasty(watch, slot, time_ms) || slot->held)
		return;
	watch->patience_ms = AC_PACE_POLL_MS;
	hold(watch, slot);
}

/* The answer counts once. */
static bool take_answer(struct ac_watch *watch)
{
	bool told = watch->queue_told;

	watch->queue_told = false;
	return told;
}

static void ask(struct ac_watch *watch)
{
	if (watch->turn_ms - watch->asked_ms < AC_PACE_POLL_MS)
		return;
	watch->asked_ms = watch->turn_ms;
	watch->queue_asked = true;
	ac_watch_notify(watch);
}

static bool leaves_room(const struct ac_watch *watch)
{
	return watch->queue_length <= watch->queue_limit / 8;
}

static bool is_through(struct ac_watch *watch, uint64_t held_ms)
{
	const bool told = take_answer(watch), is_short = watch->queue_length <= SHORT_QUEUE;

	if (told && !is_short)
		watch->patience_ms = AC_PACE_POLL_MS; /* the silence was the queue's */
	return (told && is_short) || watch->caught_up || held_ms >= HOLD_MOST_MS ||
	       (told && held_ms >= HOLD_MS && leaves_room(watch));
}

static void each_slot(
	struct ac_watch *watch, void (*act)(struct ac_watch *watch, struct ac_slot *slot))
{
	for (uid_t uid = watch->first; uid <= watch->last; uid++)
		if (watch->slot_of[uid - watch->first])
			act(watch, watch->slot_of[uid - watch->first]);
}

static void let_slot_go(struct ac_watch *watch, struct ac_slot *slot)
{
	slot->on_probation = watch->on_probation && (slot->held || slot->on_probation);
	if (!slot->held)
		return;
	slot->held = false;
	slot->hasty = 0;
	ac_slot_settle(slot);
}

static void let_go(struct ac_watch *watch)
{
	watch->held_since = 0;
	watch->let_go_ms = watch->turn_ms;
	watch->on_probation = watch->patience_ms <= PATIENCE_MOST_MS;
	each_slot(watch, let_slot_go);
}

static void hold_suspect(struct ac_watch *watch, struct ac_slot *slot)
{
	if (slot->on_probation)
		hold(watch, slot);
}

static void hold_again(struct ac_watch *watch)
{
	watch->on_probation = false;
	each_slot(watch, hold_suspect);
}

static bool is_silent(const struct ac_watch *watch, uint64_t for_ms)
{
	return watch->turn_ms - watch->record_ms >= for_ms &&
	       watch->turn_ms - watch->let_go_ms >= for_ms;
}

static void look_at_suspects(struct ac_watch *watch)
{
	const bool told = take_answer(watch);

	if (is_silent(watch, watch->patience_ms)) {
		watch->patience_ms *= 2;
		hold_again(watch);
	} else if (told && !leaves_room(watch)) {
		hold_again(watch);
	} else if (watch->turn_ms - watch->let_go_ms >= PROBATION_MS) {
		watch->on_probation = false;
	} else {
		ask(watch);
	}
}

void ac_pace_turn(struct ac_watch *watch)
{
	const uint64_t held_ms = watch->turn_ms - watch->held_since;

	if (!watch->held_since && watch->on_probation)
		look_at_suspects(watch);
	else if (watch->held_since && is_through(watch, held_ms))
		let_go(watch);
	else if (watch->held_since && (is_silent(watch, AC_PACE_POLL_MS) || held_ms >= HOLD_MS))
		ask(watch);
}

static void freeze_slot(struct ac_watch *watch, struct ac_slot *slot)
{
	(void)watch;
	ac_slot_freeze(slot, true);
}

static void settle_slot(struct ac_watch *watch, struct ac_slot *slot)
{
	(void)watch;
	ac_slot_settle(slot);
}

void ac_pace_alarm(struct ac_watch *watch)
{
	pthread_mutex_lock(&watch->slots_lock);
	each_slot(watch, freeze_slot);
	pthread_mutex_unlock(&watch->slots_lock);
}

void ac_pace_alarmed(struct ac_watch *watch)
{
	if (!watch->held_since && watch->on_probation)
		hold_again(watch);
	each_slot(watch, settle_slot);
}

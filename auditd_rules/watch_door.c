/* SPDX-License-Identifier: ISC */
/*
 * The guardian's side of the hot thread: registers sessions, reads what was found, never holds the
 * lock across anything that can wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "watch_parts.h"

void ac_watch_set_source(struct ac_watch *watch, int fd, bool text)
{
	int old;

	pthread_mutex_lock(&watch->lock);
	old = watch->source_fd;
	watch->source_fd = fd;
	watch->text = text;
	watch->line_used = 0;
	watch->stream.closed = false;
	ac_serials_reset(&watch->serials);
	pthread_mutex_unlock(&watch->lock);
	ac_watch_kick(watch);
	if (old >= 0)
		close(old);
}

int ac_watch_event_fd(const struct ac_watch *watch)
{
	return watch->event_fd;
}

bool ac_watch_is_realtime(const struct ac_watch *watch)
{
	return watch->realtime;
}

static void put_slot(struct ac_watch *watch, uid_t uid, struct ac_slot *slot)
{
	pthread_mutex_lock(&watch->slots_lock);
	watch->slot_of[uid - watch->first] = slot;
	pthread_mutex_unlock(&watch->slots_lock);
}

int ac_watch_add(struct ac_watch *watch, uid_t uid, const struct ac_judge *judge, int freeze_fd,
	int kill_fd, struct ac_err *err)
{
	struct ac_slot *slot;

	if (uid < watch->first || uid > watch->last)
		return ac_fail(err, ERANGE, "uid %u is outside uid_range", uid);
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		return ac_fail_errno(err, ENOMEM, "no memory for a session");
	slot->uid = uid;
	slot->state = AC_SLOT_CANARY;
	slot->freeze_fd = freeze_fd;
	slot->kill_fd = kill_fd;
	slot->judge = judge;
	slot->credit = AC_FLOOD_BURST;
	pthread_mutex_lock(&watch->lock);
	if (watch->slot_of[uid - watch->first]) {
		pthread_mutex_unlock(&watch->lock);
		free(slot);
		return ac_fail(err, EEXIST, "uid %u belongs to another session already", uid);
	}
	put_slot(watch, uid, slot);
	watch->sessions++;
	pthread_mutex_unlock(&watch->lock);
	ac_watch_kick(watch);
	return 0;
}

void ac_watch_arm(struct ac_watch *watch, uid_t uid, pid_t launcher)
{
	struct ac_slot *slot;

	pthread_mutex_lock(&watch->lock);
	slot = ac_slot_find(watch, uid);
	if (slot) {
		slot->launcher = launcher;
		slot->state = AC_SLOT_EXEC;
	}
	pthread_mutex_unlock(&watch->lock);
}

void ac_watch_declare(
	struct ac_watch *watch, struct ac_addresses *known, const struct ac_addresses *from)
{
	pthread_mutex_lock(&watch->lock);
	*known = *from;
	pthread_mutex_unlock(&watch->lock);
}

void ac_watch_remove(struct ac_watch *watch, uid_t uid)
{
	struct ac_slot *slot;

	pthread_mutex_lock(&watch->lock);
	slot = ac_slot_find(watch, uid);
	if (slot) {
		ac_pending_forget(watch, slot);
		put_slot(watch, uid, NULL);
		watch->sessions--;
	}
	pthread_mutex_unlock(&watch->lock);
	free(slot);
}

bool ac_watch_read(struct ac_watch *watch, uid_t uid, struct ac_watched *watched)
{
	const struct ac_slot *slot;

	pthread_mutex_lock(&watch->lock);
	slot = ac_slot_find(watch, uid);
	if (slot)
		*watched = slot->watched;
	pthread_mutex_unlock(&watch->lock);
	return slot;
}

void ac_slot_settle(struct ac_slot *slot)
{
	ac_slot_freeze(slot, slot->wants_frozen || slot->held || slot->watched.resolving ||
				     slot->watched.escaped);
}

void ac_watch_freeze(struct ac_watch *watch, uid_t uid, bool frozen)
{
	struct ac_slot *slot;

	pthread_mutex_lock(&watch->lock);
	slot = ac_slot_find(watch, uid);
	if (slot) {
		slot->wants_frozen = frozen;
		ac_slot_settle(slot);
	}
	pthread_mutex_unlock(&watch->lock);
}

void ac_watch_resolved(struct ac_watch *watch, uid_t uid, const struct ac_report *report)
{
	struct ac_slot *slot;

	pthread_mutex_lock(&watch->lock);
	slot = ac_slot_find(watch, uid);
	if (slot) {
		if (slot->watched.resolving)
			slot->watched.resolving--;
		if (report->kind == AC_VERDICT_ESCAPE && !slot->watched.escaped) {
			ac_slot_kill(slot);
			slot->watched.escaped = true;
			slot->watched.escape = *report;
			ac_watch_notify(watch);
		}
		if (report->kind == AC_VERDICT_DENIED)
			slot->watched.denied++;
		ac_slot_settle(slot);
	}
	pthread_mutex_unlock(&watch->lock);
}

bool ac_watch_take(struct ac_watch *watch, struct ac_report *report)
{
	bool found;

	pthread_mutex_lock(&watch->lock);
	found = watch->ring_count > 0;
	if (found) {
		*report = watch->ring[watch->ring_head];
		watch->ring_head = (watch->ring_head + 1) % AC_RING_SIZE;
		watch->ring_count--;
	}
	pthread_mutex_unlock(&watch->lock);
	return found;
}

void ac_watch_expect(struct ac_watch *watch, uint64_t mark)
{
	pthread_mutex_lock(&watch->lock);
	watch->expected_mark = mark;
	watch->seen_mark = 0;
	pthread_mutex_unlock(&watch->lock);
}

bool ac_watch_saw(struct ac_watch *watch, uint64_t mark)
{
	bool saw;

	pthread_mutex_lock(&watch->lock);
	saw = watch->seen_mark == mark;
	pthread_mutex_unlock(&watch->lock);
	return saw;
}

void ac_watch_stream(struct ac_watch *watch, struct ac_stream *stream)
{
	pthread_mutex_lock(&watch->lock);
	*stream = watch->stream;
	pthread_mutex_unlock(&watch->lock);
}

bool ac_watch_asks_queue(struct ac_watch *watch)
{
	bool asked;

	pthread_mutex_lock(&watch->lock);
	asked = watch->queue_asked;
	watch->queue_asked = false;
	pthread_mutex_unlock(&watch->lock);
	return asked;
}

void ac_watch_tell_queue(struct ac_watch *watch, uint32_t length, uint32_t limit)
{
	pthread_mutex_lock(&watch->lock);
	watch->queue_length = length;
	watch->queue_limit = limit;
	watch->queue_told = true;
	pthread_mutex_unlock(&watch->lock);
	ac_watch_kick(watch);
}

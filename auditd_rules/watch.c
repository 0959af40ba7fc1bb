/* SPDX-License-Identifier: ISC */
/*
 * What the hot threads share: a record goes to those who wait for it, and to pending.c.  The threads
 * are in reader.c, the guardian's side is in watch_door.c.
 */
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "watch_parts.h"

struct ac_slot *ac_slot_find(struct ac_watch *watch, uint32_t uid)
{
	return uid >= watch->first && uid <= watch->last ? watch->slot_of[uid - watch->first]
							 : NULL;
}

static bool put(int fd, const char *text)
{
	return pwrite(fd, text, 1, 0) == 1;
}

void ac_slot_freeze(struct ac_slot *slot, bool frozen)
{
	(void)put(slot->freeze_fd, frozen ? "1" : "0");
}

void ac_slot_kill(struct ac_slot *slot)
{
	(void)put(slot->freeze_fd, "1"); /* nothing runs on while the kill goes through the list */
	(void)put(slot->kill_fd, "1"); /* the guardian kills again, and waits until all are dead */
}

void ac_watch_notify(struct ac_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->event_fd, &one, sizeof(one));
}

void ac_watch_kick(struct ac_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->kick_fd, &one, sizeof(one));
	(void)!write(watch->relief_fd, &one, sizeof(one));
}

static int make_lock(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	int rc = pthread_mutexattr_init(&attributes);

	if (!rc)
		rc = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (!rc)
		rc = pthread_mutex_init(mutex, &attributes);
	return rc;
}

struct ac_watch *ac_watch_create(uid_t first, uid_t last, struct ac_err *err)
{
	struct ac_watch *watch = calloc(1, sizeof(*watch));

	if (watch)
		watch->slot_of = calloc(last - first + 1, sizeof(struct ac_slot *));
	if (!watch || !watch->slot_of || make_lock(&watch->lock) || make_lock(&watch->slots_lock)) {
		if (watch)
			free(watch->slot_of);
		free(watch);
		ac_fail_errno(err, ENOMEM, "no memory for the audit stream");
		return NULL;
	}
	watch->first = first;
	watch->last = last;
	watch->source_fd = -1;
	watch->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->relief_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->event_fd < 0 || watch->kick_fd < 0 || watch->relief_fd < 0) {
		ac_fail_errno(err, errno, "eventfd");
		ac_watch_destroy(watch);
		return NULL;
	}
	return watch;
}

/* A mark: "... agentcell-mark=0123456789abcdef ..." in a user-space record that we sent ourselves. */
static void look_for_mark(struct ac_watch *watch, const struct ac_record *record)
{
	static const char name[] = "agentcell-mark=";
	const char *found = memmem(record->body.text, record->body.length, name, sizeof(name) - 1);
	uint64_t mark;

	if (!found ||
		(size_t)(record->body.text + record->body.length - found) < sizeof(name) - 1 + 16)
		return;
	if (ac_span_hex((struct ac_span){ found + sizeof(name) - 1, 16 }, &mark) &&
		mark == watch->expected_mark) {
		watch->seen_mark = mark;
		ac_watch_notify(watch);
	}
}

void ac_watch_record(struct ac_watch *watch, const struct ac_record *record)
{
	uint64_t missing;

	watch->stream.records++;
	if (record->type == AC_RECORD_DAEMON)
		return;
	ac_pace_record(watch, record->time_ms);
	missing = ac_serials_see(&watch->serials, record->serial);
	if (missing) {
		watch->stream.missing += missing;
		ac_watch_notify(watch);
	}
	if (record->type == AC_RECORD_CONFIG_CHANGE) {
		watch->stream.config_changes++;
		ac_watch_notify(watch);
	} else if (record->type == AC_RECORD_TRUSTED_APP) {
		look_for_mark(watch, record);
	} else {
		ac_pending_take(watch, record);
	}
}

void ac_watch_destroy(struct ac_watch *watch)
{
	if (!watch)
		return;
	ac_readers_stop(watch);
	for (uid_t uid = watch->first; uid <= watch->last; uid++)
		free(watch->slot_of[uid - watch->first]);
	free(watch->slot_of);
	if (watch->source_fd >= 0)
		close(watch->source_fd);
	if (watch->event_fd >= 0)
		close(watch->event_fd);
	if (watch->kick_fd >= 0)
		close(watch->kick_fd);
	if (watch->relief_fd >= 0)
		close(watch->relief_fd);
	pthread_mutex_destroy(&watch->lock);
	pthread_mutex_destroy(&watch->slots_lock);
	free(watch);
}

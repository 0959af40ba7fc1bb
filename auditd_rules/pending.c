/* SPDX-License-Identifier: ISC */
/*
 * Records become events, events become verdicts, verdicts become death.
 *
 * Judged after every record, so that the cell is frozen and killed at the decisive one; what the
 * later records add (process, directory) goes into the report at the end of the event.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "syscalls.h"
#include "watch_parts.h"

/* An agent that causes more events than any tool does, for longer than any tool does, is hiding
 * something or out of its mind; both end the session. */
#define FLOOD_PER_S 2000

static struct ac_pending *find_pending(struct ac_watch *watch, uint64_t serial)
{
	for (unsigned i = 0; i < AC_PENDING_MAX; i++)
		if (watch->serial_of[i] == serial && watch->pending[i].used)
			return &watch->pending[i];
	return NULL;
}

/* A cache: when it has forgotten a domain, the SYSCALL record of the same event tells the uid. */
static unsigned domain_place(uint64_t domain)
{
	_Static_assert(AC_DOMAINS_MAX == 1 << 12, "the shift leaves as many bits");
	return (unsigned)((domain * 0x9e3779b97f4a7c15ull) >> 52);
}

static void remember_domain(struct ac_watch *watch, uint64_t domain, uint32_t uid)
{
	unsigned place = domain_place(domain);

	watch->domain[place].domain = domain;
	watch->domain[place].uid = uid;
}

static struct ac_slot *slot_of_domain(struct ac_watch *watch, const struct ac_record *record)
{
	struct ac_field field;
	uint64_t domain;
	unsigned place;

	if (!ac_record_find(record, "domain", &field) || !ac_span_hex(field.value, &domain))
		return NULL;
	place = domain_place(domain);
	return watch->domain[place].domain == domain ? ac_slot_find(watch, watch->domain[place].uid)
						     : NULL;
}

/* Both sides have the same size; the rest of it need not be touched. */
static void copy(char to[AC_PATH_MAX], const char from[AC_PATH_MAX])
{
	memcpy(to, from, strlen(from) + 1);
}

static void fill_report(struct ac_report *report, const struct ac_pending *pending)
{
	const struct ac_event *event = &pending->event;
	const struct ac_verdict *verdict = &pending->verdict;

	report->serial = event->serial;
	report->time_ms = event->time_ms;
	report->uid = pending->slot->uid;
	report->kind = verdict->kind;
	report->class = verdict->class;
	report->operation = verdict->operation;
	report->pid = event->pid;
	report->ppid = event->ppid;
	report->syscall = event->syscall;
	report->exit = event->exit;
	report->reason = verdict->reason;
	report->relative = verdict->relative;
	report->follow = verdict->follow;
	report->barred = verdict->barred;
	report->directory = verdict->directory;
	report->other = verdict->other;
	report->object = verdict->object;
	report->lost = verdict->lost;
	memcpy(report->comm, event->comm, sizeof(report->comm));
	copy(report->exe, event->exe);
	copy(report->cwd, event->cwd);
	copy(report->target, verdict->target);
	copy(report->also, verdict->also);
}

static bool has_room(const struct ac_watch *watch, uint32_t uid)
{
	unsigned own = 0;

	if (watch->ring_count < AC_RING_SHARE)
		return true;
	for (unsigned i = 0; i < watch->ring_count; i++)
		own += watch->ring[(watch->ring_head + i) % AC_RING_SIZE].uid == uid;
	return own < AC_RING_SHARE && watch->ring_count < AC_RING_SIZE;
}

static void push(struct ac_watch *watch, struct ac_pending *pending)
{
	struct ac_slot *slot = pending->slot;
	unsigned place = (watch->ring_head + watch->ring_count) % AC_RING_SIZE;

	if (!has_room(watch, slot->uid)) {
		slot->watched.dropped++;
		if (pending->verdict.kind == AC_VERDICT_RESOLVE) {
			/* Nobody will look where the name led: then it counts as the worst. */
			pending->verdict.kind = AC_VERDICT_ESCAPE;
			pending->verdict.class = AC_CLASS_FLOOD;
			slot->watched.escaped = true;
			slot->watched.resolving--;
			fill_report(&slot->watched.escape, pending);
			ac_slot_kill(slot);
		}
		return;
	}
	fill_report(&watch->ring[place], pending);
	watch->ring_count++;
}

/* The first escape is the one that is reported; what follows in the dying cell only counts. */
static void settle(struct ac_watch *watch, struct ac_pending *pending)
{
	struct ac_watched *watched = &pending->slot->watched;

	if (!pending->judged)
		return;
	switch (pending->verdict.kind) {
	case AC_VERDICT_ESCAPE:
		if (!watched->escape.serial || watched->escape.serial == pending->event.serial)
			fill_report(&watched->escape, pending);
		break;
	case AC_VERDICT_DENIED:
	case AC_VERDICT_RESOLVE:
		push(watch, pending);
		break;
	case AC_VERDICT_WAIT:
	case AC_VERDICT_SILENT:
		return;
	}
	ac_watch_notify(watch);
}

static void release(struct ac_watch *watch, struct ac_pending *pending)
{
	watch->serial_of[pending - watch->pending] = 0;
	pending->used = false;
}

static void finish(struct ac_watch *watch, struct ac_pending *pending)
{
	if (pending->slot)
		settle(watch, pending);
	release(watch, pending);
}

/* Takes the place of the oldest event when all are in use: its end got lost or never comes. */
static struct ac_pending *new_pending(struct ac_watch *watch, const struct ac_record *record)
{
	struct ac_pending *oldest = &watch->pending[0];

	for (unsigned i = 0; i < AC_PENDING_MAX; i++) {
		if (!watch->pending[i].used) {
			oldest = &watch->pending[i];
			break;
		}
		if (watch->pending[i].age < oldest->age)
			oldest = &watch->pending[i];
	}
	if (oldest->used)
		finish(watch, oldest);
	oldest->used = true;
	oldest->judged = false;
	oldest->slot = NULL;
	oldest->age = ++watch->age;
	watch->serial_of[oldest - watch->pending] = record->serial;
	ac_event_init(&oldest->event, record);
	return oldest;
}

static void escape(struct ac_watch *watch, struct ac_pending *pending)
{
	struct ac_slot *slot = pending->slot;

	if (slot->watched.escaped)
		return;
	ac_slot_kill(slot);
	slot->watched.escaped = true;
	fill_report(&slot->watched.escape, pending);
	ac_watch_notify(watch);
}

/* True when the session has used up its allowance. */
static bool is_flood(struct ac_slot *slot, uint64_t now_ms)
{
	uint64_t passed = now_ms > slot->credit_ms ? now_ms - slot->credit_ms : 0;

	if (passed) {
		slot->credit_ms = now_ms;
		slot->credit += (int64_t)(passed < 60000 ? passed : 60000) * FLOOD_PER_S / 1000;
		if (slot->credit > AC_FLOOD_BURST)
			slot->credit = AC_FLOOD_BURST;
	}
	return --slot->credit < 0;
}

static void note_process(struct ac_slot *slot, const struct ac_event *event)
{
	struct ac_process *process = &slot->watched.process[slot->next_process];

	for (unsigned i = 0; i < AC_WATCH_PROCESSES; i++)
		if (slot->watched.process[i].pid == event->pid) {
			process = &slot->watched.process[i];
			break;
		}
	if (process == &slot->watched.process[slot->next_process])
		slot->next_process = (slot->next_process + 1) % AC_WATCH_PROCESSES;
	process->pid = event->pid;
	process->ppid = event->ppid;
	(void)snprintf(process->comm, sizeof(process->comm), "%.31s", event->comm);
	(void)snprintf(process->exe, sizeof(process->exe), "%.127s", event->exe);
}

static bool is_exec(const struct ac_event *event)
{
	return event->success && (event->syscall == SYS_execve || event->syscall == SYS_execveat);
}

/* The launcher becomes the harness: from this very event on, what the session does counts. */
static void arm_on_exec(
	struct ac_slot *slot, const struct ac_record *record, const struct ac_event *event)
{
	if (slot->state == AC_SLOT_EXEC && record->type == AC_RECORD_SYSCALL && is_exec(event) &&
		event->pid == slot->launcher) {
		slot->state = AC_SLOT_ARMED;
		slot->watched.armed = true;
	}
}

static void look_for_canary(
	struct ac_watch *watch, struct ac_slot *slot, const struct ac_event *event)
{
	unsigned before = slot->watched.canary;

	if (event->seen & AC_SEEN_LANDLOCK)
		slot->watched.canary |= AC_CANARY_LANDLOCK;
	else if (event->seen & AC_SEEN_PATH && event->exit == -EACCES)
		slot->watched.canary |= AC_CANARY_RULE;
	if (slot->watched.canary != before)
		ac_watch_notify(watch);
}

static void count_event(struct ac_watch *watch, struct ac_pending *pending)
{
	struct ac_slot *slot = pending->slot;

	slot->watched.events++;
	ac_pace_event(watch, slot, pending->event.time_ms);
	if (pending->verdict.kind == AC_VERDICT_DENIED)
		slot->watched.denied++;
	if (pending->verdict.kind == AC_VERDICT_RESOLVE && !slot->watched.escaped) {
		slot->watched.resolving++;
		ac_slot_freeze(slot, true);
	}
	if (pending->verdict.kind != AC_VERDICT_ESCAPE && is_flood(slot, pending->event.time_ms)) {
		if (pending->verdict.kind == AC_VERDICT_RESOLVE)
			slot->watched.resolving--;
		pending->verdict.kind = AC_VERDICT_ESCAPE;
		pending->verdict.class = AC_CLASS_FLOOD;
		pending->verdict.operation = AC_OPERATION_PRIVILEGE;
		pending->verdict.reason = "more events than any tool causes: it hides something";
	}
	if (pending->verdict.kind == AC_VERDICT_ESCAPE)
		escape(watch, pending);
}

static void judge(struct ac_watch *watch, struct ac_pending *pending, bool complete)
{
	struct ac_slot *slot = pending->slot;

	if (slot->state == AC_SLOT_CANARY)
		look_for_canary(watch, slot, &pending->event);
	if (slot->state != AC_SLOT_ARMED || pending->judged)
		return;
	ac_judge_event(slot->judge, &pending->event, complete, &pending->verdict);
	if (pending->verdict.kind == AC_VERDICT_WAIT)
		return;
	pending->judged = true;
	count_event(watch, pending);
}

/* Is the target, "192.0.2.1:80" or "[2001:db8::1]:80", at this address? */
static bool is_at(const char *target, const char *address)
{
	size_t length = strlen(address);
	bool bracket = *target == '[';

	target += bracket;
	return !strncmp(target, address, length) && target[length] == (bracket ? ']' : ':');
}

/* A denied packet has no process, and on most kernels no port; the connect() that sent it says both, a
 * moment later, and may know the better word for it.  A call to somewhere else may be anybody's. */
static void add_process(struct ac_slot *slot, const struct ac_pending *pending)
{
	struct ac_report *report = &slot->watched.escape;
	const struct ac_event *event = &pending->event;
	const struct ac_verdict *verdict = &pending->verdict;

	if (!slot->watched.escaped || report->pid || report->operation != AC_OPERATION_NETWORK ||
		!(event->seen & AC_SEEN_SOCKADDR) || !pending->judged)
		return;
	if (strcmp(verdict->target, report->target) != 0 && !is_at(verdict->target, report->target))
		return;
	copy(report->target, verdict->target);
	if (verdict->kind != AC_VERDICT_SILENT) {
		report->class = verdict->class;
		report->reason = verdict->reason;
	}
	report->pid = event->pid;
	report->ppid = event->ppid;
	memcpy(report->comm, event->comm, sizeof(report->comm));
	copy(report->exe, event->exe);
	copy(report->cwd, event->cwd);
}

static bool stands_alone(int type)
{
	return type == AC_RECORD_SECCOMP || type == AC_RECORD_NETFILTER_PKT ||
	       type == AC_RECORD_URINGOP;
}

void ac_pending_take(struct ac_watch *watch, const struct ac_record *record)
{
	struct ac_pending *pending = find_pending(watch, record->serial);
	struct ac_slot *owner = NULL;
	uint32_t uid, auid;

	if (ac_record_owner(record, &uid, &auid)) {
		owner = ac_slot_find(watch, uid);
		if (!owner)
			owner = ac_slot_find(watch, auid);
	} else if (record->type == AC_RECORD_LANDLOCK_ACCESS) {
		owner = slot_of_domain(watch, record);
	}
	if (!pending && !owner && record->type != AC_RECORD_LANDLOCK_ACCESS)
		return; /* nobody's we watch */
	if (!pending)
		pending = new_pending(watch, record);
	ac_event_add(&pending->event, record);
	if (owner)
		pending->slot = owner;
	if (record->type == AC_RECORD_LANDLOCK_DOMAIN && owner)
		remember_domain(watch, pending->event.domain, owner->uid);
	if (!pending->slot) {
		if (record->type != AC_RECORD_LANDLOCK_ACCESS)
			release(watch, pending); /* Landlock, but of somebody else */
		return;
	}
	if (pending->event.domain_ended) {
		release(watch, pending);
		return;
	}
	arm_on_exec(pending->slot, record, &pending->event);
	if (record->type == AC_RECORD_SYSCALL && is_exec(&pending->event))
		note_process(pending->slot, &pending->event);
	judge(watch, pending, record->type == AC_RECORD_EOE || stands_alone(record->type));
	add_process(pending->slot, pending);
	if (record->type == AC_RECORD_EOE || stands_alone(record->type))
		finish(watch, pending);
}

void ac_pending_forget(struct ac_watch *watch, const struct ac_slot *slot)
{
	for (unsigned i = 0; i < AC_PENDING_MAX; i++)
		if (watch->pending[i].used && watch->pending[i].slot == slot)
			release(watch, &watch->pending[i]);
}

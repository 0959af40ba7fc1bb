/* SPDX-License-Identifier: ISC */
/*
 * Between reader.c (the threads), watch.c (records), pending.c (events under way), pace.c and
 * watch_door.c (the guardian's side).
 * Everything here is touched with watch->lock held.
 */
#ifndef AC_WATCH_PARTS_H
#define AC_WATCH_PARTS_H

#include <pthread.h>

#include "serials.h"
#include "watch.h"

#define AC_PENDING_MAX 256
#define AC_RING_SIZE 256
#define AC_RING_SHARE 192 /* of one session: a flood leaves room for its neighbours */
#define AC_DOMAINS_MAX 4096
#define AC_LINES_SIZE 65536
#define AC_FLOOD_BURST 10000 /* events at once that are no flood yet */

enum ac_slot_state {
	AC_SLOT_CANARY, /* registered: only the canary is looked for */
	AC_SLOT_EXEC, /* waits for the launcher's exec */
	AC_SLOT_ARMED,
};

struct ac_slot { /* one registered session */
	uid_t uid;
	enum ac_slot_state state;
	pid_t launcher;
	int freeze_fd, kill_fd;
	bool wants_frozen; /* the guardian's wish */
	bool held; /* until the stream has caught up, see pace.c */
	bool on_probation; /* was just let go */
	unsigned hasty; /* its events in a row that came late or in one tick */
	uint64_t last_ms; /* the time of the last of them */
	const struct ac_judge *judge;
	unsigned next_process;
	int64_t credit; /* of the flood limit */
	uint64_t credit_ms;
	struct ac_watched watched;
};

struct ac_pending { /* one event whose records are coming in */
	bool used, judged;
	struct ac_slot *slot; /* NULL: not known yet (Landlock speaks before SYSCALL) */
	uint64_t age;
	struct ac_event event;
	struct ac_verdict verdict;
};

struct ac_watch {
	pthread_mutex_t lock;
	pthread_mutex_t slots_lock; /* of slot_of alone, and taken last */
	pthread_t reader, relief;
	struct ac_pulse *pulse;
	bool running, relieved, stop, realtime;
	unsigned sessions; /* registered ones */
	int source_fd, event_fd, kick_fd, relief_fd;
	bool text; /* the source is a pipe from auditd */
	size_t line_used;
	char line[AC_LINES_SIZE];
	uid_t first, last;
	struct ac_slot **slot_of; /* by uid - first */
	struct ac_serials serials;
	struct ac_stream stream;
	uint64_t expected_mark, seen_mark;
	uint64_t age; /* counts events, for eviction */
	uint64_t wall_ms; /* when the batch was read; 0: no thread, nobody is held */
	uint64_t turn_ms, ticked_ms; /* monotonic */
	uint64_t held_since; /* monotonic; 0: nobody is held */
	uint64_t held_wall_ms; /* of the last hold */
	bool caught_up; /* a record came that is newer than the hold */
	bool on_probation; /* somebody is, and after that long a silence is held again: */
	uint64_t patience_ms;
	uint64_t record_ms, let_go_ms, asked_ms; /* monotonic, the last time */
	bool queue_asked, queue_told; /* the guardian was asked for the next two; has told them */
	uint32_t queue_length, queue_limit; /* of the kernel, in records */
	uint64_t serial_of[AC_PENDING_MAX]; /* beside the events: one cache line for eight */
	struct ac_pending pending[AC_PENDING_MAX];
	struct ac_verdict verdict;
	struct {
		uint64_t domain;
		uint32_t uid;
	} domain[AC_DOMAINS_MAX];
	unsigned ring_head, ring_count;
	struct ac_report ring[AC_RING_SIZE];
};

struct ac_slot *ac_slot_find(struct ac_watch *watch, uint32_t uid);
void ac_slot_freeze(struct ac_slot *slot, bool frozen);
void ac_slot_settle(struct ac_slot *slot); /* frozen or not, by all that asks for it */
void ac_slot_kill(struct ac_slot *slot);
void ac_watch_notify(struct ac_watch *watch); /* to the guardian */
void ac_watch_kick(struct ac_watch *watch); /* to the threads */

/* watch_text.c: reads the pipe; false when there was nothing (more) to read. */
bool ac_watch_take_text(struct ac_watch *watch);

/* reader.c */
void ac_readers_stop(struct ac_watch *watch);

/* pace.c: back-pressure.  Of each record, of each event that is judged, at the end of each turn: those
 * are no longer apart than AC_PACE_POLL_MS while somebody is held or on probation. */
#define AC_PACE_POLL_MS 4
void ac_pace_record(struct ac_watch *watch, uint64_t time_ms);
void ac_pace_event(struct ac_watch *watch, struct ac_slot *slot, uint64_t time_ms);
void ac_pace_turn(struct ac_watch *watch);
/* Without the lock, whose owner may stand still: nobody runs while nobody looks; then with the lock. */
void ac_pace_alarm(struct ac_watch *watch);
void ac_pace_alarmed(struct ac_watch *watch);

/* pending.c: the life of events. */
void ac_pending_take(struct ac_watch *watch, const struct ac_record *record);
void ac_pending_forget(struct ac_watch *watch, const struct ac_slot *slot);

#endif

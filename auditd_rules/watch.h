/* SPDX-License-Identifier: ISC */
/*
 * The hot threads (a reader and its relief, see reader.c): read the audit stream, judge, freeze, kill.
 *
 * They touch memory that was there before they started and descriptors that were opened when a
 * session registered; they never allocate, never look a name up, never wait for a disk.  The
 * guardian talks to them through the functions below; one lock, held for microseconds on all sides
 * (priority inheritance), protects all of it.  Who stands still with it is noticed: see reader.c.
 */
#ifndef AC_WATCH_H
#define AC_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "judge.h"
#include "warden.h"

#define AC_WATCH_PROCESSES 64

enum ac_canary_seen { AC_CANARY_RULE = 1, AC_CANARY_LANDLOCK = 2 };

struct ac_report { /* one judged event, for people and logs */
	uint64_t serial, time_ms;
	uint32_t uid; /* whose session */
	uint32_t owner; /* whose directories are as good as its own; 0: nobody's */
	enum ac_verdict_kind kind;
	enum ac_class class;
	enum ac_operation operation;
	pid_t pid, ppid;
	int syscall;
	int64_t exit;
	const char *reason; /* static, or the silent list's, which lives as long as the program */
	bool relative, follow, barred,
		lost; /* these and the next two lines: see struct ac_verdict */
	int directory, other;
	struct ac_object object;
	char comm[64];
	char exe[AC_PATH_MAX];
	char cwd[AC_PATH_MAX];
	char target[AC_PATH_MAX];
	char also[AC_PATH_MAX]; /* RESOLVE */
};

struct ac_process { /* as its last exec said */
	pid_t pid, ppid;
	char comm[32];
	char exe[128];
};

struct ac_watched { /* a copy of what the hot thread knows of one session */
	unsigned canary; /* enum ac_canary_seen */
	bool armed; /* the harness runs */
	bool escaped;
	unsigned resolving; /* events that wait for ac_watch_resolved() */
	uint64_t events, denied, dropped; /* dropped: denied ones that did not fit the ring */
	uint64_t held; /* how often it was held until the stream had caught up */
	struct ac_report escape; /* the first */
	struct ac_process process[AC_WATCH_PROCESSES];
};

struct ac_stream { /* the state of the source */
	uint64_t records, overruns, missing, config_changes;
	bool closed; /* the source failed */
};

struct ac_watch;

/* Serves uids first..last; no thread runs yet. */
struct ac_watch *ac_watch_create(uid_t first, uid_t last, struct ac_err *err);

/* Takes over the descriptor of the stream (or changes it, after a loss): the kernel's socket, or a
 * pipe with lines of text. */
void ac_watch_set_source(struct ac_watch *watch, int fd, bool text);
/* The pulse (may be NULL) gets one beat a round. */
int ac_watch_start(struct ac_watch *watch, struct ac_pulse *pulse, struct ac_err *err);
void ac_watch_destroy(struct ac_watch *watch); /* stops the thread; NULL is fine */

int ac_watch_event_fd(const struct ac_watch *watch); /* readable: something is to be taken */
bool ac_watch_is_realtime(const struct ac_watch *watch);

/* The judge and both descriptors stay the caller's and must outlive the registration. */
int ac_watch_add(struct ac_watch *watch, uid_t uid, const struct ac_judge *judge, int freeze_fd,
	int kill_fd, struct ac_err *err);
/* From the launcher's exec on, events of the session are judged. */
void ac_watch_arm(struct ac_watch *watch, uid_t uid, pid_t launcher);
/* What the session's judge knows as declared is as in *from now. */
void ac_watch_declare(
	struct ac_watch *watch, struct ac_addresses *known, const struct ac_addresses *from);
void ac_watch_remove(struct ac_watch *watch, uid_t uid);
bool ac_watch_read(struct ac_watch *watch, uid_t uid, struct ac_watched *watched);

/* Freezes or thaws; a thaw is put off while events wait to be resolved or after an escape. */
void ac_watch_freeze(struct ac_watch *watch, uid_t uid, bool frozen);
/* One RESOLVE event is settled; verdict ESCAPE kills as the hot thread would have. */
void ac_watch_resolved(struct ac_watch *watch, uid_t uid, const struct ac_report *report);

/* Takes the oldest denied or unresolved event; false when there is none. */
bool ac_watch_take(struct ac_watch *watch, struct ac_report *report);

/* Has the mark (a number in a user-space record) come by on the stream? */
void ac_watch_expect(struct ac_watch *watch, uint64_t mark);
bool ac_watch_saw(struct ac_watch *watch, uint64_t mark);

void ac_watch_stream(struct ac_watch *watch, struct ac_stream *stream);

/* Does a held session wait for the length of the kernel's queue (once true for each question), and the
 * answer, in records. */
bool ac_watch_asks_queue(struct ac_watch *watch);
void ac_watch_tell_queue(struct ac_watch *watch, uint32_t length, uint32_t limit);

/* One record as the thread would take it: for replay, the plugin and tests. */
void ac_watch_record(struct ac_watch *watch, const struct ac_record *record);

#endif

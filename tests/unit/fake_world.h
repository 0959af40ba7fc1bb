/* SPDX-License-Identifier: ISC */
/*
 * What the explorer (explorer.c) and its fake world (fake_world.c) share.
 */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include <setjmp.h>
#include <stdbool.h>

#include "drive.h"
#include "explorer.h"

enum { WORLD_RECORDS_MAX = 128 };

struct world {
	struct ac_life journal[WORLD_RECORDS_MAX];
	unsigned records;
	unsigned faults, crashes; /* left */
	bool listener; /* the listener drives, not sudo's process */
	/* The cell. */
	bool policy, backup, uid, firewall, monitor, ready, released;
	unsigned processes;
	/* What happened, and what is known of it. */
	bool unusual; /* one early end of set-up has been tried */
	bool disturbed; /* any fault, crash or early end */
	bool orphaned; /* somebody went on from the journal alone */
	bool escaped; /* the agent did */
	bool unread; /* ... and its record waits in the queue */
	bool blind; /* the queue was lost after the escape */
	bool noted; /* the listener wrote the escape down */
	unsigned acts; /* in this call of the driver */
	unsigned waited;
};

extern struct world world;
extern struct explorer_result result;
extern const struct ac_drive_ops world_ops;
extern jmp_buf death; /* of whoever drives */
extern jmp_buf verdict; /* a claim is broken */

/* Choices: forget_choices, then runs that each begin with replay(); next_run() is false after the
 * last one.  tell: say() prints. */
void forget_choices(void);
void replay(bool tell);
bool next_run(void);
unsigned choose(unsigned n);

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void must(bool condition, const char *sentence);
void die(const char *when) __attribute__((noreturn));
struct ac_life on_disk(void);
void write_record(struct ac_life life);
void lose_the_queue(void);

#endif

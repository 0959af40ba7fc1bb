/* SPDX-License-Identifier: ISC */
/*
 * The lifecycle table.  Pure: no I/O, no allocation, no state; it trusts nothing, not even that the
 * life that it is given is a valid one.
 *
 * No step goes back in (state, cause, tries).  So every session ends, and whoever drives it can
 * tell progress from standing still.  spec/ checks this very object.
 */
#include "lifecycle.h"

#include <stdbool.h>
#include <stddef.h>

enum { TRIES_MAX = 3, LIVES = AC_STATE_COUNT * (TRIES_MAX + 1) * AC_CAUSE_COUNT };

/* Which events name which cause: see causes[]. */
enum phase { SETUP, SWITCHING, LIVE, KILLING, RELEASING, OVER, PHASE_COUNT };

struct row {
	unsigned char ok; /* the act succeeded */
	unsigned char fail; /* it failed and no retry is left; the row itself: it never gives up */
	unsigned char stop; /* EXIT, WALL_CLOCK, REFUSE */
	unsigned char lost; /* LOST, RESTART */
	unsigned char escape;
	unsigned char retries;
	unsigned char alive; /* a process of the session may exist */
	unsigned char phase;
	unsigned char wait[TRIES_MAX]; /* seconds before the first, second, third retry */
};

/* clang-format off */
#define ROW(state, ok, fail, stop, lost, escape, retries, alive, phase, ...) \
	[AC_STATE_##state] = { AC_STATE_##ok, AC_STATE_##fail, AC_STATE_##stop, AC_STATE_##lost, \
		AC_STATE_##escape, retries, alive, phase, { __VA_ARGS__ } }

/* A failed account or switch leaves through the kill: the fork that failed may have succeeded. */
static const struct row rows[AC_STATE_COUNT] = {
	/*  state      ok         fail       stop       lost       escape     retries, alive  wait */
	ROW(PLANNED,   POLICY,    CLEANUP,   CLEANUP,   CLEANUP,   TERMINATE, 0, 0, SETUP,     0),
	ROW(POLICY,    BACKUP,    CLEANUP,   CLEANUP,   CLEANUP,   TERMINATE, 0, 0, SETUP,     0),
	ROW(BACKUP,    ACCOUNT,   CLEANUP,   CLEANUP,   CLEANUP,   TERMINATE, 2, 0, SETUP,     1, 3),
	ROW(ACCOUNT,   FIREWALL,  TERMINATE, TERMINATE, TERMINATE, TERMINATE, 1, 0, SETUP,     0),
	ROW(FIREWALL,  MONITOR,   CLEANUP,   CLEANUP,   CLEANUP,   TERMINATE, 1, 0, SETUP,     0),
	ROW(MONITOR,   SWITCH,    CLEANUP,   CLEANUP,   CLEANUP,   TERMINATE, 0, 0, SETUP,     0),
	ROW(SWITCH,    RUNNING,   TERMINATE, TERMINATE, TERMINATE, TERMINATE, 1, 1, SWITCHING, 0),
	ROW(RUNNING,   RUNNING,   TERMINATE, TERMINATE, TERMINATE, TERMINATE, 0, 1, LIVE,      0),
	ROW(TERMINATE, DRAIN,     TERMINATE, TERMINATE, TERMINATE, TERMINATE, 3, 1, KILLING,   0, 1, 1),
	ROW(DRAIN,     CLEANUP,   DRAIN,     DRAIN,     CLEANUP,   DRAIN,     3, 0, KILLING,   0, 1, 1),
	ROW(CLEANUP,   ENDED,     CLEANUP,   CLEANUP,   CLEANUP,   CLEANUP,   3, 0, RELEASING, 0, 1, 1),
	ROW(ENDED,     ENDED,     ENDED,     ENDED,     ENDED,     ENDED,     0, 0, OVER,      0),
};

#define CAUSES(phase, ok, fail, exit, wall, refuse, lost, escape, restart) \
	[phase] = { AC_CAUSE_##ok, AC_CAUSE_##fail, AC_CAUSE_##exit, AC_CAUSE_##wall, \
		AC_CAUSE_##refuse, AC_CAUSE_##lost, AC_CAUSE_##escape, AC_CAUSE_##restart }

/*
 * What an event says about the cause; the worse of that and what is there stays.  Once the session
 * is on its way out only loss and escape say anything; once the records are drained, only escape.
 */
static const unsigned char causes[PHASE_COUNT][AC_EVENT_COUNT] = {
	/*     phase      OK    FAIL     EXIT     WALL_CLOCK  REFUSE   LOST     ESCAPE  RESTART */
	CAUSES(SETUP,     NONE, ABORTED, ABORTED, ABORTED,    REFUSED, ABORTED, ESCAPE, ABORTED),
	CAUSES(SWITCHING, NONE, ABORTED, ABORTED, ABORTED,    REFUSED, LOST,    ESCAPE, LOST),
	CAUSES(LIVE,      NONE, LOST,    CLEAN,   WALL_CLOCK, LOST,    LOST,    ESCAPE, LOST),
	CAUSES(KILLING,   NONE, NONE,    NONE,    NONE,       NONE,    LOST,    ESCAPE, LOST),
	CAUSES(RELEASING, NONE, NONE,    NONE,    NONE,       NONE,    NONE,    ESCAPE, NONE),
	CAUSES(OVER,      NONE, NONE,    NONE,    NONE,       NONE,    NONE,    NONE,   NONE),
};
/* clang-format on */

static const char *const state_names[AC_STATE_COUNT] = { "planned", "policy", "backup", "account",
	"firewall", "monitor", "switch", "running", "terminate", "drain", "cleanup", "ended" };
static const char *const cause_names[AC_CAUSE_COUNT] = { "none", "clean", "wall_clock", "refused",
	"aborted", "lost", "escape" };

static unsigned char worse(unsigned char a, unsigned char b)
{
	return a > b ? a : b;
}

int ac_life_is_valid(struct ac_life life)
{
	if (life.state >= AC_STATE_COUNT || life.cause >= AC_CAUSE_COUNT)
		return 0;
	if (life.tries > rows[life.state].retries)
		return 0;
	return life.state <= AC_STATE_RUNNING || life.cause != AC_CAUSE_NONE;
}

/* Set-up with a cause: something ended the session, and the record of the way out was refused. */
int ac_life_is_leaving(struct ac_life life)
{
	return life.state > AC_STATE_RUNNING || life.cause != AC_CAUSE_NONE;
}

/* What is no life at all may still have processes: kill, and call it lost. */
static struct ac_life astray(struct ac_life life, enum ac_life_event event)
{
	struct ac_life next = { AC_STATE_TERMINATE, 0, AC_CAUSE_LOST };

	if (event == AC_EVENT_ESCAPE || life.cause == AC_CAUSE_ESCAPE)
		next.cause = AC_CAUSE_ESCAPE;
	return next;
}

static unsigned char follow(const struct row *row, enum ac_life_event event)
{
	switch (event) {
	case AC_EVENT_OK:
		return row->ok;
	case AC_EVENT_FAIL:
		return row->fail;
	case AC_EVENT_EXIT:
	case AC_EVENT_WALL_CLOCK:
	case AC_EVENT_REFUSE:
		return row->stop;
	case AC_EVENT_ESCAPE:
		return row->escape;
	case AC_EVENT_LOST:
	case AC_EVENT_RESTART:
	case AC_EVENT_COUNT:
		break;
	}
	return row->lost;
}

struct ac_life ac_life_next(struct ac_life life, enum ac_life_event event)
{
	const struct row *row;
	struct ac_life next = life;

	if ((unsigned)event >= AC_EVENT_COUNT)
		event = AC_EVENT_LOST;
	if (!ac_life_is_valid(life))
		return astray(life, event);
	row = &rows[life.state];
	if (life.state <= AC_STATE_RUNNING && ac_life_is_leaving(life)) {
		/* No set-up act may follow, whatever the last one says of itself. */
		if (event == AC_EVENT_OK)
			event = AC_EVENT_FAIL;
	} else if (event == AC_EVENT_FAIL && life.tries < row->retries) {
		next.tries++;
		return next;
	}
	next.state = follow(row, event);
	next.cause = worse(life.cause, causes[row->phase][event]);
	if (next.state != life.state)
		next.tries = 0;
	return next;
}

int ac_life_is_alive(struct ac_life life)
{
	return life.state >= AC_STATE_COUNT || rows[life.state].alive;
}

unsigned ac_life_retry_delay(struct ac_life life)
{
	if (!ac_life_is_valid(life) || life.tries == 0)
		return 0;
	return rows[life.state].wait[life.tries - 1];
}

int ac_life_is_same(struct ac_life a, struct ac_life b)
{
	return a.state == b.state && a.tries == b.tries && a.cause == b.cause;
}

const char *ac_state_name(unsigned state)
{
	return state < AC_STATE_COUNT ? state_names[state] : NULL;
}

const char *ac_cause_name(unsigned cause)
{
	return cause < AC_CAUSE_COUNT ? cause_names[cause] : NULL;
}

const char *ac_life_status(struct ac_life life)
{
	switch ((enum ac_cause)life.cause) {
	case AC_CAUSE_NONE:
		return life.state < AC_STATE_RUNNING ? "planned" : "running";
	case AC_CAUSE_CLEAN:
	case AC_CAUSE_WALL_CLOCK:
		return "ended";
	case AC_CAUSE_REFUSED:
	case AC_CAUSE_ABORTED:
		return "aborted";
	case AC_CAUSE_LOST:
	case AC_CAUSE_ESCAPE:
	case AC_CAUSE_COUNT:
		break;
	}
	return "terminated";
}

static unsigned number_of(struct ac_life life)
{
	return ((unsigned)life.state * (TRIES_MAX + 1) + life.tries) * AC_CAUSE_COUNT + life.cause;
}

static struct ac_life life_of(unsigned number)
{
	struct ac_life life = {
		.state = (unsigned char)(number / AC_CAUSE_COUNT / (TRIES_MAX + 1)),
		.tries = (unsigned char)(number / AC_CAUSE_COUNT % (TRIES_MAX + 1)),
		.cause = (unsigned char)(number % AC_CAUSE_COUNT),
	};

	return life;
}

/* What the driver holds when the record of the step from -> to was refused: see drive.c. */
static struct ac_life held_instead(struct ac_life from, struct ac_life to)
{
	if (to.state == from.state || to.state == AC_STATE_TERMINATE)
		return to;
	from.cause = worse(from.cause, to.cause);
	return from;
}

/* Every step leads to a higher number, so one pass upwards finds all that can be held. */
int ac_life_conforms(struct ac_life previous, struct ac_life next)
{
	bool held[LIVES] = { false };

	if (!ac_life_is_valid(previous) || !ac_life_is_valid(next))
		return 0;
	held[number_of(previous)] = true;
	for (unsigned i = number_of(previous); i <= number_of(next); i++) {
		if (!held[i])
			continue;
		for (unsigned event = 0; event < AC_EVENT_COUNT; event++) {
			struct ac_life from = life_of(i);
			struct ac_life to = ac_life_next(from, (enum ac_life_event)event);

			if (ac_life_is_same(to, next) && !ac_life_is_same(to, from))
				return 1;
			held[number_of(held_instead(from, to))] = true;
		}
	}
	return 0;
}

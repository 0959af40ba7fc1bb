/* SPDX-License-Identifier: ISC */
/*
 * The explorer: one run is one session.
 *
 * sudo's process drives it to switch, the listener from there; each act may succeed, fail without
 * effect, fail after its effect, be cut by death before or after, or report that something happened
 * meanwhile; each journal write may be refused or cut by death before or after (fake_world.c).
 * Whoever died is replaced by an adopter that knows only the journal.
 */
#include "explorer.h"

#include <string.h>

#include "fake_world.h"

enum { TURNS_MAX = 60 };

/* The barrier is open: what the agent does, and what the listener takes it for. */
static enum ac_life_event agent(void)
{
	enum { EXITS, CLOCK, ESCAPES, ESCAPES_AND_EXITS, TELEMETRY_LOST };

	switch (choose(world.faults ? 5 : 4)) {
	case EXITS:
		world.processes = 0;
		say("sees the agent exit");
		return AC_EVENT_EXIT;
	case CLOCK:
		say("sees the wall clock run out");
		world.processes = 2;
		return AC_EVENT_WALL_CLOCK;
	case ESCAPES:
		say("reads of an escape, and notes it");
		world.escaped = world.noted = true;
		return AC_EVENT_ESCAPE;
	case ESCAPES_AND_EXITS:
		say("sees the agent exit; the record of its escape is still queued");
		world.escaped = world.unread = true;
		world.processes = 0;
		return AC_EVENT_EXIT;
	default:
		say("loses its telemetry");
		world.faults--;
		world.disturbed = true;
		lose_the_queue();
		return AC_EVENT_LOST;
	}
}

static void go(void)
{
	must(on_disk().state == AC_STATE_RUNNING, "running is on disk before the barrier opens");
	must(world.policy && world.backup && world.uid && world.firewall && world.monitor &&
			world.ready && world.listener,
		"an agent runs only with policy, backup, uid, firewall and listener");
	world.released = true;
	say("opens the barrier");
}

/* One owner's work, from the life that it has to where it leaves the session. */
static int own(struct ac_life *life, int event)
{
	int rc;

	world.acts = world.waited = 0;
	if (event < AC_EVENT_COUNT)
		rc = ac_drive_event(life, &world_ops, NULL, (enum ac_life_event)event);
	else
		rc = ac_drive(
			life, &world_ops, NULL, world.listener ? AC_STATE_ENDED : AC_STATE_SWITCH);
	if (rc == 0 && life->state == AC_STATE_RUNNING) {
		go();
		if (world.crashes && choose(2))
			die("while the agent runs");
		world.acts = 0;
		rc = ac_drive_event(life, &world_ops, NULL, agent());
	}
	must(!world.released || world.processes == 0 || life->state == AC_STATE_TERMINATE,
		"only a kill that failed leaves an agent alive");
	return rc;
}

/* An owner is gone.  Its queue went with it, and until the next one comes, the agent is alone. */
static int succeed(bool *sudo_lives)
{
	bool listener_died = world.listener;

	lose_the_queue();
	world.orphaned = true;
	if (world.released && world.processes > 0 && !world.escaped && choose(2)) {
		say("is not there: the agent escapes unseen");
		world.escaped = world.blind = true;
	}
	if (!listener_died)
		*sudo_lives = false;
	world.listener = !(listener_died && *sudo_lives && choose(2));
	say("takes over");
	return world.listener ? AC_EVENT_RESTART : AC_EVENT_LOST;
}

static void check_end(void)
{
	struct ac_life end = on_disk();

	must(end.state == AC_STATE_ENDED, "every session ends, on disk");
	must(world.processes == 0 && !world.uid && !world.firewall && !world.monitor &&
			!world.policy,
		"nothing of the cell is left");
	must(end.cause != AC_CAUSE_NONE, "every end has a cause");
	must(!world.released || (end.cause != AC_CAUSE_REFUSED && end.cause != AC_CAUSE_ABORTED),
		"refused and aborted mean that no agent ran");
	must(world.released || end.cause > AC_CAUSE_WALL_CLOCK,
		"clean and wall clock mean that an agent ran");
	must(!world.escaped || end.cause >= (world.released ? AC_CAUSE_LOST : AC_CAUSE_ABORTED),
		"no escape is recorded as clean");
	must(!world.escaped || world.noted || world.blind, "an escape is noted if anyone saw it");
	must(!world.escaped || world.blind || world.orphaned || end.cause == AC_CAUSE_ESCAPE,
		"an escape is recorded as an escape unless its record or its witness was lost");
	must(world.disturbed || world.escaped || end.cause <= AC_CAUSE_WALL_CLOCK,
		"an undisturbed session ends clean or by the clock");
}

static void run(struct explorer_bounds bounds)
{
	/* Not automatic: they outlive longjmp(). */
	static struct ac_life life;
	static bool sudo_lives;
	static int event;
	static unsigned turns;

	memset(&world, 0, sizeof(world));
	world.faults = bounds.faults;
	world.crashes = bounds.crashes;
	memset(&life, 0, sizeof(life));
	write_record(life);
	sudo_lives = true;
	event = AC_EVENT_COUNT;
	turns = 0;
	while (on_disk().state != AC_STATE_ENDED) {
		must(++turns < TURNS_MAX, "a session without further faults ends");
		if (setjmp(death)) {
			event = succeed(&sudo_lives);
			life = on_disk();
			continue;
		}
		if (own(&life, event) == 0) {
			world.listener = true; /* switch is journalled: sudo hands over */
			event = AC_EVENT_COUNT;
		} else if (world.listener) {
			say("tries again later");
			event = AC_EVENT_COUNT;
		} else {
			say("gives up; the listener adopts");
			sudo_lives = false;
			world.listener = world.orphaned = true;
			life = on_disk();
			event = AC_EVENT_RESTART;
		}
	}
	check_end();
}

struct explorer_result explorer_run(struct explorer_bounds bounds)
{
	memset(&result, 0, sizeof(result));
	forget_choices();
	if (setjmp(verdict))
		return result;
	do {
		replay(false);
		result.runs++;
		run(bounds);
	} while (next_run());
	return result;
}

void explorer_tell(struct explorer_bounds bounds)
{
	replay(true);
	if (!setjmp(verdict))
		run(bounds);
}

/* SPDX-License-Identifier: ISC */
/*
 * The explorer: choose() enumerates, the fake world obeys and checks.
 *
 * A run is one session: sudo's process drives it to switch, the listener from there; each act may
 * succeed, fail without effect, fail after its effect, be cut by death before or after, or report
 * that something happened meanwhile; each journal write may be refused or cut by death before or
 * after.  Whoever died is replaced by an adopter that knows only the journal.  Static state
 * throughout: one world at a time, and longjmp() is how a process dies.
 */
#include "explorer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "claims.h"
#include "drive.h"

enum { CHOICES_MAX = 512, RECORDS_MAX = 128, ACTS_MAX = 100, TURNS_MAX = 60 };

/* The choices of this run; those before `known` are replayed. */
static struct {
	unsigned char taken[CHOICES_MAX], of[CHOICES_MAX];
	unsigned known, at;
} choices;

static struct world {
	struct ac_life journal[RECORDS_MAX];
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
} world;

static struct explorer_result result;
static bool telling;
static jmp_buf death, verdict;

static bool next_run(void)
{
	while (choices.known > 0) {
		unsigned last = choices.known - 1;

		if (choices.taken[last] + 1 < choices.of[last]) {
			choices.taken[last]++;
			return true;
		}
		choices.known = last;
	}
	return false;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list arguments;

	if (!telling)
		return;
	printf("  %-8s  ", world.listener ? "listener" : "sudo");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

static void must(bool condition, const char *sentence)
{
	if (condition)
		return;
	say("BROKEN: %s", sentence);
	result.broken = sentence;
	longjmp(verdict, 1);
}

static unsigned choose(unsigned n)
{
	must(choices.at < CHOICES_MAX, "a session without further faults ends");
	if (choices.at == choices.known) {
		choices.taken[choices.known] = 0;
		choices.of[choices.known++] = (unsigned char)n;
	}
	return choices.taken[choices.at++];
}

static void die(const char *when)
{
	say("dies %s", when);
	world.crashes--;
	world.disturbed = true;
	longjmp(death, 1);
}

static struct ac_life on_disk(void)
{
	return world.journal[world.records - 1];
}

static void write_record(struct ac_life life)
{
	must(world.records < RECORDS_MAX, "the journal stays short");
	if (world.records > 0)
		must(ac_life_conforms(on_disk(), life), "each record follows from the one before");
	world.journal[world.records++] = life;
	say("writes %s, %u tries, cause %s", ac_state_name(life.state), life.tries,
		ac_cause_name(life.cause));
}

static int journal(void *context, struct ac_life life)
{
	enum { GOOD, REFUSED, DIES_BEFORE, DIES_AFTER };
	unsigned options[4] = { GOOD }, n = 1, outcome;

	(void)context;
	result.steps++;
	if (world.faults)
		options[n++] = REFUSED;
	if (world.crashes) {
		options[n++] = DIES_BEFORE;
		options[n++] = DIES_AFTER;
	}
	outcome = options[choose(n)];
	if (outcome == DIES_BEFORE)
		die("before it writes");
	if (outcome == REFUSED) {
		say("cannot write %s", ac_state_name(life.state));
		world.faults--;
		world.disturbed = true;
		return -ENOSPC;
	}
	write_record(life);
	if (outcome == DIES_AFTER)
		die("after it wrote");
	return 0;
}

static void before_setup_act(struct ac_life life)
{
	must(life.cause == AC_CAUSE_NONE, "no set-up act once there is a cause to end");
	must(life.state < AC_STATE_BACKUP || world.policy, "everything follows the policy");
	must(life.state < AC_STATE_ACCOUNT || world.backup, "no account before the backup");
	must(life.state < AC_STATE_FIREWALL || world.uid, "no firewall entry before the uid");
	must(life.state < AC_STATE_MONITOR || world.firewall, "no monitor before the firewall");
	must(life.state < AC_STATE_SWITCH || world.monitor, "no switch before the monitor");
}

static void before_act(struct ac_life life)
{
	must(life.state == on_disk().state || life.state == AC_STATE_TERMINATE,
		"the journal names an act before it is done, but for the kill");
	must(life.state != AC_STATE_PLANNED && life.state != AC_STATE_RUNNING &&
			life.state < AC_STATE_ENDED,
		"planned, running and ended have no act");
	must(++world.acts < ACTS_MAX, "a call of the driver is bounded");
	must(world.waited == ac_life_retry_delay(life), "a retry waits as the table says");
	world.waited = 0;
	if (life.state < AC_STATE_RUNNING)
		before_setup_act(life);
	if (life.state == AC_STATE_CLEANUP) {
		must(world.processes == 0, "nothing is released while a process is left");
		must(!world.unread, "no exit is believed before the queue is drained");
	}
}

/* The effect of a whole act; what the drain finds is an event of its own. */
static enum ac_life_event perform(struct ac_life life)
{
	switch ((enum ac_state)life.state) {
	case AC_STATE_POLICY:
		world.policy = true;
		break;
	case AC_STATE_BACKUP:
		world.backup = true;
		break;
	case AC_STATE_ACCOUNT:
		world.uid = true;
		break;
	case AC_STATE_FIREWALL:
		world.firewall = true;
		break;
	case AC_STATE_MONITOR:
		world.monitor = true;
		break;
	case AC_STATE_SWITCH:
		world.ready = true;
		world.processes = 1;
		break;
	case AC_STATE_TERMINATE:
		world.processes = 0;
		break;
	case AC_STATE_DRAIN:
		if (!world.listener)
			return AC_EVENT_LOST; /* sudo's process has no queue */
		if (world.unread) {
			world.unread = false;
			world.noted = true;
			return AC_EVENT_ESCAPE;
		}
		break;
	case AC_STATE_CLEANUP:
		world.policy = world.uid = world.firewall = world.monitor = false;
		break;
	case AC_STATE_PLANNED:
	case AC_STATE_RUNNING:
	case AC_STATE_ENDED:
	case AC_STATE_COUNT:
		break;
	}
	return AC_EVENT_OK;
}

static void lose_the_queue(void)
{
	if (world.escaped && !world.noted)
		world.blind = true;
	world.unread = false;
}

enum outcome { DONE, FAILS_BEFORE, FAILS_AFTER, DIES_BEFORE, DIES_AFTER, LOSES, ENDS };

static unsigned outcomes_of(struct ac_life life, enum outcome options[8])
{
	unsigned n = 0;

	options[n++] = DONE;
	if (world.faults) {
		options[n++] = FAILS_BEFORE;
		options[n++] = FAILS_AFTER;
		if (world.listener)
			options[n++] = LOSES;
	}
	if (world.crashes) {
		options[n++] = DIES_BEFORE;
		options[n++] = DIES_AFTER;
	}
	if (life.state < AC_STATE_RUNNING && !world.unusual)
		options[n++] = ENDS;
	return n;
}

/* Something else than the act's own success or failure. */
static enum ac_life_event happens(enum outcome outcome)
{
	static const enum ac_life_event ends[] = { AC_EVENT_EXIT, AC_EVENT_WALL_CLOCK,
		AC_EVENT_REFUSE, AC_EVENT_ESCAPE };
	enum ac_life_event event = AC_EVENT_LOST;

	world.disturbed = true;
	if (outcome == LOSES) {
		world.faults--;
		lose_the_queue();
	} else {
		world.unusual = true;
		event = ends[choose(4)];
		if (event == AC_EVENT_ESCAPE)
			world.escaped = world.noted = true;
	}
	return event;
}

static enum ac_life_event act(void *context, struct ac_life life)
{
	enum outcome options[8] = { DONE }, outcome;
	enum ac_life_event event = AC_EVENT_FAIL;
	const char *name = ac_state_name(life.state);

	(void)context;
	result.steps++;
	before_act(life);
	outcome = options[choose(outcomes_of(life, options))];
	if (outcome == DIES_BEFORE)
		die("before it acts");
	if (outcome == LOSES || outcome == ENDS)
		event = happens(outcome);
	else if (outcome == FAILS_BEFORE || outcome == FAILS_AFTER)
		world.faults--, world.disturbed = true;
	if (outcome == FAILS_AFTER && perform(life) == AC_EVENT_ESCAPE)
		event = AC_EVENT_ESCAPE; /* what was read outranks the failure: drive.h */
	if (outcome == DONE || outcome == DIES_AFTER)
		event = perform(life);
	say("act %s: %s%s", name, claim_event_name(event),
		outcome == FAILS_AFTER    ? ", yet it had its effect"
		: outcome == FAILS_BEFORE ? ", without effect"
					  : "");
	if (outcome == DIES_AFTER)
		die("after it acted");
	return event;
}

static void wait(void *context, unsigned seconds)
{
	(void)context;
	world.waited += seconds;
	say("waits %u s", seconds);
}

static const struct ac_drive_ops ops = { .act = act, .journal = journal, .wait = wait };

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
		rc = ac_drive_event(life, &ops, NULL, (enum ac_life_event)event);
	else
		rc = ac_drive(life, &ops, NULL, world.listener ? AC_STATE_ENDED : AC_STATE_SWITCH);
	if (rc == 0 && life->state == AC_STATE_RUNNING) {
		go();
		if (world.crashes && choose(2))
			die("while the agent runs");
		world.acts = 0;
		rc = ac_drive_event(life, &ops, NULL, agent());
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
	memset(&choices, 0, sizeof(choices));
	telling = false;
	if (setjmp(verdict))
		return result;
	do {
		choices.at = 0;
		result.runs++;
		run(bounds);
	} while (next_run());
	return result;
}

void explorer_tell(struct explorer_bounds bounds)
{
	telling = true;
	choices.at = 0;
	if (!setjmp(verdict))
		run(bounds);
}

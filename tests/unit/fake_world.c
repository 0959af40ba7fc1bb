/* SPDX-License-Identifier: ISC */
/*
 * The fake world: acts and journal writes that can go wrong in every way, and the claims about what
 * the driver asks of them.  choose() enumerates; longjmp() is how a process dies.  One world at a
 * time, all of it static.
 */
#include "fake_world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "claims.h"

enum { CHOICES_MAX = 512, ACTS_MAX = 100 };

/* The choices of this run; those before `known` are replayed. */
static struct {
	unsigned char taken[CHOICES_MAX], of[CHOICES_MAX];
	unsigned known, at;
} choices;

struct world world;

struct explorer_result result;
jmp_buf death, verdict;
static bool telling;

void replay(bool tell)
{
	telling = tell;
	choices.at = 0;
}

void forget_choices(void)
{
	memset(&choices, 0, sizeof(choices));
}

bool next_run(void)
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

void say(const char *format, ...)
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

void must(bool condition, const char *sentence)
{
	if (condition)
		return;
	say("BROKEN: %s", sentence);
	result.broken = sentence;
	longjmp(verdict, 1);
}

unsigned choose(unsigned n)
{
	must(choices.at < CHOICES_MAX, "a session without further faults ends");
	if (choices.at == choices.known) {
		choices.taken[choices.known] = 0;
		choices.of[choices.known++] = (unsigned char)n;
	}
	return choices.taken[choices.at++];
}

void die(const char *when)
{
	say("dies %s", when);
	world.crashes--;
	world.disturbed = true;
	longjmp(death, 1);
}

struct ac_life on_disk(void)
{
	return world.journal[world.records - 1];
}

void write_record(struct ac_life life)
{
	must(world.records < WORLD_RECORDS_MAX, "the journal stays short");
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

void lose_the_queue(void)
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

const struct ac_drive_ops world_ops = { .act = act, .journal = journal, .wait = wait };

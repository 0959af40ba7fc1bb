/* SPDX-License-Identifier: ISC */
/*
 * The claims about one step.  Each is a sentence and the condition that contradicts it; they come
 * from the architecture, not from the table.  Used on every input by exhaust.c, on a smaller
 * domain by the mutation test, and by check_lifecycle.c.
 */
#include "claims.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const char *claim_event_name(unsigned event)
{
	static const char *const names[AC_EVENT_COUNT] = { "ok", "fail", "exit", "wall clock",
		"refuse", "lost", "escape", "restart" };

	return event < AC_EVENT_COUNT ? names[event] : "an event out of range";
}

const unsigned char claim_retries[AC_STATE_COUNT] = {
	[AC_STATE_BACKUP] = 2,
	[AC_STATE_ACCOUNT] = 1,
	[AC_STATE_FIREWALL] = 1,
	[AC_STATE_SWITCH] = 1,
	[AC_STATE_TERMINATE] = 3,
	[AC_STATE_DRAIN] = 3,
	[AC_STATE_CLEANUP] = 3,
};

static bool is_life(struct ac_life life)
{
	if (life.state >= AC_STATE_COUNT || life.cause >= AC_CAUSE_COUNT)
		return false;
	if (life.state > AC_STATE_RUNNING && life.cause == AC_CAUSE_NONE)
		return false;
	return life.tries <= claim_retries[life.state];
}

/* The step in the short words that the claims below use. */
struct step {
	struct ac_life from, to;
	unsigned event;
	bool moves; /* to another state */
	bool pending; /* set-up, but a cause is there already */
	bool stop; /* exit, wall clock, refuse */
	bool lost; /* lost, restart, out of range */

	bool retried; /* a failure with a try left */
};

#define UNLESS(condition, sentence) \
	do { \
		if (!(condition)) \
			return (sentence); \
	} while (0)

static const char *set_up(const struct step *s)
{
	unsigned from = s->from.state, to = s->to.state;

	if (from > AC_STATE_RUNNING)
		return NULL;
	UNLESS(to == from || to > AC_STATE_RUNNING || to == from + 1,
		"set-up goes one step at a time");
	UNLESS(to > AC_STATE_RUNNING || !s->moves || s->event == AC_EVENT_OK,
		"only a success moves set-up on");
	UNLESS(!s->pending || to > AC_STATE_RUNNING, "nothing goes on with a cause pending");
	if (s->event == AC_EVENT_OK && !s->pending)
		UNLESS(to == (from == AC_STATE_RUNNING ? from : from + 1u) &&
				s->to.cause == AC_CAUSE_NONE,
			"a success leads to the next state and names no cause");
	UNLESS(!s->stop || to > AC_STATE_RUNNING, "exit, wall clock and refusal end it");
	UNLESS(!s->lost || to > AC_STATE_RUNNING, "loss ends it");
	if (to <= AC_STATE_RUNNING)
		return NULL;
	if (from >= AC_STATE_SWITCH || from == AC_STATE_ACCOUNT || s->event == AC_EVENT_ESCAPE)
		UNLESS(to == AC_STATE_TERMINATE,
			"switch, running, a doubtful account and an escape leave by the kill");
	else
		UNLESS(to == AC_STATE_CLEANUP, "an early end goes straight to cleanup");
	return NULL;
}

static const char *way_out(const struct step *s)
{
	unsigned from = s->from.state, to = s->to.state;
	bool ok = s->event == AC_EVENT_OK;

	if (from == AC_STATE_TERMINATE)
		UNLESS(to == (ok ? AC_STATE_DRAIN : AC_STATE_TERMINATE),
			"only processes seen dead lead out of terminate, to drain");
	if (from == AC_STATE_DRAIN)
		UNLESS(to == (ok || s->lost ? AC_STATE_CLEANUP : AC_STATE_DRAIN),
			"drain ends by being done or by losing its source, in cleanup");
	if (from == AC_STATE_CLEANUP)
		UNLESS(to == (ok ? AC_STATE_ENDED : AC_STATE_CLEANUP),
			"only a finished cleanup leads to ended");
	if (from == AC_STATE_ENDED)
		UNLESS(ac_life_is_same(s->from, s->to), "ended is the end");
	return NULL;
}

static const char *retries(const struct step *s)
{
	if (s->event != AC_EVENT_FAIL) {
		UNLESS(s->to.tries == (s->moves ? 0 : s->from.tries), "only a failure is counted");
		return NULL;
	}
	if (s->retried) {
		UNLESS(!s->moves && s->to.tries == s->from.tries + 1 &&
				s->to.cause == s->from.cause,
			"a failure is retried as often as the state allows, and names no cause");
		return NULL;
	}
	UNLESS(s->from.state > AC_STATE_RUNNING || s->moves, "a used-up step of set-up is left");
	UNLESS(s->moves || s->to.tries == s->from.tries, "tries stop at their limit");
	UNLESS(!s->moves || s->to.tries == 0, "a new state starts with no tries");
	return NULL;
}

/* The cause that the event itself names in this state. */
static unsigned named_cause(const struct step *s)
{
	unsigned from = s->from.state;

	if (s->retried || from == AC_STATE_ENDED)
		return AC_CAUSE_NONE;
	if (s->event == AC_EVENT_ESCAPE)
		return AC_CAUSE_ESCAPE;
	if (from > AC_STATE_RUNNING)
		return s->lost && from < AC_STATE_CLEANUP ? AC_CAUSE_LOST : AC_CAUSE_NONE;
	if (s->event == AC_EVENT_OK)
		return s->pending && from == AC_STATE_RUNNING ? AC_CAUSE_LOST
		       : s->pending                           ? AC_CAUSE_ABORTED
							      : AC_CAUSE_NONE;
	if (from == AC_STATE_RUNNING)
		return s->event == AC_EVENT_EXIT         ? AC_CAUSE_CLEAN
		       : s->event == AC_EVENT_WALL_CLOCK ? AC_CAUSE_WALL_CLOCK
							 : AC_CAUSE_LOST;
	if (s->event == AC_EVENT_REFUSE)
		return AC_CAUSE_REFUSED;
	return s->lost && from == AC_STATE_SWITCH ? AC_CAUSE_LOST : AC_CAUSE_ABORTED;
}

static const char *cause(const struct step *s)
{
	unsigned named = named_cause(s);
	unsigned expected = named > s->from.cause ? named : s->from.cause;

	UNLESS(s->to.cause >= s->from.cause, "the worst cause is never forgotten");
	UNLESS(s->event != AC_EVENT_ESCAPE || s->from.state == AC_STATE_ENDED ||
			s->to.cause == AC_CAUSE_ESCAPE,
		"an escape is recorded as an escape");
	UNLESS(!s->lost || s->from.state < AC_STATE_SWITCH || s->from.state > AC_STATE_DRAIN ||
			s->to.cause >= AC_CAUSE_LOST,
		"loss while records matter is never recorded as better than lost");
	UNLESS(s->from.state != AC_STATE_RUNNING || s->from.cause != AC_CAUSE_NONE ||
			(s->to.cause != AC_CAUSE_REFUSED && s->to.cause != AC_CAUSE_ABORTED),
		"refused and aborted mean that no agent ever ran");
	UNLESS(s->to.cause == s->from.cause || s->from.state == AC_STATE_RUNNING ||
			s->to.cause > AC_CAUSE_WALL_CLOCK,
		"only a session that ran ends clean or by the clock");
	UNLESS(s->to.cause == expected, "the cause says what happened, and nothing else");
	return NULL;
}

static const char *order(const struct step *s)
{
	struct ac_life a = s->from, b = s->to;

	UNLESS(b.state >= a.state, "no step goes back to an earlier state");
	UNLESS(s->moves || b.tries >= a.tries, "no step of the same state forgets a failure");
	return NULL;
}

static const char *no_life(struct ac_life life, unsigned event, struct ac_life next)
{
	bool escape = event == AC_EVENT_ESCAPE || life.cause == AC_CAUSE_ESCAPE;

	UNLESS(next.state == AC_STATE_TERMINATE && next.tries == 0 &&
			next.cause == (escape ? AC_CAUSE_ESCAPE : AC_CAUSE_LOST),
		"what is no life is killed, and called lost or escape");
	return NULL;
}

const char *claim_broken(struct ac_life life, unsigned event, struct ac_life next)
{
	const char *(*const claims[])(
		const struct step *) = { order, set_up, way_out, retries, cause };
	struct step s = { .from = life, .to = next, .event = event };

	UNLESS(is_life(next), "every step leads to a life");
	if (!is_life(life))
		return no_life(life, event, next);
	s.moves = next.state != life.state;
	s.pending = life.state <= AC_STATE_RUNNING && life.cause != AC_CAUSE_NONE;

	s.stop = event == AC_EVENT_EXIT || event == AC_EVENT_WALL_CLOCK || event == AC_EVENT_REFUSE;
	s.lost = event == AC_EVENT_LOST || event == AC_EVENT_RESTART || event >= AC_EVENT_COUNT;
	s.retried = event == AC_EVENT_FAIL && !s.pending && life.tries < claim_retries[life.state];
	for (unsigned i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		const char *broken = claims[i](&s);

		if (broken)
			return broken;
	}
	return NULL;
}

const char *claim_broken_about(struct ac_life life)
{
	static const unsigned char wait[AC_STATE_COUNT][4] = {
		[AC_STATE_BACKUP] = { 0, 1, 3 },
		[AC_STATE_TERMINATE] = { 0, 0, 1, 1 },
		[AC_STATE_DRAIN] = { 0, 0, 1, 1 },
		[AC_STATE_CLEANUP] = { 0, 0, 1, 1 },
	};
	bool alive = life.state == AC_STATE_SWITCH || life.state == AC_STATE_RUNNING ||
		     life.state == AC_STATE_TERMINATE || life.state >= AC_STATE_COUNT;
	unsigned delay = is_life(life) ? wait[life.state][life.tries] : 0;

	UNLESS(!ac_life_is_valid(life) == !is_life(life), "a life is valid as lifecycle.h says");
	UNLESS(!ac_life_is_alive(life) == !alive,
		"processes may exist in switch, running and terminate only");
	UNLESS(ac_life_retry_delay(life) == delay, "retries wait as the architecture says");
	UNLESS(ac_life_status(life) != NULL, "every life has a status");
	return NULL;
}

/* SPDX-License-Identifier: ISC */
/*
 * Every input of the lifecycle table: all 2^24 values of struct ac_life, every event and some that
 * are none.  No tool and no abstraction: the compiled function is called with each of them.  Then
 * ac_life_conforms(), for all pairs of lives, against what the real driver can write.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims.h"
#include "drive.h"

static void print_life(struct ac_life life)
{
	const char *state = ac_state_name(life.state), *cause = ac_cause_name(life.cause);

	if (state && cause)
		printf("(%s, %u tries, cause %s)", state, life.tries, cause);
	else
		printf("(state %u, %u tries, cause %u)", life.state, life.tries, life.cause);
}

static void fail(struct ac_life life, const char *broken)
{
	printf("not ok - exhaust: %s\n  life ", broken);
	print_life(life);
}

static void check_step(struct ac_life life, unsigned event)
{
	struct ac_life next = ac_life_next(life, (enum ac_life_event)event);
	const char *broken = claim_broken(life, event, next);

	if (!broken)
		return;
	fail(life, broken);
	printf(" + %s\n  leads to ", claim_event_name(event));
	print_life(next);
	printf("\n");
	exit(1);
}

/* All valid lives, and by number what the driver can write next when one of them is on disk. */
static struct ac_life lives[512];
static unsigned life_count;
static bool held[512], written[512];
static unsigned refusals; /* writes to refuse before one succeeds */

static unsigned index_of(struct ac_life life)
{
	for (unsigned i = 0; i < life_count; i++)
		if (ac_life_is_same(lives[i], life))
			return i;
	printf("not ok - exhaust: the driver holds what is no life\n");
	exit(1);
}

static int journal(void *world, struct ac_life life)
{
	(void)world;
	if (refusals > 0) {
		refusals--;
		return -1;
	}
	written[index_of(life)] = true;
	return 0;
}

/* One event for a life that the driver holds; each write that it tries may be the first to succeed. */
static bool move_on(struct ac_life from, enum ac_life_event event)
{
	const struct ac_drive_ops ops = { .journal = journal };
	bool grew = false;

	for (unsigned refuse = 0; refuse < 3; refuse++) {
		struct ac_life life = from;

		refusals = refuse;
		(void)ac_drive_move(&life, &ops, NULL, event);
		if (refuse == 2) { /* both refused: the old record still stands */
			grew = !held[index_of(life)];
			held[index_of(life)] = true;
		}
	}
	return grew;
}

static unsigned check_conformance(unsigned previous)
{
	unsigned conforming = 0;
	bool grew = true;

	memset(held, 0, sizeof(held));
	memset(written, 0, sizeof(written));
	held[previous] = true;
	while (grew) {
		grew = false;
		for (unsigned i = 0; i < life_count; i++)
			for (unsigned event = 0; held[i] && event < AC_EVENT_COUNT; event++)
				grew |= move_on(lives[i], (enum ac_life_event)event);
	}
	for (unsigned i = 0; i < life_count; i++) {
		bool may = written[i];

		if (!may == !ac_life_conforms(lives[previous], lives[i])) {
			conforming += may;
			continue;
		}
		fail(lives[previous], may ? "what the driver writes conforms"
					  : "what conforms, the driver can write");
		printf(" then ");
		print_life(lives[i]);
		printf("\n");
		exit(1);
	}
	return conforming;
}

static void check_all_conformance(void)
{
	unsigned conforming = 0;

	for (unsigned n = 0; n < 1u << 24; n++) {
		struct ac_life life = { (unsigned char)(n >> 16), (unsigned char)(n >> 8),
			(unsigned char)n };

		if (ac_life_is_valid(life))
			lives[life_count++] = life;
		else if (ac_life_conforms(life, lives[0]) || ac_life_conforms(lives[0], life)) {
			fail(life, "what is no life conforms to nothing");
			exit(1);
		}
	}
	for (unsigned i = 0; i < life_count; i++)
		conforming += check_conformance(i);
	printf("ok - exhaust: %u of %u pairs of lives conform, as the driver writes them\n",
		conforming, life_count * life_count);
}

static void check_table(void)
{
	static const unsigned none[] = { AC_EVENT_COUNT, 255, INT_MAX, UINT_MAX };
	unsigned long inputs = 0;

	for (unsigned n = 0; n < 1u << 24; n++) {
		struct ac_life life = { (unsigned char)(n >> 16), (unsigned char)(n >> 8),
			(unsigned char)n };
		const char *broken = claim_broken_about(life);

		if (broken) {
			fail(life, broken);
			printf("\n");
			exit(1);
		}
		for (unsigned event = 0; event < AC_EVENT_COUNT; event++)
			check_step(life, event);
		for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
			check_step(life, none[i]);
		inputs += AC_EVENT_COUNT + sizeof(none) / sizeof(none[0]);
	}
	printf("ok - exhaust: %lu inputs of the table, every claim holds\n", inputs);
}

int main(void)
{
	check_table();
	check_all_conformance();
	return 0;
}

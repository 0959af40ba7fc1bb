/* SPDX-License-Identifier: ISC */
/*
 * Edits the lifecycle table in memory.  lifecycle.c is included as it is, with `const` emptied, so
 * that no copy of the table and no hook in the shipped code is needed.  A program with this object
 * in it obeys MUTANT=<number> in its environment (the spin verifier does).
 */
#include "mutable.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#endif
#define const
#include "../libagentcell/lifecycle.c" // NOLINT(bugprone-suspicious-include)
#undef const

struct edit {
	unsigned char *cell;
	unsigned char value;
	char where[32];
	char what[32];
};

static const char *const column_names[] = { "ok", "fail", "stop", "lost", "escape", "retries",
	"alive", "phase", "wait1", "wait2", "wait3" };
static const char *const phase_names[] = { "SETUP", "SWITCHING", "LIVE", "KILLING", "RELEASING",
	"OVER" };
static const char *const words[] = { "ok", "fail", "exit", "wall_clock", "refuse", "lost", "escape",
	"restart" };

/* Fills *edit with number i of those that replace *cell by each other value below limit. */
static bool edit_cell(
	struct edit *edit, unsigned *i, unsigned char *cell, unsigned limit, bool named)
{
	for (unsigned value = 0; value < limit; value++) {
		if (value == *cell || (*i)-- > 0)
			continue;
		edit->cell = cell;
		edit->value = (unsigned char)value;
		if (named)
			snprintf(edit->what, sizeof(edit->what), "%s", ac_state_name(value));
		else
			snprintf(edit->what, sizeof(edit->what), "%u", value);
		return true;
	}
	return false;
}

static bool edit_row(struct edit *edit, unsigned *i, unsigned state)
{
	struct row *row = &rows[state];
	unsigned char *const cells[] = { &row->ok, &row->fail, &row->stop, &row->lost, &row->escape,
		&row->retries, &row->alive, &row->phase, &row->wait[0], &row->wait[1],
		&row->wait[2] };
	static const unsigned limits[] = { AC_STATE_COUNT, AC_STATE_COUNT, AC_STATE_COUNT,
		AC_STATE_COUNT, AC_STATE_COUNT, TRIES_MAX + 1, 2, PHASE_COUNT, 5, 5, 5 };

	for (unsigned column = 0; column < sizeof(cells) / sizeof(cells[0]); column++)
		if (edit_cell(edit, i, cells[column], limits[column], column < 5)) {
			snprintf(edit->where, sizeof(edit->where), "%s.%s", ac_state_name(state),
				column_names[column]);
			return true;
		}
	return false;
}

static bool edit_number(struct edit *edit, unsigned i)
{
	for (unsigned state = 0; state < AC_STATE_COUNT; state++)
		if (edit_row(edit, &i, state))
			return true;
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		for (unsigned event = 0; event < AC_EVENT_COUNT; event++)
			if (edit_cell(edit, &i, &causes[phase][event], AC_CAUSE_COUNT, false)) {
				snprintf(edit->where, sizeof(edit->where), "%s.%s",
					phase_names[phase], words[event]);
				snprintf(edit->what, sizeof(edit->what), "%s",
					ac_cause_name(edit->value));
				return true;
			}
	return false;
}

unsigned mutant_count(void)
{
	struct edit edit;
	unsigned n = 0;

	while (edit_number(&edit, n))
		n++;
	return n;
}

void mutant_apply(unsigned i)
{
	struct edit edit;

	if (!edit_number(&edit, i))
		abort();
	*edit.cell = edit.value;
}

void mutant_describe(unsigned i, char text[], size_t size)
{
	struct edit edit;

	if (edit_number(&edit, i))
		snprintf(text, size, "%s = %s", edit.where, edit.what);
}

__attribute__((constructor)) static void obey_environment(void)
{
	char *number = getenv("MUTANT");

	if (number)
		mutant_apply((unsigned)strtoul(number, NULL, 10));
}

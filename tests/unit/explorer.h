/* SPDX-License-Identifier: ISC */
/*
 * Runs the real driver (drive.c) and the real table through every way in which a session can go,
 * over a fake world: stateless search, as in VeriSoft.
 */
#ifndef EXPLORER_H
#define EXPLORER_H

struct explorer_bounds {
	unsigned
		faults; /* acts that fail, journal writes that are refused, telemetry that is lost */
	unsigned crashes; /* deaths of whoever drives the session */
};

struct explorer_result {
	unsigned long runs;
	unsigned long steps; /* acts and journal writes */
	const char *broken; /* the claim that broke, or NULL */
};

/* Stops at the first broken claim. */
struct explorer_result explorer_run(struct explorer_bounds bounds);

/* Tells the run that broke it, in words, on standard output. */
void explorer_tell(struct explorer_bounds bounds);

#endif

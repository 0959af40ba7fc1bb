/* SPDX-License-Identifier: ISC */
/*
 * Every single-cell edit of the lifecycle table against the claims about one step (A) and the
 * explorer on the real driver (B).  Prints one line per edit: "<number> <A|-> <B|-> <edit>".  B is
 * asked about what A let pass or, with an argument, about everything.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/unit/claims.h"
#include "../tests/unit/explorer.h"
#include "mutable.h"

enum { TIME_LIMIT_S = 60 };

/* A part of what exhaust.c goes through: whatever is caught here is caught there. */
static bool breaks_claims(void)
{
	for (unsigned n = 0; n < 16 * 8 * 8; n++) {
		struct ac_life life = { (unsigned char)(n / 64), (unsigned char)(n / 8 % 8),
			(unsigned char)(n % 8) };

		if (claim_broken_about(life))
			return true;
		for (unsigned event = 0; event <= AC_EVENT_COUNT; event++)
			if (claim_broken(
				    life, event, ac_life_next(life, (enum ac_life_event)event)))
				return true;
	}
	return false;
}

static bool breaks_runs(void)
{
	static const struct explorer_bounds bounds[] = { { 1, 1 }, { 2, 1 }, { 4, 0 } };

	for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (explorer_run(bounds[i]).broken)
			return true;
	return false;
}

/* A process of its own: an edit may make the driver loop or crash, which counts as caught. */
static int try_mutant(unsigned i, int (*attempt)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(TIME_LIMIT_S);
		mutant_apply(i);
		_exit(attempt());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(2);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static int attempt_claims(void)
{
	return breaks_claims();
}

static int attempt_runs(void)
{
	return breaks_runs();
}

int main(int argc, char **argv)
{
	(void)argv;
	if (breaks_claims() || breaks_runs()) {
		printf("mutants: the table itself is caught\n");
		return 1;
	}
	for (unsigned i = 0; i < mutant_count(); i++) {
		bool a = try_mutant(i, attempt_claims);
		bool b = (argc > 1 || !a) && try_mutant(i, attempt_runs);
		char text[80];

		mutant_describe(i, text, sizeof(text));
		printf("%u %c %c %s\n", i, a ? 'A' : '-', b ? 'B' : '-', text);
		fflush(stdout);
	}
	return 0;
}

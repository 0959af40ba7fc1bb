/* SPDX-License-Identifier: ISC */
/*
 * Explores the driver within bounds: explore [faults crashes]...  Without arguments the bounds that
 * `make check` uses.  More faults than the largest number of retries, else "used up" is never seen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "explorer.h"

static int explore(unsigned long faults, unsigned long crashes)
{
	struct explorer_bounds bounds = { (unsigned)faults, (unsigned)crashes };
	struct explorer_result result = explorer_run(bounds);

	if (result.broken) {
		printf("not ok - explore: run %lu: %s\n", result.runs, result.broken);
		explorer_tell(bounds);
		return 1;
	}
	printf("ok - explore: %lu faults, %lu crashes: %lu runs, %lu acts and writes, every claim "
	       "holds\n",
		faults, crashes, result.runs, result.steps);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc < 3)
		return explore(2, 2) | explore(3, 1) | explore(5, 0);
	for (int i = 1; i + 1 < argc; i += 2)
		bad |= explore(strtoul(argv[i], NULL, 10), strtoul(argv[i + 1], NULL, 10));
	return bad;
}

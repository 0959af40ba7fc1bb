/* SPDX-License-Identifier: ISC */
/*
 * Replays the journal of a session, as the end record holds it ("state:tries:cause ..."), through the
 * lifecycle that ships: each step must be one that some event leads to, and the last must be ENDED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lifecycle.h"

static int find(const char *word, const char *(*name)(unsigned))
{
	for (unsigned i = 0; name(i); i++)
		if (strcmp(name(i), word) == 0)
			return (int)i;
	return -1;
}

static int parse(char *word, struct ac_life *life)
{
	char *tries = strchr(word, ':'), *cause = tries ? strchr(tries + 1, ':') : NULL;

	if (!cause)
		return -1;
	*tries++ = *cause++ = '\0';
	int state = find(word, ac_state_name), number = find(cause, ac_cause_name);

	if (state < 0 || number < 0)
		return -1;
	life->state = (unsigned char)state;
	life->tries = (unsigned char)strtoul(tries, NULL, 10);
	life->cause = (unsigned char)number;
	return 0;
}

int main(int argc, char **argv)
{
	struct ac_life previous = { AC_STATE_PLANNED, 0, AC_CAUSE_NONE }, life = previous;
	int count = 0;

	if (argc != 2)
		return 2;
	for (char *word = strtok(argv[1], " "); word; word = strtok(NULL, " "), count++) {
		if (parse(word, &life) != 0)
			return fprintf(stderr, "%s is no journal record\n", word), 1;
		if (count && !ac_life_conforms(previous, life))
			return fprintf(stderr, "no event leads from %s to %s (%s)\n",
				       ac_state_name(previous.state), ac_state_name(life.state),
				       ac_cause_name(life.cause)),
			       1;
		previous = life;
	}
	if (count < 2 || life.state != AC_STATE_ENDED)
		return fprintf(stderr, "it does not end (%d records)\n", count), 1;
	return 0;
}

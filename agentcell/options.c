/* SPDX-License-Identifier: ISC */
/* One option parser for all subcommands, so that an option means the same everywhere. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "output.h"

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "session", required_argument, NULL, 's' },
	{ "project", required_argument, NULL, 'p' },
	{ "harness", no_argument, NULL, 'H' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void take(int letter, struct ac_options *options)
{
	if (letter == 'j')
		options->json = true;
	else if (letter == 's')
		options->session = optarg;
	else if (letter == 'n')
		options->number = optarg;
	else if (letter == 'p')
		options->project = optarg;
	else if (letter == 'H')
		options->harness = true;
}

int ac_options_parse(int argc, char **argv, const char *allowed, const char *synopsis,
	struct ac_options *options)
{
	int letter;

	memset(options, 0, sizeof(*options));
	opterr = 0;
	optind = 1;
	/* '+': a command line that follows is not ours to read */
	while ((letter = getopt_long(argc, argv, "+hn:", long_options, NULL)) != -1) {
		if (letter == 'h') {
			printf("usage: agentcell %s\n", synopsis);
			return -1 - AC_EXIT_OK;
		}
		if (letter == '?' || !strchr(allowed, letter))
			return -1 - ac_out_usage(synopsis);
		take(letter, options);
	}
	return optind;
}

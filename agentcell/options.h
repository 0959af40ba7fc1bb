/* SPDX-License-Identifier: ISC */
/* Options that most subcommands share. */
#ifndef AC_OPTIONS_H
#define AC_OPTIONS_H

#include <stdbool.h>

struct ac_options {
	bool json;
	const char *session; /* --session ID */
	const char *number; /* -n N */
	const char *project; /* --project DIR */
	bool harness; /* --harness */
};

/*
 * Parses by getopt_long; allowed lists the letters of the options that the command has: 'j' --json,
 * 's' --session, 'n' -n, 'p' --project, 'H' --harness.  Returns the index of the first argument, or
 * -1 - status when the command is to end with that status (after --help: 0).
 */
int ac_options_parse(int argc, char **argv, const char *allowed, const char *synopsis,
	struct ac_options *options);

#endif

/* SPDX-License-Identifier: ISC */
/* agentcell: the command for people.  Finds the subcommand and hands over. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "names.h"
#include "util.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "explain", ac_command_explain, "what 'sudo -u agentcell-worker COMMAND' would get here" },
	{ "doctor", ac_command_doctor, "whether everything is in place, and what to do about it" },
	{ "check", ac_command_check, "find errors in a configuration file" },
	{ "sessions", ac_command_sessions, "sessions that are running" },
	{ "kill", ac_command_kill, "end a session" },
	{ "log", ac_command_log, "what happened" },
	{ "backups", ac_command_backups, "backups that can be restored" },
	{ "diff", ac_command_diff, "what changed since a backup" },
	{ "restore", ac_command_restore, "bring files back from a backup" },
};

static void print_help(FILE *stream)
{
	unsigned i;

	fputs("usage: agentcell COMMAND [OPTION...] [ARGUMENT...]\n\n", stream);
	for (i = 0; i < AC_COUNT(commands); i++)
		fprintf(stream, "  %-10s%s\n", commands[i].name, commands[i].what);
	fputs("\nListings take --json.  'agentcell COMMAND --help' tells the rest; see also "
	      "agentcell(8).\n",
		stream);
}

static int finish(int status)
{
	/* A full disk or a closed pipe must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("agentcell: write");
		return AC_EXIT_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	unsigned i;

	if (argc < 2) {
		print_help(stderr);
		return AC_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return finish(AC_EXIT_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("agentcell " AC_VERSION);
		return finish(AC_EXIT_OK);
	}
	for (i = 0; i < AC_COUNT(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return finish(commands[i].run(argc - 1, argv + 1));
	fprintf(stderr, "agentcell: no command '%.64s'; 'agentcell --help' lists them\n", argv[1]);
	return AC_EXIT_USAGE;
}

/* SPDX-License-Identifier: ISC */
/*
 * The subcommands of agentcell.  Each takes its own name and arguments, prints to stdout, complains
 * to stderr as "agentcell: ...", and returns the exit status.
 */
#ifndef AC_COMMANDS_H
#define AC_COMMANDS_H

enum {
	AC_EXIT_OK = 0,
	AC_EXIT_FAILED = 1, /* it could not be done, or (check, doctor) something is wrong */
	AC_EXIT_USAGE = 2
};

int ac_command_backups(int argc, char **argv);
int ac_command_check(int argc, char **argv);
int ac_command_diff(int argc, char **argv);
int ac_command_doctor(int argc, char **argv);
int ac_command_explain(int argc, char **argv);
int ac_command_kill(int argc, char **argv);
int ac_command_log(int argc, char **argv);
int ac_command_restore(int argc, char **argv);
int ac_command_sessions(int argc, char **argv);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * agentcelld --replay: recorded records, judged again.  For tests and after an incident.
 */
#ifndef AC_REPLAY_H
#define AC_REPLAY_H

struct ac_replay_options {
	const char *file, *session_directory, *silent_file;
	long launcher; /* its exec arms the judge, as in life; 0: armed from the first record */
};

/*
 * Reads lines of audit.log form (file, or "-" for standard input), judges every event whose uid is
 * the policy's and prints one line for each that is not silent:
 *     <serial> <verdict> <class> <operation> <target> (<reason>) pid=<pid> comm=<comm>
 * Returns the exit code: 0, or 1 when something could not be read.
 */
int ac_replay(const struct ac_replay_options *options);

#endif

// SPDX-License-Identifier: ISC
/*
 * agentcell-launch <fd> -- <command> [argument ...]
 *
 * The last program of the suite in a session: sudo has switched to the session's account and is in
 * its view.  It proves that, confines itself, waits until the listener watches, and becomes the
 * harness.  It has no privileges, trusts only what root put into the view, and reads no environment
 * variable; it adds those that sudo must not log.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell.h"
#include "launch_barrier.h"
#include "launch_confine.h"
#include "launch_environment.h"
#include "launch_prove.h"
#include "util.h"

extern char **environ;

enum { EXIT_REFUSED = 1, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static int refuse(const struct ac_err *err)
{
	fprintf(stderr, "agentcell: session not started: %s\n", err->text);
	return EXIT_REFUSED;
}

/* Strictly decimal, and none of 0-2. */
static int parse_fd(const char *text)
{
	int fd = 0;

	if (!*text || strlen(text) > 5)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		fd = 10 * fd + (*text - '0');
	}
	return fd > 2 ? fd : -1;
}

static int prove_and_confine(int *socket, struct ac_cell *cell, struct ac_err *err)
{
	int code = launch_prove_descriptors(socket, err);

	if (!code)
		code = launch_prove_account(cell, err);
	if (!code)
		code = launch_enter_directory(cell, err);
	if (!code)
		code = launch_confine_process(cell, err);
	if (!code)
		code = launch_confine_files(cell, err);
	if (!code)
		code = launch_confine_calls(cell, err);
	return code ? code : launch_try_forbidden(cell, err);
}

static int become(const struct ac_cell *cell, char **argv, char **environment)
{
	int code;

	execve(cell->command, argv, environment);
	code = errno;
	if (code == ENOENT)
		fprintf(stderr,
			"agentcell: %s (or its interpreter) is not in the session's view: an "
			"administrator can add its directory to tool_paths\n",
			argv[0]);
	else
		fprintf(stderr, "agentcell: cannot execute %s: %s\n", argv[0], strerror(code));
	return code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

int main(int argc, char **argv)
{
	struct ac_err err = { 0 };
	static struct ac_cell cell; /* large */
	char **environment;
	int socket = argc >= 4 && !strcmp(argv[2], "--") ? parse_fd(argv[1]) : -1;

	if (socket < 0 || launch_prove_view(&cell, &err) == -ENOENT) {
		fputs("agentcell-launch: sudo starts this program inside a session; it does "
		      "nothing "
		      "elsewhere.  Try: sudo -u agentcell-worker <command>\n",
			stderr);
		return EXIT_REFUSED;
	}
	if (err.code)
		return refuse(&err);
	if (strcmp(argv[3], cell.command) != 0) {
		ac_fail(&err, EPERM, "the command is not the one of session %s", cell.session_id);
		return refuse(&err);
	}
	if (launch_environment(&cell, environ, &environment, &err) ||
		prove_and_confine(&socket, &cell, &err) || launch_barrier(socket, &cell, &err))
		return refuse(&err);
	return become(&cell, argv + 3, environment);
}

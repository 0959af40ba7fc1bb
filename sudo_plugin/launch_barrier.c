// SPDX-License-Identifier: ISC
/*
 * READY, GO, and where the process has been put meanwhile.
 */
#include "launch_barrier.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "util.h"
#include "wire.h"

#define GO_LIMIT_MS 30000

/* The line of cgroup version 2 ends in the session's own directory. */
static bool line_names(const char *line, const char *session_id)
{
	char wanted[sizeof("/agentcell/") + AC_SESSION_ID_SIZE];
	size_t length = strcspn(line, "\n"), wanted_length;

	snprintf(wanted, sizeof(wanted), "/agentcell/%s", session_id);
	wanted_length = strlen(wanted);
	return !strncmp(line, "0::", 3) && length >= 3 + wanted_length &&
	       !strncmp(line + length - wanted_length, wanted, wanted_length);
}

static int prove_cgroup(const struct ac_cell *cell, struct ac_err *err)
{
	ac_autofclose FILE *file = fopen("/proc/self/cgroup", "re");
	char line[AC_PATH_MAX + 64];
	bool found = false;

	if (!file)
		return ac_fail_errno(err, errno, "open /proc/self/cgroup");
	while (fgets(line, sizeof(line), file))
		found = found || line_names(line, cell->session_id);
	if (!found)
		return ac_fail(err, EPERM, "this process is not in the cgroup of session %s",
			cell->session_id);
	return 0;
}

static int await_go(int socket, const struct ac_cell *cell, struct ac_err *err)
{
	struct ac_wire message;
	int fds[AC_WIRE_FDS_MAX];
	unsigned fd_count = 0;
	int code = ac_wire_receive(socket, &message, fds, &fd_count, NULL, GO_LIMIT_MS, err);

	for (unsigned i = 0; !code && i < fd_count; i++)
		close(fds[i]);
	if (code)
		return ac_fail_within(err, "wait for the listener's permission to start");
	if (fd_count || strcmp(message.session_id, cell->session_id) != 0)
		return ac_fail(err, EBADMSG, "the listener answered for another session");
	if (message.type == AC_WIRE_REFUSED)
		return ac_fail(err, EPERM, "the listener refuses the start: %s", message.text);
	if (message.type != AC_WIRE_GO)
		return ac_fail(err, EBADMSG, "the listener answered something else than go");
	return 0;
}

int launch_barrier(int socket, const struct ac_cell *cell, struct ac_err *err)
{
	struct ac_wire ready;
	int code;

	ac_wire_make(&ready, AC_WIRE_READY, cell->session_id, getpid(), NULL);
	code = ac_wire_send(socket, &ready, NULL, 0, err);
	if (code)
		return ac_fail_within(err, "tell the listener that the cell is ready");
	code = await_go(socket, cell, err);
	return code ? code : prove_cgroup(cell, err);
}

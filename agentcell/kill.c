/* SPDX-License-Identifier: ISC */
/* agentcell kill: asks the listener to end a session; root may end any, a user her own. */
#include <errno.h>
#include <stdio.h>

#include "commands.h"
#include "journal.h"
#include "options.h"
#include "output.h"
#include "util.h"
#include "wire.h"

#define SYNOPSIS "kill SESSION"
#define TIMEOUT_MS 30000 /* the listener kills, drains and cleans up before it answers */

static int ask(const char *session_id, struct ac_wire *answer, struct ac_err *err)
{
	ac_autoclose int fd = ac_wire_connect(err);
	int rc;

	if (fd < 0)
		return fd;
	ac_wire_make(answer, AC_WIRE_KILL, session_id, 0, NULL);
	rc = ac_wire_send(fd, answer, NULL, 0, err);
	if (rc == 0)
		rc = ac_wire_receive(fd, answer, NULL, NULL, NULL, TIMEOUT_MS, err);
	if (rc < 0)
		return rc;
	if (answer->type == AC_WIRE_REFUSED)
		return ac_fail(err, EPERM, "session %s: %s", session_id, answer->text);
	if (answer->type != AC_WIRE_ENDED)
		return ac_fail(err, EBADMSG, "the listener answered something else");
	return 0;
}

int ac_command_kill(int argc, char **argv)
{
	struct ac_options options;
	int first = ac_options_parse(argc, argv, "", SYNOPSIS, &options);
	struct ac_wire answer;
	struct ac_err err = { 0 };

	if (first < 0)
		return -1 - first;
	if (argc - first != 1)
		return ac_out_usage(SYNOPSIS);
	if (!ac_session_id_is_valid(argv[first])) {
		ac_fail(&err, EINVAL,
			"'%.64s' is no session; 'agentcell sessions' lists the 12 digits of each",
			argv[first]);
		return ac_out_error(&err);
	}
	if (ask(argv[first], &answer, &err) < 0)
		return ac_out_error(&err);
	printf("session %s has ended\n", argv[first]);
	return AC_EXIT_OK;
}

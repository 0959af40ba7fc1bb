/* SPDX-License-Identifier: ISC */
/* agentcell sessions: asks the listener.  Root sees all sessions, a user her own. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "commands.h"
#include "options.h"
#include "output.h"
#include "util.h"
#include "wire.h"

#define SYNOPSIS "sessions [--json]"
#define TIMEOUT_MS 5000
#define SESSIONS_MAX 10000 /* a listener that never ends its list */

static const struct ac_out_column columns[] = {
	{ "session_id", "SESSION" },
	{ "status", "STATUS" },
	{ "state", "STATE" },
	{ "user", "USER" },
	{ "os_user", "ACCOUNT" },
	{ "uid", "UID" },
	{ "harness", "HARNESS" },
	{ "since", "SINCE" },
	{ NULL, NULL },
};

static int add(json_object *sessions, const struct ac_wire *message, struct ac_err *err)
{
	json_object *session;

	if (!message->text[0])
		return 0;
	session = json_tokener_parse(message->text);
	if (!json_object_is_type(session, json_type_object)) {
		json_object_put(session);
		return ac_fail(err, EBADMSG, "the listener sent something that is no session");
	}
	if (json_object_array_add(sessions, session) < 0)
		return ac_fail_errno(err, ENOMEM, "list sessions");
	return 0;
}

/* For people: the local time of the start. */
static void add_since(json_object *sessions)
{
	size_t i;

	for (i = 0; i < json_object_array_length(sessions); i++) {
		json_object *session = json_object_array_get_idx(sessions, i), *started;
		char text[64] = "";
		struct tm tm;
		time_t time;

		if (!json_object_object_get_ex(session, "started", &started))
			continue;
		time = (time_t)json_object_get_int64(started);
		if (localtime_r(&time, &tm))
			strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
		ac_out_add(session, "since", text);
	}
}

static void show(json_object *sessions, bool json)
{
	if (json) {
		ac_out_json(sessions);
	} else if (json_object_array_length(sessions) == 0) {
		puts("no session is running");
	} else {
		add_since(sessions);
		ac_out_table(sessions, columns);
	}
}

static int ask(json_object *sessions, struct ac_err *err)
{
	ac_autoclose int fd = ac_wire_connect(err);
	struct ac_wire message;
	unsigned count;
	int rc;

	if (fd < 0)
		return fd;
	ac_wire_make(&message, AC_WIRE_LIST, NULL, 0, NULL);
	rc = ac_wire_send(fd, &message, NULL, 0, err);
	for (count = 0; rc == 0 && count < SESSIONS_MAX; count++) {
		rc = ac_wire_receive(fd, &message, NULL, NULL, NULL, TIMEOUT_MS, err);
		if (rc < 0)
			break;
		if (message.type == AC_WIRE_REFUSED)
			return ac_fail(err, EPERM, "the listener refuses: %s", message.text);
		if (message.type != AC_WIRE_LISTED)
			return ac_fail(err, EBADMSG, "the listener answered something else");
		rc = add(sessions, &message, err);
		if (rc < 0 || message.value == 0)
			break;
	}
	return rc;
}

int ac_command_sessions(int argc, char **argv)
{
	struct ac_options options;
	int first = ac_options_parse(argc, argv, "j", SYNOPSIS, &options);
	json_object *sessions;
	struct ac_err err = { 0 };
	int rc;

	if (first < 0)
		return -1 - first;
	if (first != argc)
		return ac_out_usage(SYNOPSIS);
	sessions = ac_out_array();
	rc = ask(sessions, &err);
	if (rc < 0)
		ac_out_error(&err);
	else
		show(sessions, options.json);
	json_object_put(sessions);
	return rc < 0 ? AC_EXIT_FAILED : AC_EXIT_OK;
}

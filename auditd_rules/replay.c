/* SPDX-License-Identifier: ISC */
/*
 * The same code as the hot thread's, fed from a file: an event that waits to be resolved is printed
 * as such, since the file system that it was about is gone.
 */
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "escape.h"
#include "judge.h"
#include "record.h"
#include "util.h"

#define OPEN_MAX_EVENTS 512

struct replay {
	struct ac_session_policy *session;
	struct ac_silent *silent;
	struct ac_judge judge;
	struct {
		bool used;
		struct ac_event event;
	} open[OPEN_MAX_EVENTS];
	struct ac_verdict verdict;
	long launcher; /* 0: armed */
};

static void print(const struct replay *replay, const struct ac_event *event)
{
	const struct ac_verdict *verdict = &replay->verdict;
	char target[3 * AC_PATH_MAX], comm[256];

	if (verdict->kind == AC_VERDICT_SILENT || verdict->kind == AC_VERDICT_WAIT)
		return;
	(void)ac_escape(target, sizeof(target), verdict->target, strlen(verdict->target));
	(void)ac_escape(comm, sizeof(comm), event->comm, strlen(event->comm));
	(void)printf("%llu %s %s %s %s (%s) pid=%d comm=%s\n", (unsigned long long)event->serial,
		ac_verdict_name(verdict->kind), ac_class_name(verdict->class),
		ac_operation_name(verdict->operation), target, verdict->reason, (int)event->pid,
		comm);
}

static bool is_ours(const struct replay *replay, const struct ac_event *event)
{
	uint32_t uid = replay->session->policy.uid;

	return event->uid == uid || event->auid == uid || event->mark == uid;
}

static void close_event(struct replay *replay, unsigned place)
{
	struct ac_event *event = &replay->open[place].event;

	replay->open[place].used = false;
	if (!is_ours(replay, event) || event->domain_ended)
		return;
	if (replay->launcher && event->success && event->pid == replay->launcher &&
		(event->syscall == SYS_execve || event->syscall == SYS_execveat))
		replay->launcher = 0;
	if (replay->launcher)
		return;
	ac_judge_event(&replay->judge, event, true, &replay->verdict);
	print(replay, event);
}

static void take(struct replay *replay, const struct ac_record *record)
{
	unsigned place = record->serial % OPEN_MAX_EVENTS;
	struct ac_event *event = &replay->open[place].event;

	if (replay->open[place].used && event->serial != record->serial)
		close_event(replay, place);
	if (!replay->open[place].used) {
		ac_event_init(event, record);
		replay->open[place].used = true;
	}
	ac_event_add(event, record);
	if (record->type == AC_RECORD_EOE || record->type == AC_RECORD_SECCOMP ||
		record->type == AC_RECORD_NETFILTER_PKT)
		close_event(replay, place);
}

static int read_inputs(
	struct replay *replay, const char *directory, const char *silent_file, struct ac_err *err)
{
	ac_autoclose int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return ac_fail_errno(err, errno, "open %s", directory);
	replay->session = calloc(1, sizeof(*replay->session));
	replay->silent = calloc(1, sizeof(*replay->silent));
	if (!replay->session || !replay->silent)
		return ac_fail_errno(err, ENOMEM, "no memory");
	rc = ac_policy_read(fd, replay->session, err);
	if (!rc)
		rc = ac_silent_read(silent_file, replay->silent, err);
	replay->judge = (struct ac_judge){ replay->session, replay->silent, NULL, NULL };
	return rc;
}

static int run(struct replay *replay, const char *file)
{
	ac_autofclose FILE *stream = strcmp(file, "-") ? fopen(file, "re") : stdin;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (!stream) {
		(void)fprintf(stderr, "agentcelld: %s: %s\n", file, strerror(errno));
		return 1;
	}
	while ((length = getline(&line, &size, stream)) > 0) {
		struct ac_record record;

		if (!ac_record_parse_line(line, (size_t)length, &record))
			take(replay, &record);
	}
	free(line);
	for (unsigned i = 0; i < OPEN_MAX_EVENTS; i++)
		if (replay->open[i].used)
			close_event(replay, i);
	return ferror(stream) ? 1 : 0;
}

int ac_replay(const struct ac_replay_options *options)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	struct ac_err err;
	int code = 1;

	if (!replay)
		return 1;
	replay->launcher = options->launcher;
	if (read_inputs(replay, options->session_directory, options->silent_file, &err))
		(void)fprintf(stderr, "agentcelld: %s\n", err.text);
	else
		code = run(replay, options->file);
	free(replay->silent);
	free(replay->session);
	free(replay);
	return code;
}

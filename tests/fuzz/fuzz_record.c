/* SPDX-License-Identifier: ISC */
/*
 * The audit stream, hostile: lines of records, in any order and any state of repair, go through the
 * hot thread's whole way (parser, events, judge, response) for a session that is armed.
 *
 * Promises: an event that is complete gets an answer; a cell is killed exactly when its session is marked
 * as escaped; an escape says of what kind it was; nobody else's cell is touched.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../auditd_rules/watch.h"

#define UID 70001
#define OTHER 70002

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ac_session_policy session, other_session;
static struct ac_silent silent;
static struct ac_judge judge = { .session = &session, .silent = &silent };
static struct ac_judge other_judge = { .session = &other_session, .silent = &silent };
static struct ac_watch *watch;
static struct ac_watched watched;
static struct ac_report report;
static struct ac_event event;
static struct ac_verdict verdict;
static int freeze_fd, kill_fd, other_fd;

static void need(int condition, const char *what)
{
	if (condition)
		return;
	(void)fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static void init_policy(struct ac_session_policy *one, uid_t uid)
{
	one->policy.uid = one->policy.gid = uid;
	one->policy.risk = AC_RISK_MEDIUM;
	strcpy(one->policy.home, "/home/cell");
	strcpy(one->plan.user_home, "/home/dev");
	strcpy(one->plan.cwd, "/home/dev/app");
	one->policy.write_paths.count = one->policy.bait_paths.count = 1;
	strcpy(one->policy.write_paths.entry[0].path, "/home/dev/app");
	strcpy(one->policy.bait_paths.entry[0].path, "/home/dev/.ssh");
}

static void init(void)
{
	static const char text[] =
		"baseline /usr/** -- x\nprivate /tmp/** -- x\nprogram sudo -- x\n"
		"secret /etc/shadow* -- x\nancestor .git/** -- x\n"
		"silent /*/x/** -- x\nexcept **/*token* -- x\nsocket /dev/log -- x\n"
		"service /run/docker.sock -- x\n";

	need(!ac_silent_parse("t", text, sizeof(text) - 1, &silent, NULL), "the list is read");
	init_policy(&session, UID);
	init_policy(&other_session, OTHER);
	watch = ac_watch_create(70000, 70999, NULL);
	freeze_fd = memfd_create("freeze", 0);
	kill_fd = memfd_create("kill", 0);
	other_fd = memfd_create("other", 0);
	need(watch && freeze_fd >= 0 && kill_fd >= 0 && other_fd >= 0, "set up");
	need(!ac_watch_add(watch, OTHER, &other_judge, other_fd, other_fd, NULL), "registered");
}

static void feed(const char *line, size_t length)
{
	struct ac_record record;

	if (ac_record_parse_line(line, length, &record))
		return;
	ac_watch_record(watch, &record);
	ac_event_init(&event, &record);
	ac_event_add(&event, &record);
	ac_judge_event(&judge, &event, true, &verdict);
	need(verdict.kind != AC_VERDICT_WAIT, "a complete event is answered");
	need(memchr(verdict.target, 0, sizeof(verdict.target)) != NULL, "a target ends");
	need(verdict.kind != AC_VERDICT_ESCAPE || verdict.class != AC_CLASS_NORMAL,
		"kind of escape");
}

static void arm(void)
{
	static const char line[] =
		"type=SYSCALL msg=audit(1.000:1): arch=c000003e syscall=59 success=yes exit=0 a0=0 "
		"a1=0 "
		"a2=0 a3=0 items=2 ppid=1 pid=9 auid=1 uid=70001 gid=1 euid=70001 suid=70001 "
		"fsuid=70001 comm=\"x\" exe=\"/usr/bin/x\"";

	ac_watch_remove(watch, UID);
	need(!ftruncate(kill_fd, 0) && !ftruncate(freeze_fd, 0), "cleared");
	need(!ac_watch_add(watch, UID, &judge, freeze_fd, kill_fd, NULL), "registered");
	ac_watch_arm(watch, UID, 9);
	feed(line, sizeof(line) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size;
	char byte = 0;

	if (!watch)
		init();
	arm();
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);

		feed(text, length);
		text += length + 1;
	}
	while (ac_watch_take(watch, &report))
		need(report.uid == UID, "reports are the session's");
	need(ac_watch_read(watch, UID, &watched), "still registered");
	need(watched.escaped == (pread(kill_fd, &byte, 1, 0) == 1), "killed exactly when escaped");
	need(pread(other_fd, &byte, 1, 0) == 0, "nobody else is touched");
	return 0;
}

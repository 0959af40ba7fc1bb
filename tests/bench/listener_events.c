/* SPDX-License-Identifier: ISC */
/*
 * What one event costs the hot thread, with 1, 100 and 1000 registered sessions: records of a refused
 * open (5 records an event) through the whole way, in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../auditd_rules/watch.h"

#define FIRST 70000
#define EVENTS 200000

static struct ac_session_policy session[1000];
static struct ac_silent silent;
static struct ac_judge judge[1000];

static void init(unsigned i)
{
	struct ac_policy *policy = &session[i].policy;

	policy->uid = policy->gid = FIRST + i;
	policy->risk = AC_RISK_MEDIUM;
	strcpy(policy->home, "/home/cell");
	strcpy(session[i].plan.user_home, "/home/dev");
	strcpy(session[i].plan.cwd, "/home/dev/app");
	policy->write_paths.count = policy->bait_paths.count = 1;
	strcpy(policy->write_paths.entry[0].path, "/home/dev/app");
	strcpy(policy->bait_paths.entry[0].path, "/home/dev/.ssh");
	judge[i] = (struct ac_judge){ .session = &session[i], .silent = &silent };
}

static void record(struct ac_watch *watch, const char *text)
{
	struct ac_record parsed;

	if (!ac_record_parse_line(text, strlen(text), &parsed))
		ac_watch_record(watch, &parsed);
}

static void event(struct ac_watch *watch, unsigned serial, uid_t uid, unsigned second)
{
	char line[1024];

	(void)snprintf(line, sizeof(line),
		"type=SYSCALL msg=audit(%u.000:%u): arch=c000003e syscall=257 success=no exit=-13 "
		"a0=ffffff9c a1=5607922a2038 a2=0 a3=0 items=1 ppid=10045 pid=10057 auid=1000 "
		"uid=%u "
		"gid=%u euid=%u suid=%u fsuid=%u egid=1 sgid=1 fsgid=1 tty=(none) ses=1 "
		"comm=\"cat\" "
		"exe=\"/usr/bin/cat\" key=\"k\"",
		second, serial, uid, uid, uid, uid, uid);
	record(watch, line);
	(void)snprintf(
		line, sizeof(line), "type=CWD msg=audit(1.000:%u): cwd=\"/home/dev/app\"", serial);
	record(watch, line);
	(void)snprintf(line, sizeof(line),
		"type=PATH msg=audit(1.000:%u): item=0 name=\"/usr/lib/x\" inode=861 dev=fe:00 "
		"mode=0100640 ouid=0 ogid=42 rdev=00:00 nametype=NORMAL cap_fp=0 cap_fi=0 cap_fe=0",
		serial);
	record(watch, line);
	(void)snprintf(line, sizeof(line), "type=PROCTITLE msg=audit(1.000:%u): proctitle=\"cat\"",
		serial);
	record(watch, line);
	(void)snprintf(line, sizeof(line), "type=EOE msg=audit(1.000:%u): ", serial);
	record(watch, line);
}

static void measure(unsigned sessions)
{
	struct ac_watch *watch = ac_watch_create(FIRST, FIRST + 999, NULL);
	int fd = memfd_create("control", 0);
	struct timespec start, end;
	unsigned serial = 1;
	double seconds;

	if (sessions == 0)
		exit(2);
	for (unsigned i = 0; i < sessions; i++) {
		if (ac_watch_add(watch, FIRST + i, &judge[i], fd, fd, NULL))
			exit(1);
		ac_watch_arm(watch, FIRST + i, 10057);
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	for (; serial < EVENTS; serial++) /* slow enough for no flood */
		event(watch, serial, FIRST + serial % sessions, serial / 1000 * 60);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	(void)printf(
		"%4u sessions: %5.2f us an event, %.0f events a second (text made in between)\n",
		sessions, seconds * 1e6 / EVENTS, EVENTS / seconds);
	ac_watch_destroy(watch);
}

int main(void)
{
	static const char text[] = "baseline /usr/** -- x\nprivate /tmp/** -- x\n";

	if (ac_silent_parse("t", text, sizeof(text) - 1, &silent, NULL))
		return 1;
	for (unsigned i = 0; i < 1000; i++)
		init(i);
	measure(1);
	measure(100);
	measure(1000);
	return 0;
}

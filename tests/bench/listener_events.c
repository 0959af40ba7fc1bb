/* SPDX-License-Identifier: ISC */
/*
 * What one event costs the hot thread, with 1, 100 and 1000 registered sessions: records of a refused
 * open (5 records an event) through the whole way, in memory.  Medians of interleaved rounds.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../auditd_rules/watch.h"

#define FIRST 70000
#define SESSIONS 1000
#define EVENTS 100000
#define BLOCK 20
#define ROUNDS 7

static struct ac_session_policy session[SESSIONS];
static struct ac_silent silent;
static struct ac_judge judge[SESSIONS];

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

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((format(printf, 2, 3))) static void add(char **end, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	*end += vsprintf(*end, format, arguments);
	va_end(arguments);
}

/* One refused open as auditd writes it; the names lead nowhere near what is judged an escape. */
static void write_event(char **end, unsigned serial, uid_t uid, unsigned second)
{
	add(end,
		"type=SYSCALL msg=audit(%u.000:%u): arch=c000003e syscall=257 success=no exit=-13 "
		"a0=ffffff9c a1=5607922a2038 a2=0 a3=0 items=1 ppid=10045 pid=10057 auid=1000 "
		"uid=%u gid=%u euid=%u suid=%u fsuid=%u egid=1 sgid=1 fsgid=1 tty=(none) ses=1 "
		"comm=\"cat\" exe=\"/usr/bin/cat\" key=\"k\"\n",
		second, serial, uid, uid, uid, uid, uid);
	add(end, "type=CWD msg=audit(1.000:%u): cwd=\"/home/dev/app\"\n", serial);
	add(end,
		"type=PATH msg=audit(1.000:%u): item=0 name=\"/usr/lib/x\" inode=861 dev=fe:00 "
		"mode=0100640 ouid=0 ogid=42 rdev=00:00 nametype=NORMAL cap_fp=0 cap_fi=0 "
		"cap_fe=0\n",
		serial);
	add(end, "type=PROCTITLE msg=audit(1.000:%u): proctitle=\"cat\"\n", serial);
	add(end, "type=EOE msg=audit(1.000:%u): \n", serial);
}

static void take_lines(struct ac_watch *watch, const char *text, const char *end)
{
	const char *stop;
	struct ac_record record;

	for (; (stop = memchr(text, '\n', (size_t)(end - text))); text = stop + 1)
		if (!ac_record_parse_line(text, (size_t)(stop - text), &record))
			ac_watch_record(watch, &record);
}

/* Seconds for all events; they are written in between, and that is not counted. */
static double measure(unsigned sessions)
{
	static char text[BLOCK * 1024];
	struct ac_watch *watch = ac_watch_create(FIRST, FIRST + SESSIONS - 1, NULL);
	int fd = memfd_create("control", 0);
	double seconds = 0;

	if (!sessions)
		exit(2);
	for (unsigned i = 0; i < sessions; i++) {
		if (!watch || ac_watch_add(watch, FIRST + i, &judge[i], fd, fd, NULL))
			exit(1);
		ac_watch_arm(watch, FIRST + i, 10057);
	}
	for (unsigned serial = 1; serial < EVENTS;) {
		char *end = text;
		double start;

		for (unsigned i = 0; i < BLOCK; i++, serial++) /* slow enough for no flood */
			write_event(&end, serial, FIRST + serial % sessions, serial / 1000 * 60);
		start = now_s();
		take_lines(watch, text, end);
		seconds += now_s() - start;
	}
	ac_watch_destroy(watch);
	close(fd);
	return seconds;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

int main(void)
{
	static const char text[] = "baseline /usr/** -- x\nprivate /tmp/** -- x\n";
	static const unsigned sessions[] = { 1, 100, SESSIONS };
	double seconds[3][ROUNDS];

	if (ac_silent_parse("t", text, sizeof(text) - 1, &silent, NULL))
		return 1;
	for (unsigned i = 0; i < SESSIONS; i++)
		init(i);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < 3; i++)
			seconds[i][round] = measure(sessions[i]);
	for (unsigned i = 0; i < 3; i++) {
		qsort(seconds[i], ROUNDS, sizeof(double), compare);
		(void)printf(
			"%4u sessions: %5.2f us an event of five records, %6.0f events a second\n",
			sessions[i], seconds[i][ROUNDS / 2] * 1e6 / EVENTS,
			EVENTS / seconds[i][ROUNDS / 2]);
	}
	return 0;
}

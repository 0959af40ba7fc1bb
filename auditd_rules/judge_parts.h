/* SPDX-License-Identifier: ISC */
/*
 * Between judge.c, judge_name.c, judge_path.c and judge_address.c only.
 */
#ifndef AC_JUDGE_PARTS_H
#define AC_JUDGE_PARTS_H

#include "judge.h"
#include "syscalls.h"

/* Sets class, reason and, by the session's risk, the kind; the operation and target stay. */
void ac_verdict_set(const struct ac_judge *judge, struct ac_verdict *verdict, enum ac_class class,
	const char *reason);

/* Is it the session's own place, which its processes may fill with anything? */
bool ac_judge_is_own(const struct ac_judge *judge, const char *path);

void ac_judge_open(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict);
void ac_judge_exec(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict);

/* connect, send*, bind: SOCKADDR is in. */
void ac_judge_address(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict);
void ac_judge_packet(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict);
void ac_judge_landlock_net(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The risk table, and which part of the judge an event belongs to.  Pure.
 *
 * An event is judged by what decides it first: someone else's identity, a foreign ABI, a Landlock
 * denial (canonical path), a denied packet, the launcher's filter, then the system call itself.
 */
#include "judge.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "judge_parts.h"
#include "util.h"

#define NEW_NAMESPACES 0x7e020080u /* every CLONE_NEW* flag of clone, unshare */
#define X32_BIT 0x40000000
#define OPEN_TREE_CLONE 1
#define NETLINK_AUDIT_FAMILY 9
#define TYPE_MASK 0xf

/* clang-format off */
static const unsigned char table[AC_CLASS_COUNT][3] = {
	/*                             low                 medium              high */
	[AC_CLASS_NORMAL] =          { AC_VERDICT_SILENT,  AC_VERDICT_SILENT,  AC_VERDICT_SILENT },
	[AC_CLASS_SECRET] =          { AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE },
	[AC_CLASS_OUTSIDE_DONE] =    { AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE },
	[AC_CLASS_PRIVILEGE] =       { AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE },
	[AC_CLASS_NETWORK] =         { AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE },
	[AC_CLASS_TOLERATED] =       { AC_VERDICT_DENIED,  AC_VERDICT_DENIED,  AC_VERDICT_ESCAPE },
	[AC_CLASS_LOOKUP] =          { AC_VERDICT_DENIED,  AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE },
	[AC_CLASS_BASELINE_WRITE] =  { AC_VERDICT_DENIED,  AC_VERDICT_DENIED,  AC_VERDICT_ESCAPE },
	[AC_CLASS_OUTSIDE_REFUSED] = { AC_VERDICT_DENIED,  AC_VERDICT_DENIED,  AC_VERDICT_ESCAPE },
	[AC_CLASS_FLOOD] =           { AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE,  AC_VERDICT_ESCAPE },
};
/* clang-format on */

static const char *const class_names[AC_CLASS_COUNT] = {
	[AC_CLASS_NORMAL] = "normal",
	[AC_CLASS_SECRET] = "secret",
	[AC_CLASS_OUTSIDE_DONE] = "outside",
	[AC_CLASS_PRIVILEGE] = "privilege",
	[AC_CLASS_NETWORK] = "network",
	[AC_CLASS_TOLERATED] = "tolerated",
	[AC_CLASS_LOOKUP] = "lookup",
	[AC_CLASS_BASELINE_WRITE] = "baseline",
	[AC_CLASS_OUTSIDE_REFUSED] = "refused",
	[AC_CLASS_FLOOD] = "flood",
};

enum ac_verdict_kind ac_class_verdict(enum ac_class class, enum ac_risk risk)
{
	if ((unsigned)class >= AC_CLASS_COUNT || (unsigned)risk > AC_RISK_HIGH)
		return AC_VERDICT_ESCAPE;
	return (enum ac_verdict_kind)table[class][risk];
}

const char *ac_class_name(enum ac_class class)
{
	return (unsigned)class < AC_CLASS_COUNT ? class_names[class] : NULL;
}

const char *ac_verdict_name(enum ac_verdict_kind kind)
{
	static const char *const names[] = { "wait", "silent", "denied", "resolve", "escape" };

	return (unsigned)kind < AC_COUNT(names) ? names[kind] : NULL;
}

void ac_verdict_set(const struct ac_judge *judge, struct ac_verdict *verdict, enum ac_class class,
	const char *reason)
{
	verdict->class = class;
	verdict->reason = reason;
	verdict->kind = ac_class_verdict(class, judge->session->policy.risk);
}

static void set_target(struct ac_verdict *verdict, const char *text)
{
	(void)snprintf(verdict->target, sizeof(verdict->target), "%s", text);
}

/* bwrap, and what a harness that brings its own sandbox needs.  Where it may, only what the cell itself
 * refuses is told: within its own walls it tries this and that, and the kernel says no to some. */
static void judge_namespace(const struct ac_judge *judge, const struct ac_event *event,
	const struct ac_call *call, struct ac_verdict *verdict)
{
	bool refused = event->seen & (AC_SEEN_SECCOMP | AC_SEEN_LANDLOCK);

	set_target(verdict, call->name);
	if (!judge->session->policy.nested_sandbox)
		ac_verdict_set(judge, verdict, AC_CLASS_PRIVILEGE,
			"namespaces and mounts are the cell's walls");
	else
		ac_verdict_set(judge, verdict, refused ? AC_CLASS_TOLERATED : AC_CLASS_NORMAL,
			"the harness's own sandbox");
}

static bool is_harmless_namespace(const struct ac_event *event, const struct ac_call *call)
{
	if (!strcmp(call->name, "unshare") || !strcmp(call->name, "clone"))
		return !(event->a[0] & NEW_NAMESPACES);
	return !strcmp(call->name, "open_tree") && !(event->a[2] & OPEN_TREE_CLONE);
}

/* Asking for the ids that one has is what shells and tools do to be sure. */
static bool keeps_identity(const struct ac_event *event, const struct ac_call *call)
{
	bool group = strstr(call->name, "gid") != NULL;
	unsigned count = !strncmp(call->name, "setres", 6)  ? 3
			 : !strncmp(call->name, "setre", 5) ? 2
							    : 1;

	if (!strcmp(call->name, "capset"))
		return event->success; /* from an empty set nothing can be won, only dropped */
	if (!strcmp(call->name, "setgroups"))
		return false;
	for (unsigned i = 0; i < count; i++) {
		uint32_t id = (uint32_t)event->a[i];

		/* The session's gid is its uid's number (architecture.md 8) unless the policy differs. */
		if (id != AC_UID_UNSET && id != event->uid && !(group && event->success))
			return false;
	}
	return true;
}

static void judge_ptrace(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	bool known = event->seen & AC_SEEN_OBJECT;

	if (!known && !complete)
		return;
	(void)snprintf(verdict->target, sizeof(verdict->target), "%s of process %ld", call->name,
		known ? (long)event->object_pid : (long)event->a[!strcmp(call->name, "ptrace")]);
	if ((known && event->object_uid != event->uid) || (!known && event->exit == -EPERM))
		ac_verdict_set(judge, verdict, AC_CLASS_PRIVILEGE, "a process of somebody else");
	else
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "its own processes");
}

static void judge_socket(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict)
{
	bool internet = event->a[0] == AF_INET || event->a[0] == AF_INET6;

	verdict->operation = AC_OPERATION_NETWORK;
	(void)snprintf(verdict->target, sizeof(verdict->target), "socket of family %u, type %u",
		(unsigned)event->a[0], (unsigned)(event->a[1] & TYPE_MASK));
	if (event->a[0] > AF_NETLINK || (internet && (event->a[1] & TYPE_MASK) == SOCK_RAW) ||
		(event->a[0] == AF_NETLINK && event->a[2] == NETLINK_AUDIT_FAMILY))
		ac_verdict_set(
			judge, verdict, AC_CLASS_NETWORK, "a socket that the firewall can't see");
	else
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "a common socket");
}

static void judge_call(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	set_target(verdict, call->name);
	switch (call->kind) {
	case AC_CALL_OPEN:
	case AC_CALL_CHANGE:
		ac_judge_open(judge, call, event, complete, verdict);
		return;
	case AC_CALL_MODE:
		if (!event->success)
			ac_judge_open(judge, call, event, complete, verdict);
		else
			ac_verdict_set(judge, verdict, AC_CLASS_BASELINE_WRITE, "a set-id bit");
		return;
	case AC_CALL_EXEC:
		ac_judge_exec(judge, call, event, complete, verdict);
		return;
	case AC_CALL_ADDRESS:
		ac_judge_address(judge, call, event, complete, verdict);
		return;
	case AC_CALL_SOCKET:
		judge_socket(judge, event, verdict);
		return;
	case AC_CALL_PTRACE:
		judge_ptrace(judge, call, event, complete, verdict);
		return;
	case AC_CALL_NAMESPACE:
		if (is_harmless_namespace(event, call))
			ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "no new namespace");
		else
			judge_namespace(judge, event, call, verdict);
		return;
	case AC_CALL_IDENTITY:
		ac_verdict_set(judge, verdict,
			keeps_identity(event, call) ? AC_CLASS_NORMAL : AC_CLASS_PRIVILEGE,
			"another identity");
		return;
	case AC_CALL_SURFACE:
		ac_verdict_set(judge, verdict, AC_CLASS_PRIVILEGE, "no honest session needs it");
		return;
	case AC_CALL_PEEK:
		ac_verdict_set(judge, verdict,
			event->success ? AC_CLASS_NORMAL : AC_CLASS_OUTSIDE_REFUSED,
			"a look at the machine");
		return;
	case AC_CALL_HANDLE:
		ac_verdict_set(judge, verdict,
			event->success && call->name[0] == 'i' ? AC_CLASS_PRIVILEGE
							       : AC_CLASS_NORMAL,
			"io_uring acts where audit does not look");
		return;
	case AC_CALL_TERMINAL:
	case AC_CALL_OTHER:
		break;
	}
	/* Some rule of the site's own; it says nothing about the policy. */
	ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "recorded by another rule");
}

/* Only filters that ask for it are logged: the launcher's (or one that the cell made itself).  The
 * arguments are not told; the launcher's filter kills where they matter. */
static void judge_seccomp(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict)
{
	const struct ac_call *call = ac_call_find(event->syscall);
	uint32_t action = event->seccomp_code & SECCOMP_RET_ACTION_FULL;

	if (call->kind == AC_CALL_OTHER)
		(void)snprintf(
			verdict->target, sizeof(verdict->target), "system call %d", event->syscall);
	else
		set_target(verdict, call->name);
	if (action == SECCOMP_RET_LOG || action == SECCOMP_RET_ALLOW) {
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "a filter of the cell's own");
		return;
	}
	switch (call->kind) {
	case AC_CALL_NAMESPACE:
		judge_namespace(judge, event, call, verdict);
		return;
	case AC_CALL_PEEK:
		break;
	case AC_CALL_PTRACE:
	case AC_CALL_IDENTITY:
	case AC_CALL_SURFACE:
	case AC_CALL_TERMINAL:
		ac_verdict_set(judge, verdict, AC_CLASS_PRIVILEGE, "refused by the cell's filter");
		return;
	case AC_CALL_SOCKET:
		verdict->operation = AC_OPERATION_NETWORK;
		if (action != SECCOMP_RET_KILL_PROCESS)
			break; /* a family that nobody uses */
		ac_verdict_set(
			judge, verdict, AC_CLASS_NETWORK, "a socket that the firewall can't see");
		return;
	case AC_CALL_HANDLE:
		ac_verdict_set(
			judge, verdict, AC_CLASS_NORMAL, "refused, and programs go on without");
		return;
	case AC_CALL_OPEN:
	case AC_CALL_CHANGE:
	case AC_CALL_MODE:
	case AC_CALL_EXEC:
	case AC_CALL_ADDRESS:
	case AC_CALL_OTHER:
		break;
	}
	ac_verdict_set(judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "refused by the cell's filter");
}

static enum ac_operation landlock_operation(const char *blockers)
{
	static const char *const writing[] = { "write_file", "truncate", "make_", "remove_",
		"refer" };

	for (unsigned i = 0; i < AC_COUNT(writing); i++)
		if (strstr(blockers, writing[i]))
			return AC_OPERATION_WRITE;
	return strstr(blockers, "fs.execute") ? AC_OPERATION_EXECUTE : AC_OPERATION_READ;
}

static void judge_landlock(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict)
{
	const char *blockers = event->blockers;

	if (!strncmp(blockers, "net.", 4) || !strncmp(blockers, "scope.abstract", 14)) {
		ac_judge_landlock_net(judge, event, verdict);
	} else if (!strncmp(blockers, "scope.", 6) || !strncmp(blockers, "ptrace", 6)) {
		(void)snprintf(verdict->target, sizeof(verdict->target), "%.64s of process %ld",
			blockers, (long)event->object_pid);
		ac_verdict_set(
			judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "a process outside the cell");
	} else if (strstr(blockers, "fs.change_topology")) {
		judge_namespace(judge, event, ac_call_find(event->syscall), verdict);
		set_target(verdict, event->landlock_path);
	} else {
		ac_judge_path(
			judge, landlock_operation(blockers), false, event->landlock_path, verdict);
	}
}

/* Before anything else: who does not look like the session any more, or speaks another ABI. */
static bool judge_identity(
	const struct ac_judge *judge, const struct ac_event *event, struct ac_verdict *verdict)
{
	uint32_t uid = judge->session->policy.uid;
	bool foreign = event->arch != ac_call_native_arch() || event->syscall >= X32_BIT;

	if (event->seen & AC_SEEN_SYSCALL && (event->uid != uid || event->euid != uid ||
						     event->suid != uid || event->fsuid != uid)) {
		(void)snprintf(verdict->target, sizeof(verdict->target), "uid %u, effective %u",
			event->uid, event->euid);
		ac_verdict_set(
			judge, verdict, AC_CLASS_PRIVILEGE, "another uid than the session's");
		return true;
	}
	if (!foreign)
		return false;
	(void)snprintf(verdict->target, sizeof(verdict->target), "system call %d of interface %x",
		event->syscall, event->arch);
	ac_verdict_set(
		judge, verdict, AC_CLASS_PRIVILEGE, "not the machine's own system call interface");
	return true;
}

void ac_judge_event(const struct ac_judge *judge, const struct ac_event *event, bool complete,
	struct ac_verdict *verdict)
{
	verdict->kind = AC_VERDICT_WAIT;
	verdict->class = AC_CLASS_NORMAL;
	verdict->operation = AC_OPERATION_PRIVILEGE;
	verdict->reason = "";
	verdict->target[0] = 0;
	verdict->relative = false;
	verdict->directory = verdict->other = -1;
	verdict->follow = true;
	verdict->object = (struct ac_object){ 0 };
	verdict->lost = false;
	verdict->also[0] = 0;
	verdict->barred = false;
	if (event->seen & (AC_SEEN_SYSCALL | AC_SEEN_SECCOMP) &&
		judge_identity(judge, event, verdict))
		return;
	if (event->seen & AC_SEEN_LANDLOCK)
		judge_landlock(judge, event, verdict);
	else if (event->seen & AC_SEEN_PACKET)
		ac_judge_packet(judge, event, verdict);
	else if (event->seen & AC_SEEN_SECCOMP)
		judge_seccomp(judge, event, verdict);
	else if (event->seen & AC_SEEN_SYSCALL)
		judge_call(judge, ac_call_find(event->syscall), event, complete, verdict);
	if (complete && verdict->kind == AC_VERDICT_WAIT)
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "nothing of interest");
}

/* SPDX-License-Identifier: ISC */
/*
 * The judge's part for names: what was opened, changed or executed, and where that is.  Pure.
 *
 * Order of a path's judgement: bait, secrets, other homes; what the policy declares; what it
 * excludes; the session's own scratch; the read-only system; the silent list; the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "judge_parts.h"
#include "path.h"

#define SET_ID (S_ISUID | S_ISGID)

/* Descriptors are 32 bits wide, whatever the register held. */
static bool is_cwd(uint64_t descriptor)
{
	return (int32_t)(uint32_t)descriptor == AT_FDCWD;
}

bool ac_judge_is_own(const struct ac_judge *judge, const char *path)
{
	const struct ac_policy *policy = &judge->session->policy;

	return (policy->home[0] == '/' && ac_path_covers(policy->home, path)) ||
	       ac_silent_find(judge->silent, AC_SILENT_PRIVATE, path);
}

/* /home/<somebody>, unless it leads to what the session has there itself. */
static bool is_other_home(const struct ac_judge *judge, const char *path)
{
	const struct ac_plan *plan = &judge->session->plan;
	char home[AC_PATH_MAX];
	const char *end;

	if (strncmp(path, "/home/", 6) != 0 || !path[6])
		return false;
	end = strchrnul(path + 6, '/');
	(void)snprintf(home, sizeof(home), "%.*s", (int)(end - path), path);
	return !ac_path_covers(home, plan->user_home) &&
	       !ac_path_covers(home, judge->session->policy.home) &&
	       !ac_path_covers(home, plan->cwd);
}

/* The part of path below the deepest directory that it shares with root; NULL: none but "/". */
static const char *below_ancestor(const char *path, const char *root)
{
	size_t i, start = 1;

	if (root[0] != '/')
		return NULL;
	for (i = 0; path[i] && path[i] == root[i]; i++)
		if (path[i] == '/')
			start = i + 1;
	if (!path[i] && (!root[i] || root[i] == '/'))
		return path + i; /* an ancestor itself, or the root */
	if (path[i] == '/' && !root[i])
		return NULL; /* below the declared path: not above it */
	return path + start;
}

static bool is_ancestor_probe(const struct ac_judge *judge, const char *path, const char *root)
{
	const char *rest = below_ancestor(path, root);

	return rest && (!*rest || ac_silent_find(judge->silent, AC_SILENT_ANCESTOR, rest));
}

static bool is_probe_of(
	const struct ac_judge *judge, const char *path, const struct ac_path_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		if (is_ancestor_probe(judge, path, list->entry[i].path))
			return true;
	return false;
}

/* Looking for configuration further up is what tools do; writing there is not. */
static bool is_silent(const struct ac_judge *judge, enum ac_operation operation, const char *path)
{
	const struct ac_session_policy *session = judge->session;

	if (ac_silent_find(judge->silent, AC_SILENT_EXCEPT, path))
		return false;
	if (ac_silent_find(judge->silent, AC_SILENT_SILENT, path))
		return true;
	if (operation == AC_OPERATION_WRITE)
		return false;
	return is_ancestor_probe(judge, path, session->policy.home) ||
	       is_ancestor_probe(judge, path, session->plan.cwd) ||
	       is_probe_of(judge, path, &session->policy.write_paths) ||
	       is_probe_of(judge, path, &session->policy.read_paths) ||
	       is_probe_of(judge, path, &session->policy.tool_paths);
}

static void judge_elsewhere(const struct ac_judge *judge, enum ac_operation operation, bool success,
	const char *path, struct ac_verdict *verdict)
{
	bool baseline = ac_silent_find(judge->silent, AC_SILENT_BASELINE, path) ||
			ac_policy_decide(&judge->session->policy, AC_OPERATION_READ, path) ==
				AC_DECISION_ALLOWED;

	if (ac_judge_is_own(judge, path))
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "the session's own");
	else if (baseline && operation != AC_OPERATION_WRITE)
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "the read-only system");
	else if (baseline && !success)
		ac_verdict_set(judge, verdict, AC_CLASS_BASELINE_WRITE, "read-only in the cell");
	else if (operation != AC_OPERATION_EXECUTE && is_silent(judge, operation, path))
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "on the silent list");
	else
		ac_verdict_set(judge, verdict,
			success ? AC_CLASS_OUTSIDE_DONE : AC_CLASS_OUTSIDE_REFUSED,
			"outside what was declared");
}

void ac_judge_path(const struct ac_judge *judge, enum ac_operation operation, bool success,
	const char *path, struct ac_verdict *verdict)
{
	const struct ac_silent_line *line;

	verdict->operation = operation;
	if (path != verdict->target)
		(void)snprintf(verdict->target, sizeof(verdict->target), "%s", path);
	if (!ac_path_is_canonical(path)) {
		/* The pattern would be matched against something that leads elsewhere. */
		ac_verdict_set(judge, verdict,
			success ? AC_CLASS_OUTSIDE_DONE : AC_CLASS_OUTSIDE_REFUSED,
			"a name that can't be judged");
		return;
	}
	switch (ac_policy_decide(&judge->session->policy, operation, path)) {
	case AC_DECISION_BAIT:
		ac_verdict_set(
			judge, verdict, AC_CLASS_SECRET, "bait: nothing there is for this session");
		return;
	case AC_DECISION_ALLOWED:
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "declared");
		return;
	case AC_DECISION_EXCLUDED:
		ac_verdict_set(judge, verdict,
			success ? AC_CLASS_OUTSIDE_DONE : AC_CLASS_OUTSIDE_REFUSED,
			"excluded from this session");
		return;
	case AC_DECISION_DENIED:
		break;
	}
	line = ac_silent_find(judge->silent, AC_SILENT_SECRET, path);
	if (line)
		ac_verdict_set(judge, verdict, AC_CLASS_SECRET, line->reason);
	else if (!is_silent(judge, operation, path) && is_other_home(judge, path))
		ac_verdict_set(judge, verdict, AC_CLASS_SECRET, "somebody else's home");
	else
		judge_elsewhere(judge, operation, success, path, verdict);
}

static enum ac_operation open_operation(const struct ac_call *call, const struct ac_event *event)
{
	uint64_t flags;

	if (call->writes || call->kind == AC_CALL_MODE)
		return AC_OPERATION_WRITE;
	if (call->flags < 0)
		return AC_OPERATION_READ;
	flags = event->a[call->flags];
	return flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) ? AC_OPERATION_WRITE
							       : AC_OPERATION_READ;
}

/* Which directory descriptor the name starts from; AT_FDCWD for plain names. */
static int start_of(const struct ac_call *call, const struct ac_event *event, const char *name)
{
	if (name[0] == '/' || call->directory < 0 || is_cwd(event->a[call->directory]))
		return AT_FDCWD;
	return (int)event->a[call->directory];
}

/* "x/..": only what x really is says where that goes. */
static bool goes_back(const char *name)
{
	bool plain = false;

	while (*name) {
		size_t length = strcspn(name, "/");
		bool up = length == 2 && name[0] == '.' && name[1] == '.';

		if (up && plain)
			return true;
		plain = plain || (length && !up && !(length == 1 && name[0] == '.'));
		name += length + (name[length] == '/');
	}
	return false;
}

/* Leaves the name as it was typed, for whoever walks it: behind the directory, where that fits. */
static void keep_typed(
	const struct ac_event *event, const struct ac_event_path *path, struct ac_verdict *verdict)
{
	bool absolute = path->name[0] == '/';

	if (!absolute && snprintf(verdict->target, sizeof(verdict->target), "%s/%s", event->cwd,
				 path->name) < (int)sizeof(verdict->target))
		return;
	(void)snprintf(verdict->target, sizeof(verdict->target), "%s", path->name);
	verdict->relative = !absolute;
}

/* The answer lies in what the name leads to. */
static void leave_open(
	const struct ac_event *event, const struct ac_event_path *path, struct ac_verdict *verdict)
{
	verdict->kind = AC_VERDICT_RESOLVE;
	verdict->object = path->object;
	/* The last item of a name that was followed to its directory has that one's record beside it. */
	verdict->barred = event->exit == -EACCES && !path->object.inode &&
			  !event->parent.object.inode;
}

/* Makes the typed name absolute as far as the records go; false: it is relative to a descriptor. */
static bool complete_name(const struct ac_call *call, const struct ac_event *event,
	const struct ac_event_path *path, struct ac_verdict *verdict)
{
	int start = start_of(call, event, path->name);

	if (start != AT_FDCWD || (path->name[0] != '/' && !event->cwd[0])) {
		(void)snprintf(verdict->target, sizeof(verdict->target), "%s", path->name);
		verdict->relative = true;
		verdict->directory = start;
		return false;
	}
	verdict->directory = AT_FDCWD;
	if (ac_path_join(verdict->target, sizeof(verdict->target), event->cwd[0] ? event->cwd : "/",
		    path->name))
		(void)snprintf(verdict->target, sizeof(verdict->target), "%s", path->name);
	return true;
}

/* Could the name lead somewhere else than it says?  Only through places that the cell can fill, and
 * through /proc, whose links follow descriptors. */
static bool may_lead_elsewhere(const struct ac_judge *judge, const char *path)
{
	return !strncmp(path, "/proc/", 6) || ac_judge_is_own(judge, path) ||
	       ac_policy_decide(&judge->session->policy, AC_OPERATION_WRITE, path) ==
		       AC_DECISION_ALLOWED;
}

static void judge_name(const struct ac_judge *judge, const struct ac_call *call,
	enum ac_operation operation, const struct ac_event *event, const struct ac_event_path *path,
	struct ac_verdict *verdict)
{
	verdict->operation = operation;
	verdict->relative = false;
	verdict->follow = call->kind != AC_CALL_CHANGE;
	if (!complete_name(call, event, path, verdict)) {
		ac_verdict_set(
			judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "relative to a descriptor");
		if (event->success)
			verdict->kind = AC_VERDICT_SILENT;
		else
			leave_open(event, path, verdict);
		return;
	}
	ac_judge_path(judge, operation, event->success, verdict->target, verdict);
	if (event->success)
		return;
	if (goes_back(path->name) || (verdict->kind != AC_VERDICT_ESCAPE &&
					     may_lead_elsewhere(judge, verdict->target))) {
		leave_open(event, path, verdict);
		keep_typed(event, path, verdict);
	}
}

/*
 * rename and link act on two names: an escape is an escape as soon as one is, the rest waits for
 * the end of the event and takes the worse of them.
 */
void ac_judge_open(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	enum ac_operation operation = open_operation(call, event);
	bool several = call->kind == AC_CALL_CHANGE;
	enum ac_verdict_kind worst = AC_VERDICT_WAIT;
	const struct ac_event_path *path = &event->parent;

	if (call->flags >= 0 && event->a[call->flags] & O_PATH) {
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "a look, not an access");
		return;
	}
	for (unsigned i = 0; i < event->path_count; i++) {
		judge_name(judge, call, operation, event, &event->path[i], verdict);
		if (verdict->kind == AC_VERDICT_ESCAPE)
			return;
		if (verdict->kind > worst) {
			worst = verdict->kind;
			path = &event->path[i];
		}
	}
	if (!complete && (several || !event->path_count)) {
		verdict->kind = AC_VERDICT_WAIT;
		return;
	}
	if (path->name[0])
		judge_name(judge, call, operation, event, path, verdict);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_privileged_program(const struct ac_judge *judge, const char *path)
{
	return ac_silent_find(judge->silent, AC_SILENT_PROGRAM, base_name(path));
}

/* A program of that name that the session made itself is only a name. */
static bool is_own_file(const struct ac_judge *judge, const char *path)
{
	return ac_judge_is_own(judge, path) ||
	       ac_policy_decide(&judge->session->policy, AC_OPERATION_WRITE, path) ==
		       AC_DECISION_ALLOWED;
}

static void judge_privileged(const struct ac_judge *judge, struct ac_verdict *verdict)
{
	const char *name = base_name(verdict->target);
	bool nested = judge->session->policy.nested_sandbox &&
		      (!strcmp(name, "newuidmap") || !strcmp(name, "newgidmap"));

	verdict->operation = AC_OPERATION_PRIVILEGE;
	ac_verdict_set(judge, verdict, nested ? AC_CLASS_TOLERATED : AC_CLASS_PRIVILEGE,
		nested ? "the harness's own sandbox" : "a program that changes privileges");
}

void ac_judge_exec(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	const struct ac_event_path *path = &event->path[0];
	bool known, set_id;

	verdict->operation = AC_OPERATION_EXECUTE;
	if (!event->path_count && !complete)
		return;
	if (!event->path_count)
		path = &event->parent;
	known = complete_name(call, event, path, verdict);
	set_id = path->mode & SET_ID && S_ISREG(path->mode);
	if (event->success && event->exe[0] == '/') {
		/* exe is canonical: what really runs (the interpreter, for a script). */
		if (!known || is_privileged_program(judge, event->exe))
			(void)snprintf(verdict->target, sizeof(verdict->target), "%s", event->exe);
		known = true;
	}
	if (set_id || path->file_caps ||
		(is_privileged_program(judge, verdict->target) &&
			!is_own_file(judge, verdict->target))) {
		judge_privileged(judge, verdict);
		return;
	}
	if (!known) {
		ac_verdict_set(
			judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "relative to a descriptor");
		leave_open(event, path, verdict);
		return;
	}
	if (event->success && strncmp(event->exe, "/memfd:", 7) != 0)
		ac_judge_path(judge, AC_OPERATION_EXECUTE, true, event->exe, verdict);
	else if (event->success)
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "from memory");
	else
		judge_name(judge, call, AC_OPERATION_EXECUTE, event, path, verdict);
}

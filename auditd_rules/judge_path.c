/* SPDX-License-Identifier: ISC */
/*
 * The judge's part for paths that are known: whose is what lies there.  Pure.
 *
 * Order of a path's judgement: bait, secrets, other homes; what the policy declares; what it
 * excludes; the session's own scratch; the read-only system; the silent list; the rest.
 */
#include <stdio.h>
#include <string.h>

#include "judge_parts.h"
#include "path.h"

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

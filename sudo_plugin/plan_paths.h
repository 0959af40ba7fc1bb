/* SPDX-License-Identifier: ISC */
/* The path lists of plan and policy: split, resolved and judged as the invoking user. */
#ifndef AC_PLAN_PATHS_H
#define AC_PLAN_PATHS_H

#include "plan.h"
#include "resolve.h"

int ac_plan_paths(const struct ac_plan_input *input, struct ac_plan *plan, struct ac_policy *policy,
	struct ac_err *err);

/* --- Shared by the plan_*.c files --- */

struct ac_plan_look {
	const struct ac_plan_input *input;
	struct ac_plan *plan;
	struct ac_policy *policy;
	struct ac_identity who;
	int cwd_fd;
};

/* Tells the person something that is no refusal. */
void ac_plan_note(const struct ac_plan_look *look, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

bool ac_plan_has(const struct ac_path_list *list, const char *path); /* covers it */
bool ac_plan_is_in_roots(const struct ac_plan_look *look, const char *path);

/* What a path that was judged fit needs besides: a file system that the kernel maps ids on, a group
 * of the user's for the session (added to the policy), no second name of what is to be hidden. */
int ac_plan_fit(const struct ac_plan_look *look, int fd, enum ac_resolve_use use,
	const struct ac_path_entry *entry, struct ac_err *err);

/* Access by ACL for a path that cannot be idmapped, where the admin allows it: is it fit for that, and
 * has no other session the same tree? */
int ac_plan_acl(const struct ac_plan_look *look, int fd, const struct ac_path_entry *entry,
	struct ac_err *err);

/* Linked worktrees and submodules: adds the directory where git really keeps its things to the
 * read-write paths when that directory names the declared path back; else says so. */
int ac_plan_git(const struct ac_plan_look *look, struct ac_err *err);

/* Tells which mounts below declared paths stay hidden. */
void ac_plan_submounts(const struct ac_plan_look *look);

#endif

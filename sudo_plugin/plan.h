/* SPDX-License-Identifier: ISC */
/*
 * From configuration, harness profile and request to SessionPlan and SandboxPolicy.
 * Resolves every path as the invoking user; decides nothing that the admin's limits do not allow.
 */
#ifndef AC_PLAN_H
#define AC_PLAN_H

#include "config.h"
#include "policy.h"
#include "request.h"

struct ac_plan_input {
	const struct ac_config *config;
	const struct ac_harness *harness;
	const struct ac_request *request;
	const char *command; /* as resolved by sudoers */
	const char *cwd; /* sudoers' (-D, runcwd), or NULL: the user's */
	void (*note)(void *context, const char *text); /* for the person, no refusal; may be NULL */
	void *note_context;
};

/* Fills *session but for uid, gid and session_id dependent words, which ac_plan_name() adds once
 * the uid is leased.  Refusals name the setting, the value and the way out. */
int ac_plan_make(
	const struct ac_plan_input *input, struct ac_session_policy *session, struct ac_err *err);
void ac_plan_name(struct ac_session_policy *session, const struct ac_config *config, uid_t uid);

#endif

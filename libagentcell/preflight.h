/* SPDX-License-Identifier: ISC */
/*
 * What was so when a session began, kept with its backup: names of the variables that entered the
 * cell (never values), harness, kernel, configuration, policy, and where each project's git stood.
 * Nothing is run for it; what lies in the user's directories is read by the user's own process.
 */
#ifndef AC_PREFLIGHT_H
#define AC_PREFLIGHT_H

#include "policy.h"

/* The part that root knows: one JSON object, a heap block; NULL: no memory.  variables: names with
 * blanks between, may be NULL. */
char *ac_preflight_dup(
	const struct ac_session_policy *session, const char *config_file, const char *variables);

/* The same with the part that the user may read, as the user: root_fds has for each path a
 * descriptor or -1.  NULL: no memory, or preflight is no JSON object. */
char *ac_preflight_complete_dup(
	const char *preflight, const struct ac_path_list *paths, const int *root_fds);

#endif

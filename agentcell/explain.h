/* SPDX-License-Identifier: ISC */
/* What explain.c and explain_paths.c share: who asks, for what, under which configuration. */
#ifndef AC_EXPLAIN_H
#define AC_EXPLAIN_H

#include <json-c/json.h>

#include "config.h"
#include "resolve.h"

struct ac_explain {
	const struct ac_config *config;
	struct ac_identity who;
	gid_t groups[AC_GROUPS_MAX];
	const char *home;
	int cwd_fd;
	json_object *result;
	json_object *problems; /* array of strings: each would refuse the session */
};

/* Judges what is asked for and what the configuration adds, as the caller; fills the lists. */
void ac_explain_paths(struct ac_explain *explain);

/* The value of an AGENTCELL_* setting that is not empty, or NULL. */
const char *ac_explain_setting(const char *name);

#endif

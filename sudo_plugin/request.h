/* SPDX-License-Identifier: ISC */
/*
 * What the user asked for, taken from sudo's vectors of "name=value" strings.  Pure: nothing here
 * opens, allocates or asks the system.  Every string in those vectors is the user's: untrusted.
 */
#ifndef AC_REQUEST_H
#define AC_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "names.h"

/* Raw AGENTCELL_* values; NULL where not asked.  They point into sudo's vectors, which live until
 * the process ends. */
struct ac_wishes {
	const char *paths, *read_paths, *exclude, *endpoints, *risk, *wall_clock, *harness;
};

struct ac_request {
	const char *user, *cwd, *tty, *host;
	uid_t uid;
	gid_t gid;
	unsigned group_count;
	gid_t groups[AC_GROUPS_MAX];
	mode_t umask;
	bool has_umask;
	const char *runas_user; /* as typed after -u, NULL when not given */
	const char
		*forbidden; /* first option that no agent may use ("-s (run a shell)"), or NULL */
	struct ac_wishes wishes;
	char *const *environment; /* the user's */
};

/* Value of name in a vector, or NULL; the last one wins, as in sudo's own front end. */
const char *ac_vector_get(char *const vector[], const char *name);

/* Reads user_info[] and settings[].  Refuses what it cannot take whole: too many groups, bad
 * numbers, no user, no cwd. */
int ac_request_read(struct ac_request *request, char *const settings[], char *const user_info[],
	struct ac_err *err);

/* Takes the AGENTCELL_* settings out of env_add (may be NULL), which is shortened in place so that
 * sudoers does not see them, and where env_add has none, from the user's environment.  An unknown
 * AGENTCELL_* name in env_add is refused; in the environment it is ignored. */
int ac_wishes_take(
	struct ac_wishes *wishes, char *env_add[], char *const user_env[], struct ac_err *err);

/* Decimal, no sign, no blanks, within [0, limit]: 0 or -EINVAL. */
int ac_number_parse(const char *text, unsigned long limit, unsigned long *number);

#endif

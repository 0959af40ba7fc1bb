/* SPDX-License-Identifier: ISC */
/*
 * What a harness profile puts into the view (struct ac_placement, policy.h): where it may go, and
 * what stands in its text.  Pure.
 */
#ifndef AC_PLACEMENT_H
#define AC_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "policy.h"

#define AC_PLACED_FILE_MAX 65536 /* bytes of one file */

/* A file below /etc, or a canonical relative path below a home; a source exactly where there is one. */
bool ac_placement_is_valid(const struct ac_placement *placement);

/* Claude Code knows a key that it may use by its last characters. */
#define AC_KEY_TAIL 20

/*
 * Writes text with {cwd}, {home}, {user} and {tail:NAME} replaced, each escaped for a string in double
 * quotes (the same in JSON and TOML).  A tail is the last AC_KEY_TAIL characters of that one of
 * variables (NAME=value, ended by NULL), or nothing.  Any other brace stands for itself.
 */
void ac_placement_expand(FILE *stream, const char *text, size_t length,
	const struct ac_session_policy *session, char *const variables[]);

/* Does a path below a home fit the pattern, or lie below what fits it?  '*' stands for one component
 * or a part of it.  Returns the length of what fits, 0: nothing. */
size_t ac_package_match(const char *pattern, const char *path);

#endif

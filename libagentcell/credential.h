/* SPDX-License-Identifier: ISC */
/* May what a session made of a credential file take the place of the user's own?  Pure. */
#ifndef AC_CREDENTIAL_H
#define AC_CREDENTIAL_H

#include <stdbool.h>
#include <stddef.h>

#define AC_CREDENTIAL_MAX 65536 /* bytes */

/* For a name in .json both must be one JSON object each, with the same members at both of its upper
 * levels and values of the same types there; any other file must not be empty. */
bool ac_credential_is_like(const char *name, const char *before, size_t before_length,
	const char *after, size_t after_length);

#endif

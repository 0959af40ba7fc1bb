/* SPDX-License-Identifier: ISC */
/* The terms: what the person is shown before the session starts.  Pure. */
#ifndef AC_TERMS_H
#define AC_TERMS_H

#include <stddef.h>

#include "policy.h"

/* Writes the block, NUL-terminated, every value escaped; returns its full length. */
size_t ac_terms_format(char *text, size_t size, const struct ac_session_policy *session);

#endif

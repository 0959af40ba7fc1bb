/* SPDX-License-Identifier: ISC */
/*
 * Text for people, logs and JSON: any byte string as printable ASCII, and back, exactly.
 * Bytes outside 0x20..0x7e and '%' itself become %XX (RFC 3986 style, capital hex), so a path
 * with newlines, escape sequences or bytes that are no UTF-8 can forge nothing.
 */
#ifndef AC_ESCAPE_H
#define AC_ESCAPE_H

#include <stddef.h>

/* Writes the escaped form, always NUL-terminated, cut to whole units at size; size >= 1.
 * Returns the length that the full text needs (as snprintf does). */
size_t ac_escape(char *text, size_t size, const char *bytes, size_t length);

/* The reverse.  Returns the number of bytes, or -1 for a bad escape, a NUL byte or no room. */
long ac_unescape(char *bytes, size_t size, const char *text);

#endif

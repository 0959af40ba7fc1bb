/* SPDX-License-Identifier: ISC */
/*
 * INI text, strictly: inih behind a line reader of our own, and a list of all errors with file:line.
 */
#ifndef AC_CONFIG_INI_H
#define AC_CONFIG_INI_H

#include <stddef.h>

#include "err.h"

#define AC_INI_FILE_MAX 262144 /* bytes */

/* Where errors go: each one to report (may be NULL), and all of them, joined, into err. */
struct ac_ini_errors {
	const char *file;
	unsigned line; /* being read; 0: the file as a whole */
	unsigned count;
	void (*report)(void *context, const char *text);
	void *context;
	struct ac_err *err; /* may be NULL */
};

void ac_ini_error(struct ac_ini_errors *errors, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Called for each key, and with key and value NULL for each section line; complains by
 * ac_ini_error.  The strings are valid during the call only. */
typedef void ac_ini_handler(void *context, struct ac_ini_errors *errors, const char *section,
	const char *key, const char *value);

/* Parses text; what is wrong is in *errors. */
void ac_ini_parse(const char *text, size_t length, ac_ini_handler *handler, void *context,
	struct ac_ini_errors *errors);

/* Reads fd and parses it.  0, or -EBADMSG when there was any error. */
int ac_ini_read(int fd, ac_ini_handler *handler, void *context, struct ac_ini_errors *errors);

#endif

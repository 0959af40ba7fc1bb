/* SPDX-License-Identifier: ISC */
/*
 * silent.conf: what is normal, what is never innocent.  Data, one line and one reason each:
 *
 *     kind pattern -- reason
 *
 * In a pattern `*` stands for any bytes of one component and `**` for any bytes at all; a final
 * slash with two stars covers the directory itself too.  Matching takes time linear in the path.
 * The file is root's; a line that cannot be read refuses the whole file.
 */
#ifndef AC_SILENT_H
#define AC_SILENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "policy.h"

#define AC_SILENT_LINES_MAX 512
#define AC_SILENT_TOKENS_MAX 63
#define AC_SILENT_REASON_MAX 80

enum ac_silent_kind {
	AC_SILENT_BASELINE, /* the read-only system part of the view, and all below */
	AC_SILENT_PRIVATE, /* the session's own scratch, and all below */
	AC_SILENT_SILENT, /* refused access is normal */
	AC_SILENT_ANCESTOR, /* relative to a directory above a declared path or the home */
	AC_SILENT_EXCEPT, /* never silent, whatever else matches */
	AC_SILENT_SECRET, /* an escape even without success */
	AC_SILENT_SOCKET, /* unix sockets: connecting is normal */
	AC_SILENT_SERVICE, /* unix sockets: connecting is an escape */
	AC_SILENT_RESOLVER, /* unix sockets: connecting asks for a name */
	AC_SILENT_PROGRAM, /* basename of programs that change privileges */
	AC_SILENT_COUNT
};

struct ac_silent_line {
	uint8_t kind;
	uint8_t count; /* tokens */
	uint8_t prefix; /* leading tokens that are plain bytes */
	bool below; /* ended in a "/" and two stars */
	uint16_t token[AC_SILENT_TOKENS_MAX];
	char reason[AC_SILENT_REASON_MAX];
};

struct ac_silent { /* large: heap */
	unsigned count;
	struct ac_silent_line line[AC_SILENT_LINES_MAX];
};

/* Reads the file; every error is file:line.  Blocks. */
int ac_silent_read(const char *path, struct ac_silent *silent, struct ac_err *err);

/* Pure: one text of the file's syntax; name is for messages. */
int ac_silent_parse(const char *name, const char *text, size_t length, struct ac_silent *silent,
	struct ac_err *err);

/* Pure: the first line of that kind that matches, or NULL. */
const struct ac_silent_line *ac_silent_find(
	const struct ac_silent *silent, enum ac_silent_kind kind, const char *text);

/* Pure: does the pattern match the whole text. */
bool ac_silent_line_matches(const struct ac_silent_line *line, const char *text);

#endif

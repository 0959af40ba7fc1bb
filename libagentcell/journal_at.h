/* SPDX-License-Identifier: ISC */
/*
 * The journal below any base directory: what the public functions do below AC_SESSIONS_DIRECTORY.
 * Only the library and its tests use these; there is no other way to move the directory.
 */
#ifndef AC_JOURNAL_AT_H
#define AC_JOURNAL_AT_H

#include "journal.h"

#define AC_JOURNAL_UNBORN ".new-" /* prefix of a directory that is being made */

/* Makes what is missing of AC_SESSIONS_DIRECTORY and returns an O_PATH fd of it. */
int ac_sessions_open(struct ac_err *err);

int ac_journal_create_at(
	int base_fd, const char *session_id, struct ac_journal *journal, struct ac_err *err);
int ac_journal_open_at(
	int base_fd, const char *session_id, struct ac_journal *journal, struct ac_err *err);
int ac_journal_sessions_at(int base_fd, int (*each)(void *context, const char *session_id),
	void *context, struct ac_err *err);

#endif

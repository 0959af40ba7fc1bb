/* SPDX-License-Identifier: ISC */
/*
 * The journal of one session: a directory /run/agentcell/sessions/<id>/ and an append-only file in
 * it.  Each record is one line, "<count> <state> <tries> <cause> <boottime-ms> <pid>\n", and must
 * round-trip; a torn last line counts as not written.  Whoever holds the flock drives the session.
 */
#ifndef AC_JOURNAL_H
#define AC_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "lifecycle.h"
#include "names.h"

struct ac_journal {
	int directory_fd; /* /run/agentcell/sessions/<id> */
	int fd; /* the journal, O_APPEND; holds the flock while owned */
	unsigned count; /* records so far */
	char session_id[AC_SESSION_ID_SIZE];
};

struct ac_journal_record { /* one line */
	unsigned count;
	struct ac_life life;
	uint64_t time_ms; /* CLOCK_BOOTTIME */
	pid_t pid; /* who wrote it */
};

#define AC_JOURNAL_CLOSED \
	{ \
		.directory_fd = -1, .fd = -1 \
	}

/* Makes the directory (0700) and an empty journal and takes the lock. */
int ac_journal_create(const char *session_id, struct ac_journal *journal, struct ac_err *err);

/* Opens an existing one without the lock; ac_journal_lock() then takes it: 0, or -EWOULDBLOCK when
 * somebody else drives the session. */
int ac_journal_open(const char *session_id, struct ac_journal *journal, struct ac_err *err);
int ac_journal_lock(struct ac_journal *journal);
void ac_journal_unlock(struct ac_journal *journal);

/* Appends and syncs one record. */
int ac_journal_append(struct ac_journal *journal, struct ac_life life);

/* Reads the last whole record; -ENODATA when there is none. */
int ac_journal_last(
	struct ac_journal *journal, struct ac_journal_record *record, struct ac_err *err);

/* Calls each for every record in order; stops and returns what each returned when not 0. */
int ac_journal_each(struct ac_journal *journal,
	int (*each)(void *context, const struct ac_journal_record *record), void *context,
	struct ac_err *err);

/* Removes the whole session directory.  The lock goes with the close. */
int ac_journal_remove(struct ac_journal *journal, struct ac_err *err);
void ac_journal_close(struct ac_journal *journal);

/* Calls each for every session directory there is. */
int ac_journal_sessions(
	int (*each)(void *context, const char *session_id), void *context, struct ac_err *err);

/* Pure: one line <-> struct.  format returns the length; parse returns 0 or -EBADMSG, and refuses
 * whatever format would not have written. */
int ac_journal_format(char line[], size_t size, const struct ac_journal_record *record);
int ac_journal_parse(const char *line, size_t length, struct ac_journal_record *record);

/* 12 random hex digits (getrandom). */
int ac_session_id_make(char session_id[AC_SESSION_ID_SIZE], struct ac_err *err);
bool ac_session_id_is_valid(const char *session_id);

#endif

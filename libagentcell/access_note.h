/* SPDX-License-Identifier: ISC */
/*
 * What outlives the machine's going down: access by ACL is on disk, and all else that knows of it in
 * /run.  A note, /var/lib/agentcell/acl/<uid>, says what is needed to take it back without the
 * session.  It is on disk before the first ACL names the uid, and removed when the last one that did is
 * gone from the disk; as long as it stands the uid is not leased, and the listener settles it.
 *
 * The text is JSON, as in policy.json, and read as strictly.  A path that was taken back is not in it any
 * more: what lies there afterwards need not be what it was.
 */
#ifndef AC_ACCESS_NOTE_H
#define AC_ACCESS_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "config.h"
#include "err.h"
#include "policy.h"

struct ac_access_note { /* large: keep it on the heap */
	char session_id[AC_SESSION_ID_SIZE];
	uid_t user_uid;
	gid_t user_gid;
	unsigned group_count; /* the user's */
	gid_t groups[AC_GROUPS_MAX];
	uid_t session_uid;
	gid_t session_gid;
	struct ac_path_list paths; /* that it had been given, or was about to be */
};

/* On disk when it returns, in place of one that was there.  Without paths there is none. */
int ac_access_note_write(const struct ac_access_note *note, struct ac_err *err);

/* The directory of notes, O_PATH; -ENOENT where there never was one. */
int ac_access_notes_open(struct ac_err *err);

/* notes: that, or negative for none.  When it cannot be told there is one. */
bool ac_access_note_stands(int notes, uid_t uid);

/* Calls each for every note there is. */
int ac_access_notes_each(void (*each)(void *context, uid_t uid), void *context, struct ac_err *err);

/*
 * Takes back what a note says, and removes it, when no session has the uid.  session_id becomes that of
 * the note, or "": there was nothing to do.  Blocks for as long as the trees are large.  parent: 0, or
 * the process that this one, its child, is to die with.
 */
int ac_access_note_settle(uid_t uid, const struct ac_config *config, pid_t parent,
	char session_id[AC_SESSION_ID_SIZE], struct ac_err *err);

/* Pure.  format: the caller's, NULL for no memory or what parse would refuse. */
char *ac_access_note_format(const struct ac_access_note *note, size_t *length);
int ac_access_note_parse(
	const char *text, size_t length, struct ac_access_note *note, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * One user's store, a directory of the user's own (0700), flat:
 *
 *   lock              flock: shared while a backup is made, read or restored; exclusive to remove
 *   <id>.manifest     a backup; it exists exactly when this name exists
 *   <id>.state        what became of its session
 *   <32 hex>.pack     content; without a manifest that uses it, garbage
 *   forced-<32 hex>   modes that were opened up for a backup (backup_force.h)
 *   tmp-<32 hex>      being written; garbage when no shared lock is held
 */
#ifndef AC_BACKUP_STORE_H
#define AC_BACKUP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backup_format.h"
#include "err.h"
#include "names.h"

#define AC_STORE_NAME_MAX 64
#define AC_STORE_MANIFEST ".manifest"
#define AC_STORE_STATE ".state"
#define AC_STORE_PACK ".pack"
#define AC_STORE_TEMPORARY "tmp-"

/* Opens a store as its owner: a directory, owned by the caller, closed to others.  Returns the fd. */
int ac_store_open(const char *directory, struct ac_err *err);

/* Takes the lock; wait_s: for how long to try.  Returns the lock's fd; closing it unlocks.
 * -EWOULDBLOCK when somebody else holds it. */
int ac_store_lock(int store_fd, bool exclusive, unsigned wait_s, struct ac_err *err);

/* Removes what a killed process left: temporary files, packs that no manifest could name.  Only
 * under the exclusive lock. */
int ac_store_sweep(int store_fd, struct ac_err *err);

bool ac_store_id_is_valid(const char *id); /* letters, digits and '-', shorter than the limit */
void ac_store_join(char name[AC_STORE_NAME_MAX], const char *a, const char *b);
void ac_store_pack_name(char name[AC_STORE_NAME_MAX], const struct ac_pack_id *id);
bool ac_store_pack_id(const char *name, struct ac_pack_id *id); /* the reverse */
int ac_store_random(void *bytes, size_t size, struct ac_err *err);

/* Makes an empty file under a fresh temporary name, open for reading and writing.  Returns the fd. */
int ac_store_temporary(int store_fd, char name[AC_STORE_NAME_MAX], struct ac_err *err);

/* All of it, by as many pwrite(2) as it takes; 0, or -errno (-ENOSPC also where none is written). */
int ac_store_write(int fd, const unsigned char *bytes, size_t length, uint64_t offset);

/* The ids of all backups, newest first: by the second that is in the id, then by the moment that is
 * in the manifest.  *ids is one heap block for free(). */
struct ac_store_id {
	char text[AC_BACKUP_ID_SIZE];
};
int ac_store_ids(int store_fd, struct ac_store_id **ids, unsigned *count, struct ac_err *err);

/* All packs' ids, in no order. */
int ac_store_packs(int store_fd, struct ac_pack_id **ids, unsigned *count, struct ac_err *err);

/*
 * The state of a backup: "live <session> <boot id>" from the moment it is made for a session, then
 * "ended <cause>"; "kept" for one that was made by hand or before a restore.
 */
struct ac_store_state {
	bool live; /* of this boot and not ended */
	bool is_known; /* false: no state file */
	unsigned cause; /* enum ac_cause, when ended */
	char session_id[AC_SESSION_ID_SIZE];
};
int ac_store_state_live(int store_fd, const char *id, const char *session_id, struct ac_err *err);
int ac_store_state_set(int store_fd, const char *id, const char *text, struct ac_err *err);
int ac_store_state_read(
	int store_fd, const char *id, struct ac_store_state *state, struct ac_err *err);

/* Removes manifest and state; missing is success. */
int ac_store_forget(int store_fd, const char *id, struct ac_err *err);

/*
 * Is a session alive that works where a restore would?  covers says of a backup id whether it is
 * one of those paths.  1: yes, its id is in session_id; 0: no.  Asks the listener; where it does not
 * answer, the state files are the truth.
 */
int ac_store_live_session(int store_fd, bool (*covers)(void *context, const char *id),
	void *context, char session_id[AC_SESSION_ID_SIZE], struct ac_err *err);

#endif

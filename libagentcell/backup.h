/* SPDX-License-Identifier: ISC */
/*
 * Backups of declared paths, made and restored with the invoking user's own credentials.
 * Store, manifest and pack formats: agentcell-backup(5), beside this file.
 *
 * Everything here blocks.  The functions marked ROOT fork a child that drops for good to the user;
 * those marked USER run with the caller's own credentials (the agentcell command).
 */
#ifndef AC_BACKUP_H
#define AC_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "policy.h"
#include "resolve.h"

struct ac_opener;

struct ac_backup_totals {
	uint64_t files, directories, others;
	uint64_t bytes; /* logical size of everything */
	uint64_t new_bytes; /* content bytes that had to be stored now */
	uint64_t torn, unreadable;
	uint64_t duration_ms;
};

struct ac_backup_request {
	const char *directory; /* the store of this user, <backup_directory>/<user> */
	const char *backup_id;
	const char *session_id;
	const char *user;
	struct ac_identity identity;
	const struct ac_path_list *paths; /* declared paths, as judged */
	const struct ac_strings *exclude; /* patterns; metadata only */
	bool allow_torn, allow_unreadable;
	/* Called about once a second with what was done so far; may be NULL.  Runs in the caller. */
	void (*progress)(void *context, const struct ac_backup_totals *totals);
	void *progress_context;
	struct ac_opener *opener; /* set for the work of a child (backup_opener.h); else NULL */
	/* Called once while the child is at work, in the caller, who waits; may be NULL. */
	void (*meanwhile)(void *context);
	void *meanwhile_context;
	const char *environment; /* preflight snapshot, one JSON object, stored with the manifest */
};

/* ROOT.  Makes <backup_directory>/<user> (0700, the user's) if needed, then a complete verified
 * backup; on any failure nothing that looks like one is left. */
int ac_backup_make(const struct ac_backup_request *request, struct ac_backup_totals *totals,
	struct ac_err *err);

/* ROOT.  Records how the session of a backup ended, then prunes by the config's limits; never the
 * backup of a live session.  cause: enum ac_cause. */
int ac_backup_finish(const struct ac_backup_request *request, unsigned cause,
	const struct ac_config *config, struct ac_err *err);

/* --- USER: the caller's own store, opened with ac_backup_open --- */

/* Opens <directory>/<user>'s store: it must be the caller's own and closed to others.  The fd. */
int ac_backup_open(const char *directory, struct ac_err *err);

struct ac_backup_info {
	char id[AC_BACKUP_ID_SIZE];
	char session_id[AC_SESSION_ID_SIZE]; /* "" where none */
	bool is_live; /* its session has not ended, as far as the store knows */
	bool is_damaged;
	bool is_kept; /* made by hand or before a restore */
	unsigned cause; /* enum ac_cause of its session */
	int64_t started; /* CLOCK_REALTIME seconds */
	struct ac_backup_totals totals;
	uint64_t own_bytes, shared_bytes; /* in the store; own goes when the backup goes */
	const char *meta; /* the manifest's JSON object; good during the call */
};

/* Calls each for every backup, newest first; stops and returns what it returned when not 0. */
int ac_backup_list(int store_fd, int (*each)(void *context, const struct ac_backup_info *info),
	void *context, struct ac_err *err);

/* The newest backup with a path that covers this one, or (path NULL) the newest at all, or the one
 * that text names: a whole id or its session id.  -ENOENT. */
int ac_backup_find(int store_fd, const char *text, const char *path, char id[AC_BACKUP_ID_SIZE],
	struct ac_err *err);

/* Reads all content back and compares every hash. */
int ac_backup_verify(
	int store_fd, const char *id, struct ac_backup_totals *totals, struct ac_err *err);

int ac_backup_remove(int store_fd, const char *id, struct ac_err *err);

enum ac_change {
	AC_CHANGE_ADDED = 1, /* only in after */
	AC_CHANGE_REMOVED = 2, /* only in before */
	AC_CHANGE_TYPE = 4,
	AC_CHANGE_CONTENT = 8, /* bytes, symlink target, device number */
	AC_CHANGE_MODE = 16,
	AC_CHANGE_OWNER = 32,
	AC_CHANGE_MTIME = 64,
	AC_CHANGE_XATTR = 128, /* extended attributes, ACLs among them */
	AC_CHANGE_LINK = 256, /* which names are one file */
	AC_CHANGE_UNKNOWN = 512 /* with CONTENT: no content is stored, but metadata says so */
};

/* One thing that differs.  Strings are good during the call; bytes as they are, not escaped. */
struct ac_backup_change {
	unsigned change; /* enum ac_change */
	const char *path; /* absolute */
	char old_type, new_type; /* 'f' 'd' 'l' 'p' 's' 'c' 'b', or '-' */
	uint64_t old_size, new_size;
	uint32_t old_mode, new_mode;
	const char *old_target, *new_target; /* of symlinks, else NULL */
};

struct ac_backup_compare {
	int store_fd;
	const char *id; /* the backup */
	const char *other_id; /* another one, or NULL: the tree as it is now */
	const char *const *paths; /* canonical; only what they cover */
	unsigned path_count; /* 0: everything */
	struct ac_opener *opener; /* of the request, in a child's work; else NULL */
	int patch_fd; /* -1, or where `diff -u` of changed text goes */
	int (*each)(void *context, const struct ac_backup_change *change);
	void *context;
};

int ac_backup_diff(const struct ac_backup_compare *compare, struct ac_err *err);

struct ac_restore_request {
	int store_fd;
	const char *id;
	const char *const *paths; /* as above */
	unsigned path_count;
	bool is_dry; /* only call each */
	bool is_forced; /* although a session seems to be alive there */
	const char *user; /* for the manifest of the backup that is made first */
	int (*each)(void *context, const struct ac_backup_change *change); /* may be NULL */
	void *context;
};

struct ac_restore_outcome {
	char undo_id[AC_BACKUP_ID_SIZE]; /* the backup of what was there before; "" when dry */
	uint64_t written, removed, repaired, linked;
	bool is_synced; /* on disk; a whole tree is left to the kernel's write-back */
	uint64_t not_restored; /* owners, devices, attributes that only root can give */
	char not_restored_names[512]; /* the first few, escaped */
};

/*
 * Puts what differs back as it was.  -EBUSY while a session is alive there; -EAGAIN when something
 * changed under its hands (nothing is lost: run it again).
 */
int ac_backup_restore(const struct ac_restore_request *request, struct ac_restore_outcome *outcome,
	struct ac_err *err);

#endif

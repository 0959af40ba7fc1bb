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

#endif

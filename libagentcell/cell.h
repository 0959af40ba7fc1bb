/* SPDX-License-Identifier: ISC */
/*
 * The cell file: what the launcher must find true, and confine itself to, before it becomes the
 * harness.  Written by the PAM module into the view (AC_CELL_FILE: root's, 0444, on the view's root
 * file system), read by the launcher with the session's own rights, so it holds no secret.
 *
 * One JSON object with exactly these members; strings escaped as escape.h says, paths canonical:
 *
 *   session_id, os_user, cwd, home, command    strings
 *   uid, gid                                   numbers
 *   groups                                     numbers: supplementary groups, the gid aside
 *   write_paths, read_paths, excluded_paths    strings; read_paths holds the tool paths too
 *   nested_sandbox                             boolean
 *   open_files, processes, file_bytes          numbers; 0: not limited
 */
#ifndef AC_CELL_H
#define AC_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "names.h"
#include "policy.h"

#define AC_CELL_PATHS_MAX (2 * AC_PATHS_MAX)
#define AC_CELL_SIZE_MAX (2u << 20)

struct ac_cell_paths {
	unsigned count;
	char path[AC_CELL_PATHS_MAX][AC_PATH_MAX];
};

struct ac_cell { /* large: on the heap */
	char session_id[AC_SESSION_ID_SIZE];
	char os_user[AC_NAME_MAX];
	uid_t uid;
	gid_t gid;
	unsigned group_count;
	gid_t groups[AC_GROUPS_MAX];
	char cwd[AC_PATH_MAX];
	char home[AC_PATH_MAX];
	char command[AC_PATH_MAX];
	struct ac_cell_paths write_paths, read_paths, excluded_paths;
	bool nested_sandbox;
	uint64_t open_files, processes, file_bytes;
};

/* Writes the text, NUL-terminated; returns its length, or -errno (-EMSGSIZE: size is too small,
 * AC_CELL_SIZE_MAX never is). */
int ac_cell_format(
	const struct ac_session_policy *session, char *buffer, size_t size, struct ac_err *err);

/* Reads from an open file to its end; refuses anything unknown, missing or out of range.  Who owns
 * the file is the caller's question. */
int ac_cell_read(int fd, struct ac_cell *cell, struct ac_err *err);

#endif

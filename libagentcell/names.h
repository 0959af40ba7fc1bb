/* SPDX-License-Identifier: ISC */
/*
 * Fixed names and limits of the suite: one place for what the parts must agree on.
 * Directories that packagers may move come from the Makefile (-DAC_SYSCONFDIR=...).
 */
#ifndef AC_NAMES_H
#define AC_NAMES_H

#ifndef AC_SYSCONFDIR
#define AC_SYSCONFDIR "/etc"
#endif
#ifndef AC_LIBEXECDIR
#define AC_LIBEXECDIR "/usr/libexec"
#endif

#define AC_VERSION "0.1.0"

#define AC_CONFIG_FILE AC_SYSCONFDIR "/agentcell/agentcell.conf"
#define AC_HARNESS_DIRECTORY AC_SYSCONFDIR "/agentcell/harness.d"
#define AC_SILENT_FILE AC_SYSCONFDIR "/agentcell/silent.conf"
#define AC_RULES_FILE AC_SYSCONFDIR "/audit/rules.d/40-agentcell.rules"
#define AC_LAUNCHER AC_LIBEXECDIR "/agentcell/agentcell-launch"
#define AC_PAM_SERVICE "agentcell"

/* All of /run/agentcell is root's: the directory 0755, sessions/ and uids/ 0700, socket 0666. */
#define AC_RUN_DIRECTORY "/run/agentcell"
#define AC_SESSIONS_DIRECTORY AC_RUN_DIRECTORY "/sessions"
#define AC_UIDS_DIRECTORY AC_RUN_DIRECTORY "/uids"
#define AC_VIEW_DIRECTORY AC_RUN_DIRECTORY "/view" /* mount point while a view is built */
#define AC_SOCKET AC_RUN_DIRECTORY "/agentcelld.sock"
#define AC_USERDB_DIRECTORY "/run/userdb"

/* What a profile keeps from one session to the next, in one directory for each user (0700, hers). */
#define AC_KEPT_DIRECTORY "/var/lib/agentcell/kept"

/* Whose access by ACL is still to be taken back (access_note.h): 0700, made by the first that has any. */
#define AC_STATE_DIRECTORY "/var/lib/agentcell"
#define AC_ACL_DIRECTORY AC_STATE_DIRECTORY "/acl"

/* Inside a session directory. */
#define AC_POLICY_NAME "policy.json"
#define AC_JOURNAL_NAME "journal"

/* Inside the view: a root-owned 0444 file that tells the launcher what to prove and confine. */
#define AC_CELL_FILE "/.agentcell"
/* Inside the view: variables that are in no log, the session's own, 0400.  The plugin hands them to the
 * PAM module in the PAM environment, with the prefix. */
#define AC_PRIVATE_FILE "/.agentcell.environment"
#define AC_PRIVATE_PREFIX "AGENTCELL_PRIVATE_"
#define AC_PRIVATE_MAX 262144 /* bytes */

#define AC_PATH_MAX 4096 /* bytes, NUL included (Linux PATH_MAX) */
#define AC_PATHS_MAX 32 /* entries of one list of paths */
#define AC_NAME_MAX 64 /* user, harness and account names, NUL included */
#define AC_SESSION_ID_SIZE 13 /* 12 hex digits and NUL */
#define AC_BACKUP_ID_SIZE 32 /* 20261130T044712Z-<session id> and NUL */
#define AC_ENDPOINTS_MAX 64
#define AC_HOST_MAX 256 /* RFC 1035 name, NUL included */
#define AC_PROXY_MAX 272 /* host and port as in a URL, NUL included */
#define AC_ENV_NAMES_MAX 128
#define AC_GROUPS_MAX 32
#define AC_PLACEMENTS_MAX 16 /* files that a profile puts into the view */

#endif

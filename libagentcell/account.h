/* SPDX-License-Identifier: ISC */
/*
 * The session's uid: leased, used, proved free.  /etc/passwd is never touched.
 *
 * A lease is a file /run/agentcell/uids/<uid> that holds the session id; it appears whole and only
 * where there was none.  A uid is free when no lease names it (or only one whose session directory
 * is gone), no process on the machine has it (real, effective, saved or fs), and no access by ACL is left
 * to be taken back from it (access_note.h).
 */
#ifndef AC_ACCOUNT_H
#define AC_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "names.h"

/* Leases the first free uid of the range, starting behind the one that was leased last (so that
 * numbers are reused as late as possible).  -EAGAIN when the range is used up. */
int ac_account_lease(
	const char *session_id, uid_t first, uid_t last, uid_t *uid, struct ac_err *err);

/* Makes the name visible where nss-systemd serves /run/userdb: drop-ins for user and group.
 * Without nss-systemd (no 'systemd' in nsswitch.conf) it does nothing and succeeds. */
int ac_account_publish(const char *os_user, uid_t uid, gid_t gid, struct ac_err *err);
int ac_account_withdraw(const char *os_user, uid_t uid, gid_t gid, struct ac_err *err);

/* A lease names the session of a uid: with one, somebody is at work on it. */
bool ac_account_is_leased(uid_t uid);

/* Gives the lease back; refuses (-EBUSY) while a process has the uid.  Missing is success. */
int ac_account_release(const char *session_id, uid_t uid, struct ac_err *err);

/* Gives back every lease of a session whose policy (and so whose uid) nobody can tell any more. */
int ac_account_release_session(const char *session_id, struct ac_err *err);

/* Number of processes with the uid (scan of /proc, zombies not counted), or -errno. */
int ac_account_processes(uid_t uid);

/* The same by one system call when there is none whose real uid it is.  Complete for what a session
 * has started: without privileges and with no_new_privs all four uids are one.  A stranger that has the
 * uid only as effective, saved or fs uid is met by ac_account_processes() alone, before each use. */
int ac_account_own_processes(uid_t uid);

/* Removes System V IPC objects, POSIX message queues and shared memory of the uid on the host
 * (the cell has its own IPC namespace and /dev/shm; this is the belt). */
int ac_account_remove_ipc(uid_t uid, struct ac_err *err);

#endif

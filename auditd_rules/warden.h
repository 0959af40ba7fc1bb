/* SPDX-License-Identifier: ISC */
/*
 * The warden: a second process, forked before anything else, that outlives a listener that is
 * killed, stopped or stuck.
 *
 * It holds the other end of a socket pair and a page of shared memory with the pulse of both
 * threads.  When the listener's end closes, or the hot thread has no pulse for AC_WARDEN_BLIND_MS, or
 * the guardian for AC_WARDEN_STUCK_MS, it kills every cell there is: nothing runs unwatched.
 * It also plays the canary: one refused open and one Landlock denial under a session's uid.
 */
#ifndef AC_WARDEN_H
#define AC_WARDEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define AC_WARDEN_BLIND_MS 3000
#define AC_WARDEN_STUCK_MS 60000 /* the guardian may wait for disks and firewalls */

struct ac_pulse { /* shared memory */
	_Atomic uint64_t watch; /* rounds of the hot threads */
	_Atomic uint64_t guardian; /* rounds of the guardian */
	_Atomic uint64_t killed; /* times that the warden had to kill */
};

struct ac_warden {
	pid_t pid;
	int pidfd; /* readable: the warden is dead */
	int fd; /* our end; its closing is our death */
	struct ac_pulse *pulse;
};

/* Forks; call before any thread exists. */
int ac_warden_start(struct ac_warden *warden, struct ac_err *err);

/* Lets one be refused under that uid.  *landlock: whether this kernel reports Landlock denials. */
int ac_warden_canary(
	struct ac_warden *warden, uid_t uid, gid_t gid, bool *landlock, struct ac_err *err);

/* Sends an audit record in the name of that login (the kernel tells who sends, and only a process of
 * its own can be somebody else); nobody waits for it.  -errno: not even asked. */
int ac_warden_record(
	struct ac_warden *warden, uid_t loginuid, int type, const char *text, bool success);

/* An orderly end: nothing is killed. */
void ac_warden_stop(struct ac_warden *warden);

#endif

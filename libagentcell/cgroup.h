/* SPDX-License-Identifier: ISC */
/*
 * The session's cgroup (version 2): <root>/agentcell/<session_id>.  Found on pure v2 hosts
 * (/sys/fs/cgroup), hybrid ones (/sys/fs/cgroup/unified) and below a delegated systemd unit
 * (the listener's own cgroup is the parent when it is a delegated one: named agentcelld.service).
 */
#ifndef AC_CGROUP_H
#define AC_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "policy.h"

/* Makes the cgroup (or takes an empty one that a first try left) and sets the limits that the host's
 * controllers offer.  Returns its O_DIRECTORY fd.  *limited (may be NULL): whether pids and memory limits are in force (else rlimits only). */
int ac_cgroup_make(
	const char *session_id, const struct ac_limits *limits, bool *limited, struct ac_err *err);

/* For the listener, before it forks: leaves the delegated unit's own cgroup for one below it, so that
 * limits can be set on the sessions beside it.  Nothing, where no unit has started it. */
int ac_cgroup_make_room(struct ac_err *err);

int ac_cgroup_open(const char *session_id, struct ac_err *err); /* fd, or -ENOENT */
int ac_cgroup_path(const char *session_id, char path[AC_PATH_MAX], struct ac_err *err);
int ac_cgroup_enter(int cgroup_fd, pid_t pid, struct ac_err *err);
int ac_cgroup_freeze(int cgroup_fd, bool frozen, struct ac_err *err);
int ac_cgroup_has(int cgroup_fd, pid_t pid); /* 1, 0 or -errno */

/* Kills everything in it (cgroup.kill, Linux 5.14) and waits until it is empty; -ETIMEDOUT. */
int ac_cgroup_kill(int cgroup_fd, int timeout_ms, struct ac_err *err);
int ac_cgroup_is_populated(int cgroup_fd); /* 1, 0 or -errno */

#define AC_CGROUP_LEVELS_MAX 7
/* At which levels below the root a session's cgroup may lie, as nft's `socket cgroupv2 level` counts them;
 * ended by 0.  In a cgroup namespace (a container) some kernels count from the host's root, which is not
 * to be seen from there (nft_socket.c of Linux before 6.11): then at any. */
void ac_cgroup_levels(int levels[AC_CGROUP_LEVELS_MAX + 1]);

/* Removes it; -EBUSY while populated; missing is success. */
int ac_cgroup_remove(const char *session_id, struct ac_err *err);

#endif

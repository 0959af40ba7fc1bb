/* SPDX-License-Identifier: ISC */
/*
 * Looks names up in a child process: a resolver may block for half a minute, and reads what strangers
 * sent.  The child stands where the session's sudo was started (network and mount namespace: `ip netns
 * exec` has a resolv.conf of its own), is nobody, has no capability and few resources, and is killed
 * when its time is up.  Its answers are data: whoever takes them judges them.
 */
#ifndef AC_RESOLVER_H
#define AC_RESOLVER_H

#include "guardian.h"
#include "lookup.h"

#define AC_RESOLVER_LIMIT_MS 30000
#define AC_RESOLVERS_MAX 8 /* at a time, for all sessions */

struct ac_resolver {
	struct ac_source source; /* readable: an answer, or the end of them */
	pid_t pid; /* 0: none */
	uint64_t deadline_ms;
};

/* Starts it for these names.  -EAGAIN: too many are at work.  Answers come in their order. */
int ac_resolver_start(struct ac_guardian *guardian, struct ac_resolver *resolver, int network_fd,
	int mounts_fd, const char *const hosts[], unsigned count,
	void (*ready)(struct ac_guardian *, struct ac_source *), struct ac_err *err);

/* 1: one answer; 0: none yet; -1: there are no more. */
int ac_resolver_take(struct ac_resolver *resolver, struct ac_lookup *lookup);

/* Kills it if it is still there.  Idempotent. */
void ac_resolver_stop(struct ac_guardian *guardian, struct ac_resolver *resolver);

#endif

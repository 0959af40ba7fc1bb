/* SPDX-License-Identifier: ISC */
/* Network namespaces: a session has the one in which sudo was started. */
#ifndef AC_NETNS_H
#define AC_NETNS_H

#include <stdint.h>

#include "err.h"

/* Runs function in the namespace (-1: where the caller is) and comes back; the calling thread alone moves. */
int ac_netns_run(int fd, int (*function)(void *context), void *context, struct ac_err *err);

/* The namespace with this inode: looked for at the caller's own, at every process and at every mount (`ip
 * netns`).  A descriptor; -ENOENT: nobody is in it and nothing names it. */
int ac_netns_find(uint64_t inode, struct ac_err *err);

#endif

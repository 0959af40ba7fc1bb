/* SPDX-License-Identifier: ISC */
/*
 * The host's mount and IPC namespaces and the caller's working directory there, for a process that goes
 * into a session's view for a while: the plugin and the PAM module, both in sudo's own process.
 */
#ifndef AC_HOST_H
#define AC_HOST_H

#include "err.h"

struct ac_host {
	int mount_fd, ipc_fd, directory_fd; /* -1: not remembered */
};

#define AC_HOST_NONE \
	{ \
		-1, -1, -1 \
	}

/* Remembers where the caller is now.  0, or -errno. */
int ac_host_remember(struct ac_host *host, struct ac_err *err);

/* Back there; needs CAP_SYS_ADMIN.  Aborts when it cannot: root must not use NSS, PAM or files in a root
 * that the agent shapes, and the listener ends the session of a sudo that died. */
void ac_host_return(const struct ac_host *host);

void ac_host_forget(struct ac_host *host);

#endif

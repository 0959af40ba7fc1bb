/* SPDX-License-Identifier: ISC */
/*
 * The hosts file of a session: what stands for a resolver in its cell.
 *
 * It is a file of the session's directory, which the view shows at /etc/hosts, read-only; so the
 * listener can change it while the session runs, and reads from it which names stand behind the
 * addresses that the firewall was given.  It is changed in place: lines are added at its end, or
 * switched off and on by their first byte, and none lies across two pages, so that a reader never sees
 * half a line.
 */
#ifndef AC_HOSTS_H
#define AC_HOSTS_H

#include "err.h"
#include "firewall.h"
#include "policy.h"

#define AC_HOSTS_NAME "hosts"
#define AC_HOSTS_MAX 262144 /* bytes; room for some 6000 addresses that come and go */

/* Writes it anew: before there is a view. */
int ac_hosts_make(int session_fd, const struct ac_policy *policy,
	const struct ac_addresses *addresses, struct ac_err *err);

/* What the policy declares by number, and what its names lead to by the file. */
int ac_hosts_read(int session_fd, const struct ac_policy *policy, struct ac_addresses *addresses,
	struct ac_err *err);

/* Adds what is new; with sweep, switches off what is no current address of the policy's names.  Sweep a
 * moment later: somebody may be in the middle of the file, behind a line that was switched on. */
int ac_hosts_update(int session_fd, const struct ac_policy *policy,
	const struct ac_addresses *addresses, bool sweep, struct ac_err *err);

#endif

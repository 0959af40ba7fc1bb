/* SPDX-License-Identifier: ISC */
/*
 * Egress: one static nft table `inet agentcell` with concatenated sets (uid . address . port) in
 * the network namespace of the caller.  A uid of the range without elements reaches nothing.
 * Denied packets are marked with the uid and logged to the kernel audit stream (NETFILTER_PKT), then
 * refused: TCP by a reset.  Works through libnftables, in process, no program is run.
 */
#ifndef AC_FIREWALL_H
#define AC_FIREWALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "err.h"
#include "policy.h"

#define AC_ADDRESSES_MAX 256

struct ac_address {
	unsigned char bytes[16]; /* network order; 4 used for AF_INET */
	uint8_t family; /* AF_INET or AF_INET6 */
	uint8_t prefix;
	uint16_t port;
	char host[AC_HOST_MAX]; /* the name it came from, "" for a plain address */
};

struct ac_addresses {
	unsigned count;
	struct ac_address address[AC_ADDRESSES_MAX];
};

/* Loads the table if it is not there (or differs in version); idempotent. */
int ac_firewall_load(uid_t first, uid_t last, struct ac_err *err);
int ac_firewall_is_loaded(void); /* 1, 0 or -errno */
int ac_firewall_unload(struct ac_err *err);

/* Resolves the policy's endpoints (getaddrinfo: blocks, uses NSS; never call inside a view). */
int ac_firewall_resolve(
	const struct ac_policy *policy, struct ac_addresses *addresses, struct ac_err *err);

/* Adds all elements of one session in one transaction, then reads back and compares. */
int ac_firewall_add(uid_t uid, const struct ac_addresses *addresses, struct ac_err *err);

/* Removes every element of the uid; none is success.  -EBUSY when some are still seen after. */
int ac_firewall_remove(uid_t uid, struct ac_err *err);
int ac_firewall_count(uid_t uid); /* elements of the uid, or -errno */

#endif

/* SPDX-License-Identifier: ISC */
/*
 * Egress: one static nft table `inet agentcell` with concatenated sets (uid . address . port) in
 * the network namespace of the caller.  A uid of the range without elements reaches nothing.
 * Denied packets are marked with the uid and logged to the kernel audit stream (NETFILTER_PKT, at
 * most 20 at once and 10 a second for one destination), then refused: TCP by a reset.
 *
 * The table is loaded through libnftables, in process; elements go over netlink (nftables.h).
 * Loopback reaches only sockets that were made in the session's own cgroup.  Its listeners are reached by
 * the session itself and, with dev_server, by the user who asked for it: over TCP, on loopback, and by
 * nobody else; from outside the host by nobody at all.
 *
 * A second table, agentcell-guard, belongs to whoever opens it (the listener) and lets packets of the uid
 * range pass only when the first has.  Nobody else can remove it, `nft flush ruleset` passes it over, and
 * it goes with its owner: so nothing gets out while the first table is gone.
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

enum ac_address_state { /* names change their addresses while a session runs */
	AC_ADDRESS_CURRENT,
	AC_ADDRESS_LEFT, /* its name has left it: open for those who still use it, in no hosts file */
	AC_ADDRESS_CLOSED /* not open any more; remembered for the judge */
};

struct ac_address {
	unsigned char bytes[16]; /* network order; 4 used for AF_INET */
	uint8_t family; /* AF_INET or AF_INET6 */
	uint8_t prefix;
	uint16_t port;
	uint8_t state; /* enum ac_address_state */
	uint64_t since_ms; /* when that began; 0: with the session */
	char host[AC_HOST_MAX]; /* the name it came from, "" for a plain address */
};

struct ac_addresses {
	char session_id[AC_SESSION_ID_SIZE]; /* "": no loopback within the session */
	bool dev_server; /* visitor may reach the session's servers on loopback */
	uid_t visitor; /* the user who asked for the session */
	char site_host
		[AC_HOST_MAX]; /* the egress proxy's; its name may lead into the site's network */
	unsigned unresolved; /* names that do not exist: nothing is opened for them */
	char unresolved_host[AC_HOST_MAX]; /* the first of them, for the terms */
	unsigned count;
	struct ac_address address[AC_ADDRESSES_MAX];
};

/* Loads the table if it is not there, is another version or lost a rule; idempotent.  What replaces
 * a table drops its elements: sessions that ran on it must not go on. */
int ac_firewall_load(uid_t first, uid_t last, struct ac_err *err);
int ac_firewall_is_loaded(void); /* 1, 0 or -errno; counts the rules in the kernel */
int ac_firewall_unload(struct ac_err *err);

/* 1: a session may use loopback within itself; 0: this kernel or nft cannot tell whose socket it
 * is (socket cgroupv2, Linux 5.13), all loopback is denied but declared endpoints; or -errno. */
int ac_firewall_has_loopback(void);

/*
 * Resolves the policy's endpoints (getaddrinfo: blocks, uses NSS; never call inside a view), from
 * ac_addresses_begin() on.  A name that does not exist is counted in unresolved; a resolver that
 * fails is an error.  A name that leads to a private, link-local, loopback or multicast address (cloud
 * metadata is among them) opens it only when an endpoint declares that address by number.
 */
int ac_firewall_resolve(
	const struct ac_policy *policy, struct ac_addresses *addresses, struct ac_err *err);

/* Makes the uid's elements exactly these, closed ones aside (what is new first, in one transaction),
 * then reads back and compares.  The session's cgroup must exist where session_id is given. */
int ac_firewall_add(uid_t uid, const struct ac_addresses *addresses, struct ac_err *err);

/* Appends the addresses that the kernel holds for the uid and that *addresses does not cover yet (their
 * host is ""): what a name led to when the session started may not be what it leads to now. */
int ac_firewall_read(uid_t uid, struct ac_addresses *addresses, struct ac_err *err);

/* Removes every element of the uid; none is success.  -EBUSY when some are still seen after.
 * link (NULL: not wanted) gets the socket that did it, in place of -1: to close it takes the kernel 10 ms
 * and more after a removal, so a caller who hurries does that later. */
int ac_firewall_remove(uid_t uid, int *link, struct ac_err *err);

/*
 * Is the uid still held to what was declared: table whole, the session's own elements there, and no address
 * open that *addresses does not cover?  0, or -errno with the reason.
 */
int ac_firewall_check(uid_t uid, const struct ac_addresses *addresses, struct ac_err *err);

struct ac_flow { /* what passed through one element */
	struct ac_address address; /* without a host */
	uint64_t packets, bytes;
};

struct ac_flows {
	uint64_t refused; /* packets */
	unsigned count;
	struct ac_flow flow[AC_ADDRESSES_MAX];
};

/* What the uid's elements have counted. */
int ac_firewall_flows(uid_t uid, struct ac_flows *flows, struct ac_err *err);

struct ac_guard;

/* The guard of the caller's network namespace; -EPROTO where the kernel has no owned tables (Linux
 * 5.12).  Needs the process for as long as it is to stand. */
int ac_guard_open(uid_t first, uid_t last, struct ac_guard **guard, struct ac_err *err);
void ac_guard_close(struct ac_guard *guard); /* NULL is fine */

/* Everything the kernel holds for the uid, the mark of its own cgroup included; or -errno. */
int ac_firewall_count(uid_t uid);

/*
 * Pure from here on (addresses.c).  An egress proxy is the admin's word and stands within the site as a
 * rule: its name may lead to private addresses, though not to link-local ones and the like.
 */

/* Is this an address that a name may not lead to unless declared by number?  NULL, or why. */
const char *ac_address_refused(const struct ac_address *address);

/* Does outer (address, prefix, port) cover inner? */
bool ac_address_covers(const struct ac_address *outer, const struct ac_address *inner);

/* Writes it for people: "192.0.2.1", "2001:db8::/32". */
#define AC_ADDRESS_TEXT_MAX 64
void ac_address_format(const struct ac_address *address, char text[AC_ADDRESS_TEXT_MAX]);

/* Empties *addresses and takes over what the policy says of loopback and declares by number. */
int ac_addresses_begin(
	const struct ac_policy *policy, struct ac_addresses *addresses, struct ac_err *err);

/* The number'th answer of a look-up (fewer than its count), as this endpoint's address. */
struct ac_lookup;
struct ac_address ac_address_of(
	const struct ac_lookup *lookup, unsigned number, const struct ac_endpoint *endpoint);

/* Appends; what is there already is success.  -E2BIG: full. */
int ac_addresses_add(
	struct ac_addresses *addresses, const struct ac_address *address, struct ac_err *err);

/* May a name of this policy lead there?  NULL, or why not; *addresses holds what is declared by number. */
const char *ac_addresses_refuse(
	const struct ac_addresses *addresses, const struct ac_address *address);

#endif

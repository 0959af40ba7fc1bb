/* SPDX-License-Identifier: ISC */
/*
 * A name's addresses, as the host's own resolver has them (NSS: /etc/hosts, DNS, mDNS ...), and how
 * long DNS says that they last.
 */
#ifndef AC_LOOKUP_H
#define AC_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "names.h"

#define AC_LOOKUP_ADDRESSES_MAX 64
#define AC_LOOKUP_REASON_MAX 80

struct ac_lookup { /* no pointers: it goes over a socket */
	char host[AC_HOST_MAX];
	int32_t code; /* 0, -ENOENT: no such name, -EHOSTUNREACH: the resolver failed */
	char reason[AC_LOOKUP_REASON_MAX]; /* of a failure, the resolver's words */
	uint32_t ttl_s; /* 0: not known */
	uint32_t count;
	struct {
		uint8_t family; /* AF_INET or AF_INET6 */
		unsigned char bytes[16];
	} address[AC_LOOKUP_ADDRESSES_MAX];
};

/* Blocks as long as the host's resolver does.  More addresses than fit are left out. */
void ac_lookup(const char *host, struct ac_lookup *lookup);

/* Asks the DNS servers of /etc/resolv.conf once more, for the TTL alone; 0: DNS does not know the name.
 * Blocks for a few seconds at most. */
uint32_t ac_lookup_ttl(const char *host);

/* Pure: the least TTL of a DNS message's A, AAAA and CNAME answers, at least 1; 0: it has none. */
uint32_t ac_lookup_least_ttl(const unsigned char *message, size_t length);

#endif

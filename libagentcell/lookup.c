// SPDX-License-Identifier: ISC
/* getaddrinfo, without its lists. */
#include "lookup.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static void take(const struct addrinfo *info, struct ac_lookup *lookup)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	unsigned char *bytes = lookup->address[lookup->count].bytes;

	if (info->ai_family == AF_INET) {
		memcpy(&in, info->ai_addr, sizeof(in));
		memcpy(bytes, &in.sin_addr, sizeof(in.sin_addr));
	} else if (info->ai_family == AF_INET6) {
		memcpy(&in6, info->ai_addr, sizeof(in6));
		memcpy(bytes, &in6.sin6_addr, sizeof(in6.sin6_addr));
	} else {
		return;
	}
	lookup->address[lookup->count++].family = (uint8_t)info->ai_family;
}

void ac_lookup(const char *host, struct ac_lookup *lookup)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int code;

	memset(lookup, 0, sizeof(*lookup));
	snprintf(lookup->host, sizeof(lookup->host), "%s", host);
	code = getaddrinfo(host, NULL, &hints, &list);
	if (code) {
		lookup->code = code == EAI_NONAME || code == EAI_NODATA ? -ENOENT : -EHOSTUNREACH;
		snprintf(lookup->reason, sizeof(lookup->reason), "%s", gai_strerror(code));
		return;
	}
	for (const struct addrinfo *info = list; info && lookup->count < AC_LOOKUP_ADDRESSES_MAX;
		info = info->ai_next)
		take(info, lookup);
	freeaddrinfo(list);
}

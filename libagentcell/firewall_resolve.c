// SPDX-License-Identifier: ISC
/*
 * From endpoints to addresses.  What a name leads to is up to whoever runs its DNS zone, so a name
 * never opens a place that only an admin should open: see ac_address_refused().
 */
#include "firewall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "util.h"

struct special {
	uint8_t family, prefix;
	unsigned char bytes[16];
	const char *what;
};

/* IANA special-purpose registries, and the metadata services of clouds outside them. */
static const struct special specials[] = {
	{ AF_INET, 8, { 0 }, "this network" },
	{ AF_INET, 8, { 10 }, "private (RFC 1918)" },
	{ AF_INET, 10, { 100, 64 }, "carrier-grade NAT" },
	{ AF_INET, 8, { 127 }, "loopback" },
	{ AF_INET, 16, { 169, 254 }, "link-local, cloud metadata" },
	{ AF_INET, 12, { 172, 16 }, "private (RFC 1918)" },
	{ AF_INET, 24, { 192, 0, 0 }, "protocol assignments, cloud metadata" },
	{ AF_INET, 16, { 192, 168 }, "private (RFC 1918)" },
	{ AF_INET, 15, { 198, 18 }, "benchmarking" },
	{ AF_INET, 32, { 168, 63, 129, 16 }, "cloud metadata" },
	{ AF_INET, 4, { 224 }, "multicast" },
	{ AF_INET, 4, { 240 }, "reserved" },
	{ AF_INET6, 96, { 0 }, "unspecified, loopback or IPv4-compatible" },
	{ AF_INET6, 96, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, "IPv4-mapped" },
	{ AF_INET6, 96, { 0, 0x64, 0xff, 0x9b }, "IPv4 behind NAT64" },
	{ AF_INET6, 48, { 0, 0x64, 0xff, 0x9b, 0, 1 }, "IPv4 behind local NAT64" },
	{ AF_INET6, 32, { 0x20, 0x01 }, "Teredo" },
	{ AF_INET6, 16, { 0x20, 0x02 }, "6to4" },
	{ AF_INET6, 7, { 0xfc }, "unique local, cloud metadata" },
	{ AF_INET6, 10, { 0xfe, 0x80 }, "link-local" },
	{ AF_INET6, 10, { 0xfe, 0xc0 }, "site-local" },
	{ AF_INET6, 8, { 0xff }, "multicast" },
};

static bool same_prefix(const unsigned char a[], const unsigned char b[], unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	unsigned char mask = (unsigned char)(0xff00 >> rest);

	return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) & mask));
}

const char *ac_address_refused(const struct ac_address *address)
{
	for (unsigned i = 0; i < AC_COUNT(specials); i++)
		if (specials[i].family == address->family &&
			same_prefix(specials[i].bytes, address->bytes, specials[i].prefix))
			return specials[i].what;
	return NULL;
}

bool ac_address_covers(const struct ac_address *outer, const struct ac_address *inner)
{
	return outer->family == inner->family && outer->port == inner->port &&
	       outer->prefix <= inner->prefix &&
	       same_prefix(outer->bytes, inner->bytes, outer->prefix);
}

static int append(
	struct ac_addresses *addresses, const struct ac_address *address, struct ac_err *err)
{
	for (unsigned i = 0; i < addresses->count; i++) {
		const struct ac_address *known = &addresses->address[i];

		if (ac_address_covers(known, address) && known->prefix == address->prefix &&
			!strcmp(known->host, address->host))
			return 0;
	}
	if (addresses->count == AC_ADDRESSES_MAX)
		return ac_fail(err, E2BIG,
			"the endpoints have more than %d addresses: declare fewer",
			AC_ADDRESSES_MAX);
	addresses->address[addresses->count++] = *address;
	return 0;
}

static int take_number(
	const struct ac_endpoint *endpoint, struct ac_addresses *addresses, struct ac_err *err)
{
	struct ac_address address = {
		.family = endpoint->family, .prefix = endpoint->prefix, .port = endpoint->port
	};
	unsigned bits = endpoint->family == AF_INET ? 32 : 128;

	if (endpoint->prefix > bits ||
		inet_pton(endpoint->family, endpoint->host, address.bytes) != 1)
		return ac_fail(err, EINVAL, "endpoint %s: no address", endpoint->host);
	return append(addresses, &address, err);
}

/* Was this address declared by number too? */
static bool is_declared(const struct ac_addresses *addresses, const struct ac_address *address)
{
	for (unsigned i = 0; i < addresses->count; i++)
		if (!addresses->address[i].host[0] &&
			ac_address_covers(&addresses->address[i], address))
			return true;
	return false;
}

static struct ac_address from_info(const struct addrinfo *info, const struct ac_endpoint *endpoint)
{
	struct ac_address address = { .port = endpoint->port };

	memcpy(address.host, endpoint->host, sizeof(address.host));
	if (info->ai_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, info->ai_addr, sizeof(in));
		address.family = AF_INET;
		address.prefix = 32;
		memcpy(address.bytes, &in.sin_addr, 4);
	} else if (info->ai_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, info->ai_addr, sizeof(in6));
		address.family = AF_INET6;
		address.prefix = 128;
		memcpy(address.bytes, &in6.sin6_addr, 16);
	}
	return address;
}

static int take_answers(const struct ac_endpoint *endpoint, const struct addrinfo *list,
	struct ac_addresses *addresses, struct ac_err *err)
{
	const char *refused = NULL;
	unsigned taken = 0;

	for (const struct addrinfo *info = list; info; info = info->ai_next) {
		struct ac_address address = from_info(info, endpoint);
		const char *why = address.family ? ac_address_refused(&address) : NULL;
		int code;

		if (!address.family)
			continue;
		if (why && !is_declared(addresses, &address)) {
			refused = why;
			continue;
		}
		code = append(addresses, &address, err);
		if (code)
			return code;
		taken++;
	}
	if (!taken && refused)
		return ac_fail(err, EPERM,
			"endpoint %s leads to an address that is %s: if that is "
			"meant, declare the address (or its network) with port %u in [firewall] "
			"endpoints too",
			endpoint->host, refused, endpoint->port);
	return 0;
}

static int take_name(
	const struct ac_endpoint *endpoint, struct ac_addresses *addresses, struct ac_err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int code = getaddrinfo(endpoint->host, NULL, &hints, &list);

	if (code == EAI_NONAME || code == EAI_NODATA) {
		if (!addresses->unresolved++)
			memcpy(addresses->unresolved_host, endpoint->host,
				sizeof(addresses->unresolved_host));
		return 0;
	}
	if (code)
		return ac_fail(err, EHOSTUNREACH,
			"resolve endpoint %s: %s (check the host's resolver, "
			"or take the name off the endpoints)",
			endpoint->host, gai_strerror(code));
	code = take_answers(endpoint, list, addresses, err);
	freeaddrinfo(list);
	return code;
}

int ac_firewall_resolve(
	const struct ac_policy *policy, struct ac_addresses *addresses, struct ac_err *err)
{
	struct ac_addresses *found = calloc(1, sizeof(*found));
	int code = 0;

	if (!found)
		return ac_fail(err, ENOMEM, "resolve the endpoints");
	memcpy(found->session_id, policy->session_id, sizeof(found->session_id));
	found->dev_server = policy->dev_server;
	found->visitor = policy->visitor;
	/* Numbers first: they say which addresses a name may lead to. */
	for (unsigned i = 0; i < policy->endpoint_count && !code; i++)
		if (policy->endpoints[i].family)
			code = take_number(&policy->endpoints[i], found, err);
	for (unsigned i = 0; i < policy->endpoint_count && !code; i++)
		if (!policy->endpoints[i].family)
			code = take_name(&policy->endpoints[i], found, err);
	if (!code)
		*addresses = *found;
	free(found);
	return code;
}

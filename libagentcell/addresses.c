// SPDX-License-Identifier: ISC
/*
 * Addresses: which of them a name may lead to, which one covers which, and lists of them.  What a name
 * leads to is up to whoever runs its DNS zone, so a name never opens a place that only an admin should
 * open.  Pure.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "firewall.h"
#include "lookup.h"
#include "util.h"

struct special {
	uint8_t family, prefix;
	unsigned char bytes[16];
	const char *what;
};

/* IANA special-purpose registries, and the metadata services of clouds outside them. */
static const struct special specials[] = {
	{ AF_INET, 8, { 0 }, "this network" },
	{ AF_INET, 8, { 127 }, "loopback" },
	{ AF_INET, 16, { 169, 254 }, "link-local, cloud metadata" },
	{ AF_INET, 24, { 192, 0, 0 }, "protocol assignments, cloud metadata" },
	{ AF_INET, 15, { 198, 18 }, "benchmarking" },
	{ AF_INET, 32, { 168, 63, 129, 16 }, "cloud metadata" },
	{ AF_INET, 32, { 100, 100, 100, 200 }, "cloud metadata" },
	{ AF_INET, 4, { 224 }, "multicast" },
	{ AF_INET, 4, { 240 }, "reserved" },
	{ AF_INET6, 96, { 0 }, "unspecified, loopback or IPv4-compatible" },
	{ AF_INET6, 96, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, "IPv4-mapped" },
	{ AF_INET6, 96, { 0, 0x64, 0xff, 0x9b }, "IPv4 behind NAT64" },
	{ AF_INET6, 48, { 0, 0x64, 0xff, 0x9b, 0, 1 }, "IPv4 behind local NAT64" },
	{ AF_INET6, 32, { 0x20, 0x01 }, "Teredo" },
	{ AF_INET6, 16, { 0x20, 0x02 }, "6to4" },
	{ AF_INET6, 128, { 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54 }, "cloud metadata" },
	{ AF_INET6, 128, { 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54 }, "cloud metadata" },
	{ AF_INET6, 10, { 0xfe, 0x80 }, "link-local" },
	{ AF_INET6, 10, { 0xfe, 0xc0 }, "site-local" },
	{ AF_INET6, 8, { 0xff }, "multicast" },
};

/* What sites number their own networks with. */
static const struct special sites[] = {
	{ AF_INET, 8, { 10 }, "private (RFC 1918)" },
	{ AF_INET, 10, { 100, 64 }, "carrier-grade NAT" },
	{ AF_INET, 12, { 172, 16 }, "private (RFC 1918)" },
	{ AF_INET, 16, { 192, 168 }, "private (RFC 1918)" },
	{ AF_INET6, 7, { 0xfc }, "unique local" },
};

static bool same_prefix(const unsigned char a[], const unsigned char b[], unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	unsigned char mask = (unsigned char)(0xff00 >> rest);

	return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) & mask));
}

static const char *find(const struct special list[], size_t count, const struct ac_address *address)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].family == address->family &&
			same_prefix(list[i].bytes, address->bytes, list[i].prefix))
			return list[i].what;
	return NULL;
}

const char *ac_address_refused(const struct ac_address *address)
{
	const char *what = find(specials, AC_COUNT(specials), address);

	return what ? what : find(sites, AC_COUNT(sites), address);
}

bool ac_address_covers(const struct ac_address *outer, const struct ac_address *inner)
{
	return outer->family == inner->family && outer->port == inner->port &&
	       outer->prefix <= inner->prefix &&
	       same_prefix(outer->bytes, inner->bytes, outer->prefix);
}

void ac_address_format(const struct ac_address *address, char text[AC_ADDRESS_TEXT_MAX])
{
	size_t length;

	if (!inet_ntop(address->family, address->bytes, text, AC_ADDRESS_TEXT_MAX))
		text[0] = '\0';
	length = strlen(text);
	if (length && address->prefix < (address->family == AF_INET ? 32 : 128))
		snprintf(text + length, AC_ADDRESS_TEXT_MAX - length, "/%u", address->prefix);
}

int ac_addresses_add(
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

struct ac_address ac_address_of(
	const struct ac_lookup *lookup, unsigned number, const struct ac_endpoint *endpoint)
{
	struct ac_address address = { .port = endpoint->port,
		.family = lookup->address[number].family,
		.prefix = lookup->address[number].family == AF_INET ? 32 : 128 };

	memcpy(address.bytes, lookup->address[number].bytes, address.prefix / 8u);
	memcpy(address.host, endpoint->host, sizeof(address.host));
	return address;
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
	return ac_addresses_add(addresses, &address, err);
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

const char *ac_addresses_refuse(
	const struct ac_addresses *addresses, const struct ac_address *address)
{
	bool is_site = address->host[0] && !strcmp(address->host, addresses->site_host);
	const char *what = is_site ? find(specials, AC_COUNT(specials), address)
				   : ac_address_refused(address);

	return what && is_declared(addresses, address) ? NULL : what;
}

int ac_addresses_begin(
	const struct ac_policy *policy, struct ac_addresses *addresses, struct ac_err *err)
{
	int code = 0;

	memset(addresses, 0, sizeof(*addresses));
	memcpy(addresses->session_id, policy->session_id, sizeof(addresses->session_id));
	addresses->dev_server = policy->dev_server;
	addresses->visitor = policy->visitor;
	if (policy->egress_proxy[0])
		memcpy(addresses->site_host, policy->endpoints[0].host,
			sizeof(addresses->site_host));
	for (unsigned i = 0; i < policy->endpoint_count && !code; i++)
		if (policy->endpoints[i].family)
			code = take_number(&policy->endpoints[i], addresses, err);
	return code;
}

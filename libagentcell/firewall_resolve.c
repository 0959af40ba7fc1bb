// SPDX-License-Identifier: ISC
/* From endpoints to addresses, when a session starts. */
#include "firewall.h"

#include <errno.h>
#include <string.h>

#include "lookup.h"
#include "util.h"

static int take_answers(const struct ac_endpoint *endpoint, const struct ac_lookup *lookup,
	struct ac_addresses *addresses, struct ac_err *err)
{
	const char *refused = NULL;
	unsigned taken = 0;

	for (unsigned i = 0; i < lookup->count; i++) {
		struct ac_address address = ac_address_of(lookup, i, endpoint);
		const char *why = ac_addresses_refuse(addresses, &address);
		int code;

		if (why) {
			refused = why;
			continue;
		}
		code = ac_addresses_add(addresses, &address, err);
		if (code)
			return code;
		taken++;
	}
	if (!taken && refused && addresses->site_host[0])
		return ac_fail(err, EPERM,
			"egress_proxy %s leads to an address that is %s: if that is meant, "
			"name the proxy by its address",
			endpoint->host, refused);
	if (!taken && refused)
		return ac_fail(err, EPERM,
			"endpoint %s leads to an address that is %s: if that is "
			"meant, declare the address (or its network) with port %u in [firewall] "
			"endpoints too",
			endpoint->host, refused, endpoint->port);
	return 0;
}

static int take_name(const struct ac_endpoint *endpoint, struct ac_lookup *lookup,
	struct ac_addresses *addresses, struct ac_err *err)
{
	ac_lookup(endpoint->host, lookup);
	if (lookup->code == -ENOENT && !addresses->site_host[0]) {
		if (!addresses->unresolved++)
			memcpy(addresses->unresolved_host, endpoint->host,
				sizeof(addresses->unresolved_host));
		return 0;
	}
	if (lookup->code)
		return ac_fail(err, EHOSTUNREACH,
			"resolve endpoint %s: %s (check the host's resolver, "
			"or take the name off the configuration)",
			endpoint->host, lookup->reason);
	return take_answers(endpoint, lookup, addresses, err);
}

int ac_firewall_resolve(
	const struct ac_policy *policy, struct ac_addresses *addresses, struct ac_err *err)
{
	ac_autofree struct ac_addresses *found = calloc(1, sizeof(*found));
	ac_autofree struct ac_lookup *lookup = calloc(1, sizeof(*lookup));
	int code;

	if (!found || !lookup)
		return ac_fail(err, ENOMEM, "resolve the endpoints");
	/* Numbers first: they say which addresses a name may lead to. */
	code = ac_addresses_begin(policy, found, err);
	for (unsigned i = 0; i < policy->endpoint_count && !code; i++)
		if (!policy->endpoints[i].family)
			code = take_name(&policy->endpoints[i], lookup, found, err);
	if (!code)
		*addresses = *found;
	return code;
}

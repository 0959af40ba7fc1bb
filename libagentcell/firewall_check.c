// SPDX-License-Identifier: ISC
/* Looking at a session's elements while it runs: are they still right, and what have they counted. */
#include <errno.h>
#include <string.h>

#include "firewall_parts.h"
#include "util.h"

static bool is_declared(const struct ac_addresses *addresses, const struct ac_address *address)
{
	for (unsigned i = 0; i < addresses->count; i++)
		if (addresses->address[i].state != AC_ADDRESS_CLOSED &&
			ac_address_covers(&addresses->address[i], address))
			return true;
	return false;
}

static bool has_set(const struct ac_elements *held, const char *set)
{
	for (unsigned i = 0; i < held->count; i++)
		if (!strcmp(held->element[i].set, set))
			return true;
	return false;
}

static int check_elements(
	const struct ac_elements *held, const struct ac_addresses *addresses, struct ac_err *err)
{
	struct ac_address address;

	/* Fewer addresses than declared harm nobody; without these two nothing is held to anything. */
	if (!has_set(held, "session") || (ac_firewall_has_loopback() == 1 &&
						 addresses->session_id[0] && !has_set(held, "own")))
		return ac_fail(err, ENOENT, "the firewall elements of uid %u are gone", held->uid);
	for (unsigned i = 0; i < held->count; i++)
		if (ac_elements_address(&held->element[i], &address) &&
			!is_declared(addresses, &address))
			return ac_fail(err, EPROTO,
				"the firewall opens port %u of an address that was not declared "
				"to uid %u: another program added it",
				address.port, held->uid);
	return 0;
}

int ac_firewall_check(uid_t uid, const struct ac_addresses *addresses, struct ac_err *err)
{
	ac_autoelements struct ac_elements held = AC_ELEMENTS_OF(uid);
	int code;

	if (ac_firewall_is_loaded() != 1)
		return ac_fail(err, ENOENT, "the nft table inet agentcell is not whole any more");
	code = ac_elements_read(&held);
	if (code)
		return ac_fail_errno(err, -code, "read the firewall elements of uid %u", uid);
	return check_elements(&held, addresses, err);
}

int ac_firewall_flows(uid_t uid, struct ac_flows *flows, struct ac_err *err)
{
	ac_autoelements struct ac_elements held = AC_ELEMENTS_OF(uid);
	int code = ac_elements_read(&held);

	if (code)
		return ac_fail_errno(err, -code, "read the firewall elements of uid %u", uid);
	flows->refused = 0;
	flows->count = 0;
	for (unsigned i = 0; i < held.count && flows->count < AC_ADDRESSES_MAX; i++) {
		struct ac_flow *flow = &flows->flow[flows->count];

		if (!strcmp(held.element[i].set, "session"))
			flows->refused = held.element[i].packets;
		if (!ac_elements_address(&held.element[i], &flow->address))
			continue;
		flow->packets = held.element[i].packets;
		flow->bytes = held.element[i].bytes;
		flows->count++;
	}
	return 0;
}

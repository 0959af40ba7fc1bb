// SPDX-License-Identifier: ISC
/*
 * The elements of one uid: what the policy wants, what the kernel holds, and making them equal.
 */
#include "firewall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cgroup.h"
#include "firewall_parts.h"
#include "firewall_rules.h"
#include "util.h"

static const char *const address_sets[] = { "allow4", "allow6", "range4", "range6" };

/* First and last address of a prefix. */
static void spread(const struct ac_address *address, unsigned size, unsigned char first[],
	unsigned char last[])
{
	for (unsigned i = 0; i < size; i++) {
		unsigned bits = address->prefix > 8 * i ? address->prefix - 8 * i : 0;
		unsigned char mask = (unsigned char)(bits >= 8 ? 0xff : 0xff00 >> bits);

		first[i] = address->bytes[i] & mask;
		last[i] = (unsigned char)(first[i] | (unsigned char)~mask);
	}
}

static struct ac_nftables_element make_element(uid_t uid, const struct ac_address *address)
{
	unsigned size = address->family == AF_INET ? 4 : 16;
	bool whole = address->prefix >= 8 * size;
	struct ac_nftables_element element = { .set = address_sets[(whole ? 0 : 2) + (size == 16)],
		.interval = !whole,
		.length = (uint8_t)(4 + size + 4) };
	uint32_t field = ac_elements_uid(element.set, uid);
	uint16_t port = htons(address->port);

	memcpy(element.key, &field, sizeof(field));
	spread(address, size, element.key + 4, element.end + 4);
	memcpy(element.key + 4 + size, &port, sizeof(port));
	if (whole) {
		memset(element.end, 0, sizeof(element.end));
		return element;
	}
	memcpy(element.end, &field, sizeof(field));
	memcpy(element.end + 4 + size, &port, sizeof(port));
	return element;
}

/* Ranges of one set may not overlap: a narrower one inside a wider one says nothing new. */
static bool is_redundant(const struct ac_addresses *addresses, unsigned number)
{
	const struct ac_address *address = &addresses->address[number];

	for (unsigned i = 0; i < addresses->count; i++) {
		const struct ac_address *other = &addresses->address[i];

		if (i != number && other->state != AC_ADDRESS_CLOSED &&
			ac_address_covers(other, address) &&
			(i < number || !ac_address_covers(address, other)))
			return true;
	}
	return false;
}

static int want_key(struct ac_elements *wanted, const char *set, const void *key, unsigned length)
{
	struct ac_nftables_element element = { .set = set, .length = (uint8_t)length };

	memcpy(element.key, key, length);
	return ac_elements_append(wanted, &element);
}

/* What loopback goes by: the session's cgroup, and who may come from outside of it. */
static int want_loopback(
	struct ac_elements *wanted, const struct ac_addresses *addresses, uint64_t cgroup)
{
	struct {
		uint32_t mark;
		uint32_t cgroup[2];
	} key = { .mark = wanted->uid };
	uint32_t pair[2] = { wanted->uid, AC_FIREWALL_LABEL(addresses->visitor) };
	int code;

	memcpy(key.cgroup, &cgroup, sizeof(cgroup));
	code = want_key(wanted, "own", &key, sizeof(key));
	if (!code)
		code = want_key(wanted, "cells", &cgroup, sizeof(cgroup));
	if (code || !addresses->dev_server)
		return code;
	key.mark = pair[1];
	code = want_key(wanted, "visitors", &key, sizeof(key));
	return code ? code : want_key(wanted, "hosts", pair, sizeof(pair));
}

static int want_cgroup(
	struct ac_elements *wanted, const struct ac_addresses *addresses, struct ac_err *err)
{
	ac_autoclose int fd = -1;
	struct stat status;

	if (!addresses->session_id[0] || ac_firewall_has_loopback() != 1)
		return 0;
	fd = ac_cgroup_open(addresses->session_id, err);
	if (fd < 0)
		return ac_fail_within(err, "open the session's loopback");
	if (fstat(fd, &status))
		return ac_fail_errno(err, errno, "look at the cgroup of %s", addresses->session_id);
	/* kernfs: the inode is the cgroup's id */
	return want_loopback(wanted, addresses, status.st_ino)
		       ? ac_fail(err, ENOMEM, "note the cgroup")
		       : 0;
}

int ac_elements_want(
	struct ac_elements *wanted, const struct ac_addresses *addresses, struct ac_err *err)
{
	if (want_key(wanted, "session", &wanted->uid, sizeof(wanted->uid)))
		return ac_fail(err, ENOMEM, "note the session");
	for (unsigned i = 0; i < addresses->count; i++) {
		struct ac_nftables_element element = make_element(
			wanted->uid, &addresses->address[i]);

		if (addresses->address[i].state == AC_ADDRESS_CLOSED || is_redundant(addresses, i))
			continue;
		if (ac_elements_append(wanted, &element))
			return ac_fail(err, ENOMEM, "note the endpoints");
	}
	return want_cgroup(wanted, addresses, err);
}

/* Turns what is held into what is wanted. */
static int change(struct ac_elements *held, const struct ac_elements *wanted)
{
	ac_autoelements struct ac_elements changes = AC_ELEMENTS_OF(held->uid);
	int code = 0;

	for (unsigned i = 0; i < held->count && !code; i++) {
		struct ac_nftables_element element = held->element[i];

		element.remove = true;
		if (!ac_elements_contain(wanted, &element))
			code = ac_elements_append(&changes, &element);
	}
	for (unsigned i = 0; i < wanted->count && !code; i++)
		if (!ac_elements_contain(held, &wanted->element[i]))
			code = ac_elements_append(&changes, &wanted->element[i]);
	return code ? code : ac_nftables_change(&held->link, changes.element, changes.count);
}

static bool same(const struct ac_elements *held, const struct ac_elements *wanted)
{
	for (unsigned i = 0; i < wanted->count; i++)
		if (!ac_elements_contain(held, &wanted->element[i]))
			return false;
	return held->count == wanted->count;
}

struct answers {
	const struct ac_elements *wanted;
	unsigned count;
};

static int count_wanted(void *context, const struct ac_nftables_element *element)
{
	struct answers *answers = context;

	answers->count += ac_elements_contain(answers->wanted, element);
	return 0;
}

int ac_elements_are_there(struct ac_elements *wanted)
{
	struct answers answers = { .wanted = wanted };
	int code = ac_nftables_get(
		&wanted->link, wanted->element, wanted->count, count_wanted, &answers);

	if (code)
		return code == -ENOENT ? 0 : code;
	return answers.count == wanted->count;
}

/* Where nothing of the uid is, which its element of the set "session" tells: that one comes and goes in
 * the same transaction as the others.  -EEXIST: something is. */
static int add_new(struct ac_elements *wanted)
{
	int code;

	wanted->element[0].exclusive = true;
	code = ac_nftables_change(&wanted->link, wanted->element, wanted->count);
	wanted->element[0].exclusive = false;
	if (!code)
		code = ac_elements_are_there(wanted) == 1 ? 0 : -EEXIST;
	return code;
}

static int make_same(struct ac_elements *held, const struct ac_elements *wanted)
{
	int code = ac_elements_read(held);

	if (!code)
		code = change(held, wanted);
	return code ? code : ac_elements_read(held);
}

int ac_firewall_add(uid_t uid, const struct ac_addresses *addresses, struct ac_err *err)
{
	ac_autoelements struct ac_elements held = AC_ELEMENTS_OF(uid);
	ac_autoelements struct ac_elements wanted = AC_ELEMENTS_OF(uid);
	int code = ac_elements_want(&wanted, addresses, err);

	if (code)
		return code;
	if (ac_firewall_is_loaded() != 1)
		return ac_fail(err, ENOENT,
			"the nft table inet agentcell is not loaded in this network "
			"namespace: is agentcelld running here?");
	code = add_new(&wanted);
	if (code != -EEXIST)
		return code ? ac_fail_errno(err, -code, "set the firewall elements of uid %u", uid)
			    : 0;
	code = make_same(&held, &wanted);
	if (code)
		return ac_fail_errno(err, -code, "set the firewall elements of uid %u", uid);
	if (!same(&held, &wanted))
		return ac_fail(err, EPROTO,
			"the firewall holds %u elements for uid %u that are not the %u wanted: "
			"another program changes nft tables",
			held.count, uid, wanted.count);
	return 0;
}

/* The prefix that two bounds span. */
static uint8_t prefix_of(const unsigned char first[], const unsigned char last[], unsigned size)
{
	uint8_t bits = 0;

	for (unsigned i = 0; i < 8 * size; i++, bits++)
		if ((first[i / 8] ^ last[i / 8]) & (0x80 >> i % 8))
			break;
	return bits;
}

/* Back from what make_element() makes. */
bool ac_elements_address(const struct ac_nftables_element *element, struct ac_address *address)
{
	unsigned size = element->length == 12 ? 4 : 16;
	uint16_t port;

	if (strncmp(element->set, "allow", 5) != 0 && strncmp(element->set, "range", 5) != 0)
		return false;
	memset(address, 0, sizeof(*address));
	address->family = size == 4 ? AF_INET : AF_INET6;
	memcpy(address->bytes, element->key + 4, size);
	memcpy(&port, element->key + 4 + size, sizeof(port));
	address->port = ntohs(port);
	address->prefix = (uint8_t)(8 * size);
	if (element->interval)
		address->prefix = prefix_of(element->key + 4, element->end + 4, size);
	return true;
}

static bool is_covered(const struct ac_addresses *addresses, const struct ac_address *address)
{
	for (unsigned i = 0; i < addresses->count; i++)
		if (addresses->address[i].state != AC_ADDRESS_CLOSED &&
			ac_address_covers(&addresses->address[i], address))
			return true;
	return false;
}

int ac_firewall_read(uid_t uid, struct ac_addresses *addresses, struct ac_err *err)
{
	ac_autoelements struct ac_elements held = AC_ELEMENTS_OF(uid);
	struct ac_address address;
	int code = ac_elements_read(&held);

	if (code)
		return ac_fail_errno(err, -code, "read the firewall elements of uid %u", uid);
	for (unsigned i = 0; i < held.count; i++) {
		if (!ac_elements_address(&held.element[i], &address) ||
			is_covered(addresses, &address))
			continue;
		if (addresses->count == AC_ADDRESSES_MAX)
			return ac_fail(err, E2BIG, "uid %u has more than %d addresses", uid,
				AC_ADDRESSES_MAX);
		addresses->address[addresses->count++] = address;
	}
	return 0;
}

int ac_firewall_remove(uid_t uid, int *link, struct ac_err *err)
{
	ac_autoelements struct ac_elements held = AC_ELEMENTS_OF(uid);
	const struct ac_elements nothing = AC_ELEMENTS_OF(uid);
	int code = ac_elements_read(&held);

	if (!code)
		code = change(&held, &nothing);
	if (!code)
		code = ac_elements_read(&held);
	if (link && *link < 0)
		*link = ac_take_fd(&held.link);
	if (code)
		return ac_fail_errno(err, -code, "remove the firewall elements of uid %u", uid);
	return held.count ? ac_fail(err, EBUSY, "%u firewall elements of uid %u came back",
				    held.count, uid)
			  : 0;
}

int ac_firewall_count(uid_t uid)
{
	ac_autoelements struct ac_elements held = AC_ELEMENTS_OF(uid);
	int code = ac_elements_read(&held);

	return code ? code : (int)held.count;
}

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
#include "nftables.h"
#include "util.h"

#define TRIES 8

static const char *const sets[] = { "allow4", "allow6", "range4", "range6", "own" };

struct elements { /* of one uid; heap, grows */
	uid_t uid;
	unsigned count, room;
	struct ac_nftables_element *element;
};

static void elements_free(struct elements *elements)
{
	free(elements->element);
	elements->element = NULL;
	elements->count = elements->room = 0;
}

#define autoelements __attribute__((cleanup(elements_free)))

static int append(struct elements *elements, const struct ac_nftables_element *element)
{
	if (elements->count == elements->room) {
		unsigned room = elements->room ? 2 * elements->room : 32;
		void *grown = reallocarray(elements->element, room, sizeof(*element));

		if (!grown)
			return -ENOMEM;
		elements->element = grown;
		elements->room = room;
	}
	elements->element[elements->count++] = *element;
	return 0;
}

static bool equal(const struct ac_nftables_element *a, const struct ac_nftables_element *b)
{
	return !strcmp(a->set, b->set) && a->length == b->length && a->interval == b->interval &&
	       !memcmp(a->key, b->key, a->length) &&
	       (!a->interval || !memcmp(a->end, b->end, a->length));
}

static bool contains(const struct elements *elements, const struct ac_nftables_element *element)
{
	for (unsigned i = 0; i < elements->count; i++)
		if (equal(&elements->element[i], element))
			return true;
	return false;
}

/* Keys begin with the uid: as the host counts, but big-endian where ranges are compared. */
static uint32_t uid_field(const char *set, uid_t uid)
{
	return strncmp(set, "range", 5) ? uid : htonl(uid);
}

static int take_own(void *context, const struct ac_nftables_element *element)
{
	struct elements *elements = context;
	uint32_t uid = uid_field(element->set, elements->uid);

	if (element->length < sizeof(uid) || memcmp(element->key, &uid, sizeof(uid)) != 0)
		return 0;
	return append(elements, element);
}

/* Everything that the kernel holds for elements->uid.  No table, or one without a set: nothing. */
static int read_kernel(struct elements *elements)
{
	for (unsigned try = 0; try < TRIES; try++) {
		int code = 0;

		elements->count = 0;
		for (unsigned i = 0; i < AC_COUNT(sets) && !code; i++) {
			code = ac_nftables_each(sets[i], take_own, elements);
			if (code == -ENOENT)
				code = 0;
		}
		if (code != -EINTR)
			return code;
	}
	return -EBUSY;
}

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
	struct ac_nftables_element element = { .set = sets[(whole ? 0 : 2) + (size == 16)],
		.interval = !whole,
		.length = (uint8_t)(4 + size + 4) };
	uint32_t field = uid_field(element.set, uid);
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

		if (i != number && ac_address_covers(other, address) &&
			(i < number || !ac_address_covers(address, other)))
			return true;
	}
	return false;
}

/* The mark of the session's cgroup, by which packets on loopback are recognised. */
static int want_own(struct elements *wanted, const char *session_id, struct ac_err *err)
{
	struct ac_nftables_element element = { .set = "own", .length = 12 };
	ac_autoclose int fd = -1;
	struct stat status;
	uint64_t id;

	if (!session_id[0] || ac_firewall_has_loopback() != 1)
		return 0;
	fd = ac_cgroup_open(session_id, err);
	if (fd < 0)
		return ac_fail_within(err, "open the session's loopback");
	if (fstat(fd, &status))
		return ac_fail_errno(err, errno, "look at the cgroup of %s", session_id);
	id = status.st_ino; /* kernfs: the cgroup's id */
	memcpy(element.key, &wanted->uid, sizeof(uint32_t));
	memcpy(element.key + 4, &id, sizeof(id));
	return append(wanted, &element) ? ac_fail(err, ENOMEM, "note the cgroup") : 0;
}

static int want(struct elements *wanted, const struct ac_addresses *addresses, struct ac_err *err)
{
	for (unsigned i = 0; i < addresses->count; i++) {
		struct ac_nftables_element element = make_element(
			wanted->uid, &addresses->address[i]);

		if (!is_redundant(addresses, i) && append(wanted, &element))
			return ac_fail(err, ENOMEM, "note the endpoints");
	}
	return want_own(wanted, addresses->session_id, err);
}

/* Turns what is held into what is wanted. */
static int change(const struct elements *held, const struct elements *wanted)
{
	autoelements struct elements changes = { .uid = held->uid };
	int code = 0;

	for (unsigned i = 0; i < held->count && !code; i++) {
		struct ac_nftables_element element = held->element[i];

		element.remove = true;
		if (!contains(wanted, &element))
			code = append(&changes, &element);
	}
	for (unsigned i = 0; i < wanted->count && !code; i++)
		if (!contains(held, &wanted->element[i]))
			code = append(&changes, &wanted->element[i]);
	return code ? code : ac_nftables_change(changes.element, changes.count);
}

static bool same(const struct elements *held, const struct elements *wanted)
{
	for (unsigned i = 0; i < wanted->count; i++)
		if (!contains(held, &wanted->element[i]))
			return false;
	return held->count == wanted->count;
}

/* Reading takes longer the more sessions there are, so it is done once where nothing of the uid was
 * there before, which is the rule: adding what is there already is no error. */
static int make_same(struct elements *held, const struct elements *wanted)
{
	int code = ac_nftables_change(wanted->element, wanted->count);

	if (!code)
		code = read_kernel(held);
	if (!code && same(held, wanted))
		return 0;
	code = read_kernel(held);
	if (!code)
		code = change(held, wanted);
	return code ? code : read_kernel(held);
}

int ac_firewall_add(uid_t uid, const struct ac_addresses *addresses, struct ac_err *err)
{
	autoelements struct elements held = { .uid = uid };
	autoelements struct elements wanted = { .uid = uid };
	int code = want(&wanted, addresses, err);

	if (code)
		return code;
	if (ac_firewall_is_loaded() != 1)
		return ac_fail(err, ENOENT,
			"the nft table inet agentcell is not loaded in this network "
			"namespace: is agentcelld running here?");
	code = make_same(&held, &wanted);
	if (code)
		return ac_fail_errno(err, -code, "set the firewall elements of uid %u", uid);
	if (!same(&held, &wanted))
		return ac_fail(err, EPROTO,
			"the firewall holds %u elements for uid %u that are not the %u wanted: "
			"another "
			"program changes nft tables",
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

/* Back from what make_element() makes; false for the mark of a cgroup. */
static bool make_address(const struct ac_nftables_element *element, struct ac_address *address)
{
	unsigned size = element->length == 12 ? 4 : 16;
	uint16_t port;

	if (!strcmp(element->set, "own"))
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
		if (ac_address_covers(&addresses->address[i], address))
			return true;
	return false;
}

int ac_firewall_read(uid_t uid, struct ac_addresses *addresses, struct ac_err *err)
{
	autoelements struct elements held = { .uid = uid };
	struct ac_address address;
	int code = read_kernel(&held);

	if (code)
		return ac_fail_errno(err, -code, "read the firewall elements of uid %u", uid);
	for (unsigned i = 0; i < held.count; i++) {
		if (!make_address(&held.element[i], &address) || is_covered(addresses, &address))
			continue;
		if (addresses->count == AC_ADDRESSES_MAX)
			return ac_fail(err, E2BIG, "uid %u has more than %d addresses", uid,
				AC_ADDRESSES_MAX);
		addresses->address[addresses->count++] = address;
	}
	return 0;
}

int ac_firewall_remove(uid_t uid, struct ac_err *err)
{
	autoelements struct elements held = { .uid = uid };
	const struct elements nothing = { .uid = uid };
	int code = read_kernel(&held);

	if (!code)
		code = change(&held, &nothing);
	if (!code)
		code = read_kernel(&held);
	if (code)
		return ac_fail_errno(err, -code, "remove the firewall elements of uid %u", uid);
	return held.count ? ac_fail(err, EBUSY, "%u firewall elements of uid %u came back",
				    held.count, uid)
			  : 0;
}

int ac_firewall_count(uid_t uid)
{
	autoelements struct elements held = { .uid = uid };
	int code = read_kernel(&held);

	return code ? code : (int)held.count;
}

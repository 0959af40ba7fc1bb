// SPDX-License-Identifier: ISC
/* The elements of one uid as a list, and as the kernel holds them. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "firewall_parts.h"
#include "util.h"

#define TRIES 8

/* Sets whose keys begin with the uid; "own" first, which tells the cgroup that others go by. */
static const char *const sets[] = { "own", "session", "hosts", "allow4", "allow6", "range4",
	"range6" };
static const char *const cgroup_sets[] = { "cells", "visitors" };

void ac_elements_fini(struct ac_elements *elements)
{
	free(elements->element);
	elements->element = NULL;
	elements->count = elements->room = 0;
	if (elements->link >= 0)
		close(ac_take_fd(&elements->link));
}

int ac_elements_append(struct ac_elements *elements, const struct ac_nftables_element *element)
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

bool ac_elements_contain(
	const struct ac_elements *elements, const struct ac_nftables_element *element)
{
	for (unsigned i = 0; i < elements->count; i++)
		if (equal(&elements->element[i], element))
			return true;
	return false;
}

uint32_t ac_elements_uid(const char *set, uid_t uid)
{
	return strncmp(set, "range", 5) ? uid : htonl(uid);
}

static int take_own(void *context, const struct ac_nftables_element *element)
{
	struct ac_elements *elements = context;
	uint32_t uid = ac_elements_uid(element->set, elements->uid);

	if (element->length < sizeof(uid) || memcmp(element->key, &uid, sizeof(uid)) != 0)
		return 0;
	return ac_elements_append(elements, element);
}

/* Keys that end with a cgroup: whose it is stands in "own". */
static int take_cgroup(void *context, const struct ac_nftables_element *element)
{
	struct ac_elements *elements = context;
	uint64_t id;

	for (unsigned i = 0; i < elements->count && element->length >= sizeof(id); i++) {
		const struct ac_nftables_element *own = &elements->element[i];

		if (!strcmp(own->set, "own") && own->length == 12 &&
			!memcmp(element->key + element->length - sizeof(id), own->key + 4,
				sizeof(id)))
			return ac_elements_append(elements, element);
	}
	return 0;
}

static int read_once(struct ac_elements *elements)
{
	int code = 0;

	elements->count = 0;
	for (unsigned i = 0; i < AC_COUNT(sets) && (!code || code == -ENOENT); i++)
		code = ac_nftables_each(&elements->link, sets[i], take_own, elements);
	for (unsigned i = 0; i < AC_COUNT(cgroup_sets) && (!code || code == -ENOENT); i++)
		code = ac_nftables_each(&elements->link, cgroup_sets[i], take_cgroup, elements);
	return code == -ENOENT ? 0 : code;
}

int ac_elements_read(struct ac_elements *elements)
{
	for (unsigned try = 0; try < TRIES; try++) {
		int code = read_once(elements);

		if (code != -EINTR)
			return code;
	}
	return -EBUSY;
}

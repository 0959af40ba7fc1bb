/* SPDX-License-Identifier: ISC */
/* What the firewall's own files share: the elements of one uid. */
#ifndef AC_FIREWALL_PARTS_H
#define AC_FIREWALL_PARTS_H

#include "firewall.h"
#include "nftables.h"

struct ac_elements { /* of one uid; heap, grows */
	uid_t uid;
	int link; /* of all that is asked about them: netlink.h */
	unsigned count, room;
	struct ac_nftables_element *element;
};

#define AC_ELEMENTS_OF(id) ((struct ac_elements){ .uid = (id), .link = -1 })

void ac_elements_fini(struct ac_elements *elements);
#define ac_autoelements __attribute__((cleanup(ac_elements_fini)))

int ac_elements_append(struct ac_elements *elements, const struct ac_nftables_element *element);
bool ac_elements_contain(
	const struct ac_elements *elements, const struct ac_nftables_element *element);

/* Keys begin with the uid: as the host counts, but big-endian where ranges are compared. */
uint32_t ac_elements_uid(const char *set, uid_t uid);

/* What the session should have; the cgroup must be there where addresses name a session. */
int ac_elements_want(
	struct ac_elements *wanted, const struct ac_addresses *addresses, struct ac_err *err);

/* Everything that the kernel holds for elements->uid.  No table, or one without a set: nothing.
 * Costs a walk over all sessions' elements. */
int ac_elements_read(struct ac_elements *elements);

/* Does the kernel hold all of these, exactly so?  1, 0 or -errno; costs the same with any number of
 * sessions. */
int ac_elements_are_there(struct ac_elements *wanted);

/* The address that an element stands for; false for one that stands for something else. */
bool ac_elements_address(const struct ac_nftables_element *element, struct ac_address *address);

#endif

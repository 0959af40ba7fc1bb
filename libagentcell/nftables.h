/* SPDX-License-Identifier: ISC */
/*
 * The elements, rules and header of the table `inet agentcell`, straight from and to the kernel by
 * netlink (nfnetlink), without libnftables: a transaction of a few elements is 50 times cheaper
 * than its text form, and the read-back does not trust the library that wrote.
 * Everything works in the caller's network namespace and needs CAP_NET_ADMIN there.  What link is stands
 * in netlink.h.
 */
#ifndef AC_NFTABLES_H
#define AC_NFTABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AC_NFTABLES_TABLE "agentcell"
#define AC_NFTABLES_KEY_MAX 24

/* One set element: its key as the kernel keeps it, fields padded to 4 bytes. */
struct ac_nftables_element {
	const char *set;
	bool remove; /* in a transaction: take away instead of add */
	bool exclusive; /* in a transaction: must not be there yet (-EEXIST) */
	bool interval; /* end is the key's upper bound */
	uint8_t length;
	unsigned char key[AC_NFTABLES_KEY_MAX];
	unsigned char end[AC_NFTABLES_KEY_MAX];
	uint64_t packets, bytes; /* read: what the element has counted */
};

/* All or nothing: 0, or -errno. */
int ac_nftables_change(int *link, const struct ac_nftables_element *elements, unsigned count);

/* Calls each for every element of the set until it returns -errno.  -ENOENT: no such set; -EINTR: the
 * set changed meanwhile, what was seen may be torn: start again. */
int ac_nftables_each(int *link, const char *set,
	int (*each)(void *context, const struct ac_nftables_element *element), void *context);

/* The same for the attributes of one message about elements. */
int ac_nftables_walk(const char *set, const unsigned char *attributes, size_t length,
	int (*each)(void *context, const struct ac_nftables_element *element), void *context);

/* Calls each for what the kernel holds under these keys.  -ENOENT: one of them, or the set, is not there. */
int ac_nftables_get(int *link, const struct ac_nftables_element *elements, unsigned count,
	int (*each)(void *context, const struct ac_nftables_element *element), void *context);

/* Appends to the chain a rule that nft's language cannot say: the packet's mark becomes its sender's uid,
 * cut to the bits of mask, with the bits of set. */
int ac_nftables_add_label(const char *chain, uint32_t mask, uint32_t set);

/* The table's comment, "" without one; -ENOENT: no table, -ESHUTDOWN: it is switched off. */
int ac_nftables_comment(char comment[], size_t size);

/* Number of rules in the table, or -errno. */
int ac_nftables_rules(void);

#endif

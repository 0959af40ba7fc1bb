/* SPDX-License-Identifier: ISC */
/*
 * Requests to the kernel's nf_tables and their answers: building, sending, taking apart.
 */
#ifndef AC_NETLINK_H
#define AC_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AC_NETLINK_BUFFER 131072
/* NLA_HDRLEN and NLA_ALIGN mix signs. */
#define AC_NETLINK_HEAD ((size_t)4)
#define AC_NETLINK_ALIGN(length) (((size_t)(length) + 3) & ~(size_t)3)

/* A request under construction.  Once something did not fit it is full and will not be sent. */
struct ac_netlink {
	unsigned char *bytes; /* AC_NETLINK_BUFFER of them, the caller's */
	size_t used;
	bool full;
};

/* What open returns is what close wants; attributes go in between, nests within. */
size_t ac_netlink_open(
	struct ac_netlink *request, uint16_t type, uint16_t flags, uint32_t sequence);
void ac_netlink_close(struct ac_netlink *request, size_t start);
void ac_netlink_attribute(
	struct ac_netlink *request, uint16_t type, const void *data, size_t length);
size_t ac_netlink_open_nest(struct ac_netlink *request, uint16_t type);
void ac_netlink_close_nest(struct ac_netlink *request, size_t start);

/* Finds one attribute in a row of them: its data, or NULL. */
const unsigned char *ac_netlink_find(
	const unsigned char *bytes, size_t length, unsigned type, size_t *found_length);

/* Sees the attributes of one message; 0 to go on, or -errno, which ends the transaction. */
typedef int ac_netlink_handler(void *context, const unsigned char *attributes, size_t length);

/*
 * Transactions of one task share a socket: *link, -1 before the first one and after one that failed.
 * The caller closes it (link NULL: a socket of its own).  To close any nf_tables socket waits until the
 * kernel has let go of what was deleted shortly before, which is a grace period of RCU: 10 ms and more.
 *
 * Sends and handles the answer: acks acknowledgements, or (acks 0) one message or a whole dump.
 * 0, or -errno; -EINTR: the dump was not one snapshot, start again.  Waits for the kernel, 5 s at most.
 */
int ac_netlink_transact(int *link, const struct ac_netlink *request, unsigned acks,
	ac_netlink_handler *handle, void *context);

#endif

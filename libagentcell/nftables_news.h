/* SPDX-License-Identifier: ISC */
/*
 * What others do to our table: the kernel tells it to a socket that has joined the group.  Needs
 * CAP_NET_ADMIN in the network namespace that the caller is in when it subscribes.
 */
#ifndef AC_NFTABLES_NEWS_H
#define AC_NFTABLES_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "nftables.h"

enum ac_news_kind {
	AC_NEWS_TABLE, /* the table, a chain, a rule or a set came, went or changed */
	AC_NEWS_ELEMENT, /* an element of a set did */
	AC_NEWS_DONE, /* that was one transaction; by is the process */
	AC_NEWS_LOST /* there was more than fitted into the socket: anything may have changed */
};

struct ac_news {
	enum ac_news_kind kind;
	uint32_t by;
	const char *set; /* ELEMENT: valid for the call */
	const struct ac_nftables_element *element;
};

int ac_news_subscribe(struct ac_err *err); /* a descriptor, O_NONBLOCK */

/* Calls each for all that is there to be read about our table; never waits. */
void ac_news_read(int fd, void (*each)(void *context, const struct ac_news *news), void *context);

#endif

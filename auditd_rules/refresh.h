/* SPDX-License-Identifier: ISC */
/*
 * The addresses behind a session's names, kept up to date while it runs.
 *
 * A name is looked up again when its TTL is over, but neither more often than [firewall]
 * refresh_interval nor less often than once an hour; where no TTL is known (/etc/hosts), at that interval.  New
 * addresses are opened; what a name has left stays open for refresh_overlap, so that connections live
 * on; when look-ups fail, what was there stays for refresh_stale.  A name may never lead to where only
 * an address may (addresses.c), at no time.
 */
#ifndef AC_REFRESH_H
#define AC_REFRESH_H

#include "firewall.h"
#include "lookup.h"
#include "resolver.h"

#define AC_REFRESH_LONGEST_MS 3600000
#define AC_REFRESH_NEWS_MAX 1024

struct ac_refresh_name {
	char host[AC_HOST_MAX];
	uint64_t good_ms; /* the last answer */
	uint64_t next_ms; /* the next question */
	unsigned failures; /* since then */
	bool asked; /* in the question under way */
	char refused[AC_ADDRESS_TEXT_MAX]; /* where it may not lead; on record once */
};

struct ac_refresh_times {
	uint64_t interval_ms, overlap_ms, stale_ms;
};

struct ac_refresh_news { /* in words: "name address, name address" */
	char added[AC_REFRESH_NEWS_MAX], left[AC_REFRESH_NEWS_MAX], closed[AC_REFRESH_NEWS_MAX],
		refused[AC_REFRESH_NEWS_MAX], failed[AC_REFRESH_NEWS_MAX];
};

struct ac_refresh {
	unsigned count;
	struct ac_refresh_name name[AC_ENDPOINTS_MAX];
	struct ac_addresses next; /* what is being put together */
	struct ac_refresh_news news;
	struct ac_resolver resolver;
	int mounts_fd; /* the mount namespace in which sudo was started */
	unsigned failures; /* to change the firewall */
	bool pending; /* next is to be put in force */
	bool sweep; /* the hosts file tells old addresses still */
};

/* refresh_merge.c: pure.  One name's answer: what the addresses are now. */
void ac_refresh_merge(const struct ac_policy *policy, struct ac_addresses *addresses,
	struct ac_refresh_name *name, const struct ac_lookup *lookup,
	const struct ac_refresh_times *times, uint64_t now_ms, struct ac_refresh_news *news);

/* No answer came for it. */
void ac_refresh_fail(struct ac_refresh_name *name, const char *reason,
	const struct ac_refresh_times *times, uint64_t now_ms, struct ac_refresh_news *news);

/* Closes what has been left for long enough, and what names have that nobody can look up. */
void ac_refresh_expire(struct ac_addresses *addresses, const struct ac_refresh_name names[],
	unsigned count, const struct ac_refresh_times *times, uint64_t now_ms,
	struct ac_refresh_news *news);

bool ac_refresh_has_change(const struct ac_refresh_news *news);

/* refresh.c: in the guardian. */
struct ac_cell;
void ac_refresh_init(struct ac_refresh *refresh);
int ac_refresh_begin(struct ac_cell *cell, struct ac_err *err);
void ac_refresh_second(struct ac_guardian *guardian, struct ac_cell *cell);
void ac_refresh_end(struct ac_cell *cell); /* nothing is changed any more */
void ac_refresh_fini(struct ac_cell *cell);

#endif

/* SPDX-License-Identifier: ISC */
/* The table's text.  Pure. */
#ifndef AC_FIREWALL_RULES_H
#define AC_FIREWALL_RULES_H

#include <stdbool.h>
#include <sys/types.h>

#define AC_FIREWALL_VERSION 2

/* What nft(8) reads: replaces the table, in one transaction.  Heap, or NULL.  Its comment is
 * "agentcell <version> <first>-<last> <loopback> <number of rules>". */
char *ac_firewall_rules_dup(uid_t first, uid_t last, bool loopback);

#endif

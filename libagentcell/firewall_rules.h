/* SPDX-License-Identifier: ISC */
/* The table's text.  Pure. */
#ifndef AC_FIREWALL_RULES_H
#define AC_FIREWALL_RULES_H

#include <sys/types.h>

#define AC_FIREWALL_VERSION 4

/* What passed the table has this bit in its mark, until the guard has seen it. */
#define AC_FIREWALL_PASSED 0x40000000u
/* Who opens a connection on loopback: the mark that such a packet has from there to its socket. */
#define AC_FIREWALL_LABEL_BIT 0x80000000u
#define AC_FIREWALL_LABEL(uid) (AC_FIREWALL_LABEL_BIT | ((uint32_t)(uid) & ~AC_FIREWALL_LABEL_BIT))

/* What nft(8) reads: replaces the table, in one transaction.  Heap, or NULL.  Its comment is
 * "agentcell <version> <first>-<last> <loopback> <number of rules>".
 * levels: at which sessions' cgroups may lie, ended by 0 (ac_cgroup_levels); NULL: no loopback within a
 * session.  With loopback, the chain `label` still lacks its one rule, which is counted
 * (ac_nftables_add_label). */
char *ac_firewall_rules_dup(uid_t first, uid_t last, const int *levels);

/* The guard's; heap, or NULL. */
char *ac_guard_rules_dup(uid_t first, uid_t last);

#endif

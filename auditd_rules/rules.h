/* SPDX-License-Identifier: ISC */
/*
 * 40-agentcell.rules: read, compared with what the kernel holds, loaded where missing.
 *
 * The file is what auditctl and augenrules read too; of their syntax only what it uses is understood
 * (-a list,action -S calls -F field op value -k key), anything else refuses the file.
 */
#ifndef AC_RULES_H
#define AC_RULES_H

#include <libaudit.h>
#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "kernel.h"

#define AC_RULES_MAX 64

struct ac_rule {
	struct audit_rule_data *data; /* heap, with its key behind it */
	unsigned line;
	bool added; /* by us: taken away when we stop */
	bool present; /* seen in the kernel at the last look */
};

struct ac_rules {
	unsigned count;
	struct ac_rule rule[AC_RULES_MAX];
};

/* Reads and compiles; every uid and auid range in it must be first..last.  Blocks. */
int ac_rules_read(
	const char *path, uid_t first, uid_t last, struct ac_rules *rules, struct ac_err *err);
/* The same for a text; name is for messages. */
int ac_rules_parse(const char *name, char *text, uid_t first, uid_t last, struct ac_rules *rules,
	struct ac_err *err);
void ac_rules_fini(struct ac_rules *rules);

/* How many of the rules the kernel does not hold, or -errno. */
int ac_rules_missing(struct ac_rules *rules, struct ac_kernel *kernel, struct ac_err *err);

/* Adds the missing ones.  -EPERM when the rules are immutable (-e 2): a reboot is needed then. */
int ac_rules_load(struct ac_rules *rules, struct ac_kernel *kernel, struct ac_err *err);

/* They were gone, and somebody else has put all of them back: they are his now. */
void ac_rules_disown(struct ac_rules *rules);

/* Takes away what ac_rules_load() added. */
void ac_rules_unload(struct ac_rules *rules, struct ac_kernel *kernel);

#endif

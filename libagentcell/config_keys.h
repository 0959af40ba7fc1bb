/* SPDX-License-Identifier: ISC */
/* The table of keys that config.c reads by and tests compare with. */
#ifndef AC_CONFIG_KEYS_H
#define AC_CONFIG_KEYS_H

#include "config.h"

struct ac_config_entry {
	const char *section, *key, *name; /* name: "section.key" */
	int (*parse)(struct ac_config *config, size_t offset, const char *text, struct ac_err *err);
	size_t offset; /* in struct ac_config; of a list, its count */
	const char *fallback;
	bool is_list;
};

extern const struct ac_config_entry ac_config_entries[]; /* end: section NULL */
#define AC_CONFIG_ENTRIES_MAX 64

#endif

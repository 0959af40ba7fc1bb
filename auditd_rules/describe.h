/* SPDX-License-Identifier: ISC */
/* A session as `agentcell sessions --json` shows it. */
#ifndef AC_DESCRIBE_H
#define AC_DESCRIBE_H

#include <json-c/json.h>
#include <stddef.h>

#include "cell.h"

/* The caller's to put; its plain text is shorter than size: what does not fit of the firewall's elements is
 * counted as "omitted".  NULL: no memory. */
json_object *ac_cell_describe(struct ac_guardian *guardian, struct ac_cell *cell, size_t size);

#endif

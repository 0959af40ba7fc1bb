/* SPDX-License-Identifier: ISC */
/* Single values and lists of a session policy <-> JSON.  Writers return NULL, readers -EBADMSG. */
#ifndef AC_POLICY_VALUES_H
#define AC_POLICY_VALUES_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"

json_object *ac_value_string_write(const char *bytes, size_t size);
int ac_value_string_read(json_object *value, char *bytes, size_t size);
int ac_value_unsigned_read(json_object *value, uint64_t max, uint64_t *number);

json_object *ac_value_paths_write(const struct ac_path_list *list);
int ac_value_paths_read(json_object *value, struct ac_path_list *list);
json_object *ac_value_names_write(const struct ac_names *names);
int ac_value_names_read(json_object *value, struct ac_names *names);
json_object *ac_value_placements_write(const struct ac_placements *placements);
int ac_value_placements_read(json_object *value, struct ac_placements *placements);
json_object *ac_value_endpoints_write(const struct ac_endpoint *endpoints, unsigned count);
int ac_value_endpoints_read(json_object *value, struct ac_endpoint *endpoints, unsigned *count);
json_object *ac_value_groups_write(const gid_t *groups, unsigned count);
int ac_value_groups_read(json_object *value, gid_t *groups, unsigned *count);

#endif

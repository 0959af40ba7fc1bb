/* SPDX-License-Identifier: ISC */
/*
 * The fields of a session policy as data: writer and reader walk the same tables, so neither can
 * know a field that the other does not.
 */
#ifndef AC_POLICY_FIELDS_H
#define AC_POLICY_FIELDS_H

#include <json-c/json.h>

#include "policy.h"

enum ac_field_kind {
	AC_FIELD_STRING, /* char[size], escaped in JSON */
	AC_FIELD_UNSIGNED, /* uint16_t, uint32_t or uint64_t by size */
	AC_FIELD_SIGNED, /* int32_t */
	AC_FIELD_BOOL,
	AC_FIELD_RISK,
	AC_FIELD_PATHS, /* struct ac_path_list */
	AC_FIELD_NAMES, /* struct ac_names */
	AC_FIELD_PLACEMENTS, /* struct ac_placements */
	AC_FIELD_ENDPOINTS, /* struct ac_endpoint[]; the count at `count` */
	AC_FIELD_GROUPS /* gid_t[]; the count at `count` */
};

struct ac_field {
	const char *name;
	enum ac_field_kind kind;
	size_t offset, size;
	size_t count; /* offset of the unsigned that says how many */
};

extern const struct ac_field ac_plan_fields[], ac_policy_fields[]; /* end: name NULL */

/* A new object, or NULL when memory or a value is bad. */
json_object *ac_fields_write(const struct ac_field *fields, const void *from);

/* 0, or -EBADMSG with *bad set to the name of the field (or what is wrong). */
int ac_fields_read(
	const struct ac_field *fields, json_object *object, void *into, const char **bad);

#endif

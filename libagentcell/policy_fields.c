/* SPDX-License-Identifier: ISC */
/* The tables of policy_fields.h, and the values that are more than a number or a string. */
#include "policy_fields.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "policy_values.h"
#include "util.h"

#define FIELD(type, kind_, member) \
	{ \
		.name = #member, .kind = (kind_), .offset = offsetof(struct type, member), \
		.size = sizeof(((struct type *)0)->member) \
	}
#define COUNTED(type, kind_, member, count_) \
	{ \
		.name = #member, .kind = (kind_), .offset = offsetof(struct type, member), \
		.size = sizeof(((struct type *)0)->member), .count = offsetof(struct type, count_) \
	}
#define PLAN(kind, member) FIELD(ac_plan, AC_FIELD_##kind, member)
#define POLICY(kind, member) FIELD(ac_policy, AC_FIELD_##kind, member)
#define LIMIT(member) \
	{ \
		.name = "limits." #member, .kind = AC_FIELD_UNSIGNED, \
		.offset = offsetof(struct ac_policy, limits.member), .size = sizeof(uint64_t) \
	}

const struct ac_field ac_plan_fields[] = {
	PLAN(STRING, session_id),
	PLAN(STRING, harness),
	PLAN(STRING, user),
	PLAN(UNSIGNED, user_uid),
	PLAN(UNSIGNED, user_gid),
	COUNTED(ac_plan, AC_FIELD_GROUPS, groups, group_count),
	PLAN(STRING, user_home),
	PLAN(STRING, cwd),
	PLAN(STRING, command),
	PLAN(PATHS, declared_paths),
	PLAN(PATHS, read_paths),
	PLAN(PATHS, excluded_paths),
	PLAN(RISK, risk),
	PLAN(UNSIGNED, wall_clock_limit_s),
	PLAN(UNSIGNED, started),
	PLAN(SIGNED, sudo_pid),
	PLAN(UNSIGNED, network),
	PLAN(UNSIGNED, loginuid),
	PLAN(UNSIGNED, audit_session),
	{ .name = NULL },
};

const struct ac_field ac_policy_fields[] = {
	POLICY(STRING, session_id),
	POLICY(STRING, os_user),
	POLICY(STRING, role_user),
	POLICY(UNSIGNED, uid),
	POLICY(UNSIGNED, gid),
	COUNTED(ac_policy, AC_FIELD_GROUPS, groups, group_count),
	POLICY(PATHS, write_paths),
	POLICY(PATHS, read_paths),
	POLICY(PATHS, excluded_paths),
	POLICY(PATHS, bait_paths),
	POLICY(PATHS, tool_paths),
	POLICY(PLACEMENTS, placements),
	POLICY(NAMES, env_allowlist),
	COUNTED(ac_policy, AC_FIELD_ENDPOINTS, endpoints, endpoint_count),
	POLICY(STRING, egress_proxy),
	POLICY(NAMES, tolerated),
	POLICY(BOOL, firewall_enabled),
	POLICY(STRING, firewall_rule),
	POLICY(BOOL, dev_server),
	POLICY(UNSIGNED, visitor),
	LIMIT(wall_clock_s),
	LIMIT(processes),
	LIMIT(memory_bytes),
	LIMIT(open_files),
	LIMIT(file_bytes),
	LIMIT(home_bytes),
	LIMIT(cpu_weight),
	POLICY(RISK, risk),
	POLICY(BOOL, protect_git),
	POLICY(BOOL, access_acl),
	POLICY(UNSIGNED, access_umask),
	POLICY(BOOL, nested_sandbox),
	POLICY(STRING, backup_id),
	POLICY(STRING, backup_directory),
	POLICY(STRING, home),
	POLICY(STRING, responses),
	{ .name = NULL },
};

static const char *const risk_names[] = {
	[AC_RISK_LOW] = "low",
	[AC_RISK_MEDIUM] = "medium",
	[AC_RISK_HIGH] = "high",
};

const char *ac_risk_name(enum ac_risk risk)
{
	return (unsigned)risk < AC_COUNT(risk_names) ? risk_names[risk] : NULL;
}

static uint64_t load_unsigned(const void *from, size_t size)
{
	uint16_t small;
	uint32_t medium;
	uint64_t large;

	switch (size) {
	case sizeof(small):
		memcpy(&small, from, size);
		return small;
	case sizeof(medium):
		memcpy(&medium, from, size);
		return medium;
	default:
		memcpy(&large, from, sizeof(large));
		return large;
	}
}

static void store_unsigned(void *into, size_t size, uint64_t number)
{
	uint16_t small = (uint16_t)number;
	uint32_t medium = (uint32_t)number;

	memcpy(into,
		size == sizeof(small)    ? (const void *)&small
		: size == sizeof(medium) ? (const void *)&medium
					 : (const void *)&number,
		size);
}

static json_object *write_field(const struct ac_field *field, const void *from)
{
	const char *value = (const char *)from + field->offset;
	const void *aligned = value;
	const char *risk;
	unsigned count;
	int32_t number;

	memcpy(&count, (const char *)from + field->count, sizeof(count));
	switch (field->kind) {
	case AC_FIELD_STRING:
		return ac_value_string_write(value, field->size);
	case AC_FIELD_UNSIGNED:
		return json_object_new_uint64(load_unsigned(value, field->size));
	case AC_FIELD_SIGNED:
		memcpy(&number, value, sizeof(number));
		return json_object_new_int(number);
	case AC_FIELD_BOOL:
		return json_object_new_boolean(*(const bool *)aligned);
	case AC_FIELD_RISK:
		risk = ac_risk_name(*(const enum ac_risk *)aligned);
		return risk ? json_object_new_string(risk) : NULL;
	case AC_FIELD_PATHS:
		return ac_value_paths_write(aligned);
	case AC_FIELD_NAMES:
		return ac_value_names_write(aligned);
	case AC_FIELD_PLACEMENTS:
		return ac_value_placements_write(aligned);
	case AC_FIELD_ENDPOINTS:
		return ac_value_endpoints_write(aligned, count);
	case AC_FIELD_GROUPS:
		return ac_value_groups_write(aligned, count);
	}
	return NULL;
}

json_object *ac_fields_write(const struct ac_field *fields, const void *from)
{
	json_object *object = json_object_new_object();

	for (; object && fields->name; fields++) {
		json_object *value = write_field(fields, from);

		if (!value || json_object_object_add(object, fields->name, value) < 0) {
			json_object_put(object);
			return NULL;
		}
	}
	return object;
}

static int read_signed(json_object *value, void *into)
{
	int64_t number = json_object_get_int64(value);
	int32_t small = (int32_t)number;

	if (!json_object_is_type(value, json_type_int) || number != small)
		return -EBADMSG;
	memcpy(into, &small, sizeof(small));
	return 0;
}

static int read_unsigned(json_object *value, void *into, size_t size)
{
	uint64_t max = size == sizeof(uint64_t) ? UINT64_MAX : (1ULL << (8 * size)) - 1;
	uint64_t number;
	int rc = ac_value_unsigned_read(value, max, &number);

	if (rc == 0)
		store_unsigned(into, size, number);
	return rc;
}

static int read_risk(json_object *value, enum ac_risk *risk)
{
	unsigned i;

	if (!json_object_is_type(value, json_type_string))
		return -EBADMSG;
	for (i = 0; i < AC_COUNT(risk_names); i++) {
		if (strcmp(json_object_get_string(value), risk_names[i]) == 0) {
			*risk = (enum ac_risk)i;
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_field(const struct ac_field *field, json_object *value, void *into)
{
	char *bytes = (char *)into + field->offset;
	void *target = bytes, *counter = (char *)into + field->count;

	switch (field->kind) {
	case AC_FIELD_STRING:
		return ac_value_string_read(value, bytes, field->size);
	case AC_FIELD_UNSIGNED:
		return read_unsigned(value, target, field->size);
	case AC_FIELD_SIGNED:
		return read_signed(value, target);
	case AC_FIELD_BOOL:
		if (!json_object_is_type(value, json_type_boolean))
			return -EBADMSG;
		*(bool *)target = json_object_get_boolean(value);
		return 0;
	case AC_FIELD_RISK:
		return read_risk(value, target);
	case AC_FIELD_PATHS:
		return ac_value_paths_read(value, target);
	case AC_FIELD_NAMES:
		return ac_value_names_read(value, target);
	case AC_FIELD_PLACEMENTS:
		return ac_value_placements_read(value, target);
	case AC_FIELD_ENDPOINTS:
		return ac_value_endpoints_read(value, target, counter);
	case AC_FIELD_GROUPS:
		return ac_value_groups_read(value, target, counter);
	}
	return -EBADMSG;
}

int ac_fields_read(const struct ac_field *fields, json_object *object, void *into, const char **bad)
{
	int known = 0;

	*bad = "the object itself";
	if (!json_object_is_type(object, json_type_object))
		return -EBADMSG;
	for (; fields->name; fields++, known++) {
		json_object *value;

		*bad = fields->name;
		if (!json_object_object_get_ex(object, fields->name, &value) ||
			read_field(fields, value, into) < 0)
			return -EBADMSG;
	}
	*bad = "an unknown field";
	return json_object_object_length(object) == known ? 0 : -EBADMSG;
}

/* SPDX-License-Identifier: ISC */
/*
 * Records to one event.  Table-driven: (record type, field name) -> where the value goes.
 */
#include "event.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "util.h"

enum target_kind { DECIMAL, ID, HEX, TEXT, YES };

struct target {
	const char *name;
	enum target_kind kind;
	size_t offset;
	size_t size;
};

#define AT(kind, name, member) \
	{ \
		name, kind, offsetof(struct ac_event, member), \
			sizeof(((struct ac_event *)NULL)->member) \
	}

static const struct target syscall_fields[] = {
	AT(HEX, "arch", arch),
	AT(DECIMAL, "syscall", syscall),
	AT(YES, "success", success),
	AT(DECIMAL, "exit", exit),
	AT(HEX, "a0", a[0]),
	AT(HEX, "a1", a[1]),
	AT(HEX, "a2", a[2]),
	AT(HEX, "a3", a[3]),
	AT(DECIMAL, "ppid", ppid),
	AT(DECIMAL, "pid", pid),
	AT(ID, "auid", auid),
	AT(ID, "uid", uid),
	AT(ID, "euid", euid),
	AT(ID, "suid", suid),
	AT(ID, "fsuid", fsuid),
	AT(TEXT, "comm", comm),
	AT(TEXT, "exe", exe),
};

static const struct target seccomp_fields[] = {
	AT(ID, "auid", auid),
	AT(ID, "uid", uid),
	AT(DECIMAL, "pid", pid),
	AT(TEXT, "comm", comm),
	AT(TEXT, "exe", exe),
	AT(HEX, "arch", arch),
	AT(DECIMAL, "syscall", syscall),
	AT(HEX, "code", seccomp_code),
};

static const struct target object_fields[] = {
	AT(DECIMAL, "opid", object_pid),
	AT(ID, "ouid", object_uid),
};

static const struct target landlock_fields[] = {
	AT(HEX, "domain", domain),
	AT(TEXT, "blockers", blockers),
	AT(TEXT, "path", landlock_path),
	AT(DECIMAL, "opid", object_pid),
	AT(TEXT, "daddr", packet_address),
	AT(DECIMAL, "dest", packet_port),
	AT(DECIMAL, "src", packet_port),
};

static const struct target domain_fields[] = {
	AT(HEX, "domain", domain),
	AT(ID, "uid", uid),
	AT(DECIMAL, "pid", pid),
	AT(TEXT, "exe", exe),
	AT(TEXT, "comm", comm),
};

static const struct target packet_fields[] = {
	AT(HEX, "mark", mark),
	AT(TEXT, "daddr", packet_address),
	AT(DECIMAL, "proto", protocol),
	AT(DECIMAL, "dport", packet_port),
};

static const struct target cwd_fields[] = { AT(TEXT, "cwd", cwd) };

static const struct {
	int type;
	unsigned seen;
	unsigned count;
	const struct target *fields;
} record_types[] = {
	{ AC_RECORD_SYSCALL, AC_SEEN_SYSCALL, AC_COUNT(syscall_fields), syscall_fields },
	{ AC_RECORD_CWD, AC_SEEN_CWD, AC_COUNT(cwd_fields), cwd_fields },
	{ AC_RECORD_OBJ_PID, AC_SEEN_OBJECT, AC_COUNT(object_fields), object_fields },
	{ AC_RECORD_SECCOMP, AC_SEEN_SECCOMP, AC_COUNT(seccomp_fields), seccomp_fields },
	{ AC_RECORD_NETFILTER_PKT, AC_SEEN_PACKET, AC_COUNT(packet_fields), packet_fields },
	{ AC_RECORD_LANDLOCK_ACCESS, AC_SEEN_LANDLOCK, AC_COUNT(landlock_fields), landlock_fields },
	{ AC_RECORD_LANDLOCK_DOMAIN, AC_SEEN_DOMAIN, AC_COUNT(domain_fields), domain_fields },
	{ AC_RECORD_EOE, AC_SEEN_END, 0, NULL },
};

static bool parse_value(enum target_kind kind, struct ac_span span, uint64_t *value)
{
	int64_t number;

	if (kind == HEX)
		return ac_span_hex(span, value);
	if (!ac_span_decimal(span, &number))
		return false;
	*value = (uint64_t)number; /* -1 of ouid= becomes AC_UID_UNSET */
	return true;
}

static void store(struct ac_event *event, const struct target *target, const struct ac_field *field)
{
	char *place = (char *)event + target->offset;
	uint64_t value;
	uint32_t half;

	if (target->kind == TEXT) {
		(void)ac_field_text(field, place, target->size); /* cut names only decorate */
		return;
	}
	if (target->kind == YES) {
		*(bool *)place = ac_span_is(field->value, "yes");
		return;
	}
	if (!parse_value(target->kind, field->value, &value))
		return;
	half = (uint32_t)value;
	if (target->size == sizeof(half))
		memcpy(place, &half, sizeof(half));
	else
		memcpy(place, &value, sizeof(value));
}

static void add_fields(struct ac_event *event, const struct ac_record *record,
	const struct target *targets, unsigned count)
{
	struct ac_span rest = record->body;
	struct ac_field field;

	while (ac_record_next(&rest, &field))
		for (unsigned i = 0; i < count; i++)
			if (ac_span_is(field.name, targets[i].name)) {
				store(event, &targets[i], &field);
				break;
			}
}

static void parse_device(struct ac_span span, struct ac_event_path *path)
{
	const char *colon = memchr(span.text, ':', span.length);
	uint64_t major, minor;
	size_t left;

	if (!colon)
		return;
	left = (size_t)(colon - span.text);
	if (!ac_span_hex((struct ac_span){ span.text, left }, &major) ||
		!ac_span_hex((struct ac_span){ colon + 1, span.length - left - 1 }, &minor))
		return;
	path->object.major = (uint32_t)major;
	path->object.minor = (uint32_t)minor;
}

/* Without touching the 4 KiB of the name. */
static void clear_path(struct ac_event_path *path)
{
	path->name[0] = 0;
	path->cut = path->file_caps = path->child = false;
	path->mode = 0;
	path->object = (struct ac_object){ 0 };
}

static void add_path_field(struct ac_event_path *path, const struct ac_field *field)
{
	uint64_t number = 0;

	if (ac_span_is(field->name, "name")) {
		path->cut = ac_field_text(field, path->name, sizeof(path->name)) == -ENAMETOOLONG;
	} else if (ac_span_is(field->name, "inode")) {
		if (ac_span_decimal(field->value, (int64_t *)&number))
			path->object.inode = number;
	} else if (ac_span_is(field->name, "dev")) {
		parse_device(field->value, path);
	} else if (ac_span_is(field->name, "mode")) {
		if (ac_span_octal(field->value, &number))
			path->mode = (uint32_t)number;
	} else if (ac_span_is(field->name, "cap_fp") || ac_span_is(field->name, "cap_fi")) {
		if (ac_span_hex(field->value, &number) && number)
			path->file_caps = true;
	}
}

static void add_path(struct ac_event *event, const struct ac_record *record)
{
	struct ac_span rest = record->body;
	struct ac_event_path *path;
	struct ac_field field;
	bool parent = false, child = false;

	if (ac_record_find(record, "nametype", &field)) {
		parent = ac_span_is(field.value, "PARENT");
		child = ac_span_is(field.value, "CREATE") || ac_span_is(field.value, "DELETE");
	}
	if (!parent && event->path_count == AC_EVENT_PATHS_MAX)
		return;
	path = parent ? &event->parent[event->parent_count > 0] : &event->path[event->path_count];
	clear_path(path);
	path->child = child;
	while (ac_record_next(&rest, &field))
		add_path_field(path, &field);
	if (parent) {
		event->parent_count++;
		return;
	}
	event->path_count++;
	event->seen |= AC_SEEN_PATH;
}

static void add_address(struct ac_event *event, const struct ac_record *record)
{
	struct ac_field field;
	long length;

	if (!ac_record_find(record, "saddr", &field))
		return;
	length = ac_field_bytes(&field, event->address, sizeof(event->address));
	if (length <= 0)
		return;
	event->address_length = (unsigned)length;
	event->seen |= AC_SEEN_SOCKADDR;
}

void ac_event_init(struct ac_event *event, const struct ac_record *record)
{
	event->serial = record->serial;
	event->time_ms = record->time_ms;
	event->seen = 0;
	event->arch = 0;
	event->syscall = -1;
	event->success = false;
	event->exit = 0;
	memset(event->a, 0, sizeof(event->a));
	event->pid = event->ppid = event->object_pid = 0;
	event->uid = event->auid = event->euid = event->suid = event->fsuid = AC_UID_UNSET;
	event->object_uid = AC_UID_UNSET;
	event->comm[0] = event->exe[0] = event->cwd[0] = 0;
	event->path_count = event->parent_count = event->address_length = 0;
	clear_path(&event->parent[0]);
	clear_path(&event->parent[1]);
	event->domain = 0;
	event->domain_ended = false;
	event->blockers[0] = event->landlock_path[0] = 0;
	event->seccomp_code = event->mark = event->packet_port = event->protocol = 0;
	event->packet_address[0] = 0;
}

static void after_fields(struct ac_event *event, const struct ac_record *record)
{
	struct ac_field field;

	if (record->type == AC_RECORD_LANDLOCK_DOMAIN)
		event->domain_ended = ac_record_find(record, "status", &field) &&
				      ac_span_is(field.value, "deallocated");
	if (record->type == AC_RECORD_CWD && event->cwd[0] != '/')
		event->cwd[0] = 0; /* <too_long>, (null) */
}

void ac_event_add(struct ac_event *event, const struct ac_record *record)
{
	if (record->type == AC_RECORD_PATH) {
		add_path(event, record);
		return;
	}
	if (record->type == AC_RECORD_SOCKADDR) {
		add_address(event, record);
		return;
	}
	for (unsigned i = 0; i < AC_COUNT(record_types); i++)
		if (record_types[i].type == record->type) {
			add_fields(event, record, record_types[i].fields, record_types[i].count);
			after_fields(event, record);
			event->seen |= record_types[i].seen;
			return;
		}
}

/* SYSCALL and SECCOMP name auid before uid and long before anything that the cell chose. */
static bool find_owner(const struct ac_record *record, uint32_t *uid, uint32_t *auid)
{
	struct ac_span rest = record->body;
	struct ac_field field;
	int64_t number;

	while (ac_record_next(&rest, &field)) {
		bool is_uid = ac_span_is(field.name, "uid");

		if (!is_uid && !ac_span_is(field.name, "auid"))
			continue;
		if (!ac_span_decimal(field.value, &number))
			return false;
		*(is_uid ? uid : auid) = (uint32_t)number;
		if (is_uid)
			return true;
	}
	return false;
}

bool ac_record_owner(const struct ac_record *record, uint32_t *uid, uint32_t *auid)
{
	struct ac_field field;
	uint64_t mark;

	*uid = *auid = AC_UID_UNSET;
	switch (record->type) {
	case AC_RECORD_SYSCALL:
	case AC_RECORD_SECCOMP:
	case AC_RECORD_LANDLOCK_DOMAIN:
		return find_owner(record, uid, auid);
	case AC_RECORD_NETFILTER_PKT:
		if (!ac_record_find(record, "mark", &field) || !ac_span_hex(field.value, &mark))
			return false;
		*uid = (uint32_t)mark;
		return true;
	default:
		return false;
	}
}

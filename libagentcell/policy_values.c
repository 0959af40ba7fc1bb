/* SPDX-License-Identifier: ISC */
/*
 * Values and lists of a session policy <-> JSON objects of json-c.
 *
 * Writers give a new reference, or NULL when memory fails or the value is out of range.  Readers
 * are strict about type, members and range; on -EBADMSG the target may be half filled, which is
 * why ac_policy_read fills a copy.
 */
#include "policy_values.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "escape.h"
#include "path.h"
#include "placement.h"
#include "util.h"

json_object *ac_value_string_write(const char *bytes, size_t size)
{
	size_t length = strnlen(bytes, size);
	size_t room = 3 * length + 1;
	ac_autofree char *text = length < size ? malloc(room) : NULL;

	if (!text)
		return NULL;
	ac_escape(text, room, bytes, length);
	return json_object_new_string(text);
}

int ac_value_string_read(json_object *value, char *bytes, size_t size)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return -EBADMSG;
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value))
		return -EBADMSG;
	memset(bytes, 0, size);
	return ac_unescape(bytes, size, text) < 0 ? -EBADMSG : 0;
}

int ac_value_unsigned_read(json_object *value, uint64_t max, uint64_t *number)
{
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return -EBADMSG;
	*number = json_object_get_uint64(value);
	return *number > max ? -EBADMSG : 0;
}

static int member(json_object *object, const char *name, json_object **value)
{
	return json_object_object_get_ex(object, name, value) ? 0 : -EBADMSG;
}

/* Gives value to the object; NULL fails. */
static int add(json_object *object, const char *name, json_object *value)
{
	return value && json_object_object_add(object, name, value) == 0 ? 0 : -ENOMEM;
}

/* Gives item to the array, or drops both: NULL. */
static json_object *append(json_object *array, json_object *item)
{
	if (item && json_object_array_add(array, item) == 0)
		return array;
	json_object_put(item);
	json_object_put(array);
	return NULL;
}

static int array_length(json_object *value, size_t max, unsigned *length)
{
	if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) > max)
		return -EBADMSG;
	*length = (unsigned)json_object_array_length(value);
	return 0;
}

static const char *const kind_names[] = {
	[AC_PATH_DIRECTORY] = "directory",
	[AC_PATH_FILE] = "file",
};

static json_object *write_path(const struct ac_path_entry *entry)
{
	json_object *object = json_object_new_object();

	if (!object || (unsigned)entry->kind >= AC_COUNT(kind_names) ||
		add(object, "path", ac_value_string_write(entry->path, sizeof(entry->path))) < 0 ||
		add(object, "device", json_object_new_uint64(entry->device)) < 0 ||
		add(object, "inode", json_object_new_uint64(entry->inode)) < 0 ||
		add(object, "kind", json_object_new_string(kind_names[entry->kind])) < 0) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static int read_path(json_object *object, struct ac_path_entry *entry)
{
	json_object *path, *device, *inode, *kind;
	unsigned i;

	if (!json_object_is_type(object, json_type_object) ||
		json_object_object_length(object) != 4 || member(object, "path", &path) < 0 ||
		member(object, "device", &device) < 0 || member(object, "inode", &inode) < 0 ||
		member(object, "kind", &kind) < 0)
		return -EBADMSG;
	if (ac_value_string_read(path, entry->path, sizeof(entry->path)) < 0 ||
		!ac_path_is_canonical(entry->path) ||
		ac_value_unsigned_read(device, UINT64_MAX, &entry->device) < 0 ||
		ac_value_unsigned_read(inode, UINT64_MAX, &entry->inode) < 0 ||
		!json_object_is_type(kind, json_type_string))
		return -EBADMSG;
	for (i = 0; i < AC_COUNT(kind_names); i++) {
		if (strcmp(json_object_get_string(kind), kind_names[i]) == 0) {
			entry->kind = (enum ac_path_kind)i;
			return 0;
		}
	}
	return -EBADMSG;
}

json_object *ac_value_paths_write(const struct ac_path_list *list)
{
	json_object *array = list->count <= AC_PATHS_MAX ? json_object_new_array() : NULL;
	unsigned i;

	for (i = 0; array && i < list->count; i++)
		array = append(array, write_path(&list->entry[i]));
	return array;
}

int ac_value_paths_read(json_object *value, struct ac_path_list *list)
{
	unsigned i;
	int rc = array_length(value, AC_PATHS_MAX, &list->count);

	for (i = 0; rc == 0 && i < list->count; i++)
		rc = read_path(json_object_array_get_idx(value, i), &list->entry[i]);
	return rc;
}

json_object *ac_value_names_write(const struct ac_names *names)
{
	json_object *array = names->count <= AC_ENV_NAMES_MAX ? json_object_new_array() : NULL;
	unsigned i;

	for (i = 0; array && i < names->count; i++)
		array = append(
			array, ac_value_string_write(names->name[i], sizeof(names->name[i])));
	return array;
}

int ac_value_names_read(json_object *value, struct ac_names *names)
{
	unsigned i;
	int rc = array_length(value, AC_ENV_NAMES_MAX, &names->count);

	for (i = 0; rc == 0 && i < names->count; i++) {
		rc = ac_value_string_read(json_object_array_get_idx(value, i), names->name[i],
			sizeof(names->name[i]));
		if (rc == 0 && !names->name[i][0])
			rc = -EBADMSG;
	}
	return rc;
}

static const char *const placement_names[] = {
	[AC_PLACE_FILE] = "file",
	[AC_PLACE_SEED] = "seed",
	[AC_PLACE_CREDENTIAL] = "credential",
	[AC_PLACE_KEEP] = "keep",
};

static json_object *write_placement(const struct ac_placement *placement)
{
	json_object *object = json_object_new_object();

	if (!object || (unsigned)placement->kind >= AC_COUNT(placement_names) ||
		add(object, "kind", json_object_new_string(placement_names[placement->kind])) < 0 ||
		add(object, "target",
			ac_value_string_write(placement->target, sizeof(placement->target))) < 0 ||
		add(object, "source",
			ac_value_string_write(placement->source, sizeof(placement->source))) < 0) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static int read_placement_kind(json_object *value, enum ac_placement_kind *kind)
{
	unsigned i;

	if (!json_object_is_type(value, json_type_string))
		return -EBADMSG;
	for (i = 0; i < AC_COUNT(placement_names); i++) {
		if (strcmp(json_object_get_string(value), placement_names[i]) == 0) {
			*kind = (enum ac_placement_kind)i;
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_placement(json_object *object, struct ac_placement *placement)
{
	json_object *kind, *target, *source;

	if (!json_object_is_type(object, json_type_object) ||
		json_object_object_length(object) != 3 || member(object, "kind", &kind) < 0 ||
		member(object, "target", &target) < 0 || member(object, "source", &source) < 0)
		return -EBADMSG;
	if (read_placement_kind(kind, &placement->kind) < 0 ||
		ac_value_string_read(target, placement->target, sizeof(placement->target)) < 0 ||
		ac_value_string_read(source, placement->source, sizeof(placement->source)) < 0)
		return -EBADMSG;
	return ac_placement_is_valid(placement) ? 0 : -EBADMSG;
}

json_object *ac_value_placements_write(const struct ac_placements *placements)
{
	json_object *array = placements->count <= AC_PLACEMENTS_MAX ? json_object_new_array()
								    : NULL;
	unsigned i;

	for (i = 0; array && i < placements->count; i++)
		array = append(array, write_placement(&placements->placement[i]));
	return array;
}

int ac_value_placements_read(json_object *value, struct ac_placements *placements)
{
	unsigned i;
	int rc = array_length(value, AC_PLACEMENTS_MAX, &placements->count);

	for (i = 0; rc == 0 && i < placements->count; i++)
		rc = read_placement(json_object_array_get_idx(value, i), &placements->placement[i]);
	return rc;
}

static int family_bits(unsigned family)
{
	switch (family) {
	case 0: /* a name: either family, single addresses */
	case AF_INET6:
		return 128;
	case AF_INET:
		return 32;
	default:
		return -EBADMSG;
	}
}

static bool endpoint_is_valid(const struct ac_endpoint *endpoint)
{
	int bits = family_bits(endpoint->family);

	return endpoint->host[0] && endpoint->port && bits > 0 && endpoint->prefix <= bits;
}

static json_object *write_endpoint(const struct ac_endpoint *endpoint)
{
	json_object *object = endpoint_is_valid(endpoint) ? json_object_new_object() : NULL;

	if (!object ||
		add(object, "host", ac_value_string_write(endpoint->host, sizeof(endpoint->host))) <
			0 ||
		add(object, "port", json_object_new_int(endpoint->port)) < 0 ||
		add(object, "family", json_object_new_int(endpoint->family)) < 0 ||
		add(object, "prefix", json_object_new_int(endpoint->prefix)) < 0) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static int read_endpoint(json_object *object, struct ac_endpoint *endpoint)
{
	json_object *host, *port, *family, *prefix;
	uint64_t port_number, family_number, prefix_number;

	if (!json_object_is_type(object, json_type_object) ||
		json_object_object_length(object) != 4 || member(object, "host", &host) < 0 ||
		member(object, "port", &port) < 0 || member(object, "family", &family) < 0 ||
		member(object, "prefix", &prefix) < 0)
		return -EBADMSG;
	if (ac_value_string_read(host, endpoint->host, sizeof(endpoint->host)) < 0 ||
		ac_value_unsigned_read(port, UINT16_MAX, &port_number) < 0 ||
		ac_value_unsigned_read(family, UINT8_MAX, &family_number) < 0 ||
		ac_value_unsigned_read(prefix, UINT8_MAX, &prefix_number) < 0)
		return -EBADMSG;
	endpoint->port = (uint16_t)port_number;
	endpoint->family = (uint8_t)family_number;
	endpoint->prefix = (uint8_t)prefix_number;
	return endpoint_is_valid(endpoint) ? 0 : -EBADMSG;
}

json_object *ac_value_endpoints_write(const struct ac_endpoint *endpoints, unsigned count)
{
	json_object *array = count <= AC_ENDPOINTS_MAX ? json_object_new_array() : NULL;
	unsigned i;

	for (i = 0; array && i < count; i++)
		array = append(array, write_endpoint(&endpoints[i]));
	return array;
}

int ac_value_endpoints_read(json_object *value, struct ac_endpoint *endpoints, unsigned *count)
{
	unsigned i;
	int rc = array_length(value, AC_ENDPOINTS_MAX, count);

	for (i = 0; rc == 0 && i < *count; i++)
		rc = read_endpoint(json_object_array_get_idx(value, i), &endpoints[i]);
	return rc;
}

json_object *ac_value_groups_write(const gid_t *groups, unsigned count)
{
	json_object *array = count <= AC_GROUPS_MAX ? json_object_new_array() : NULL;
	unsigned i;

	for (i = 0; array && i < count; i++)
		array = append(array, json_object_new_int64(groups[i]));
	return array;
}

int ac_value_groups_read(json_object *value, gid_t *groups, unsigned *count)
{
	unsigned i;
	int rc = array_length(value, AC_GROUPS_MAX, count);

	for (i = 0; rc == 0 && i < *count; i++) {
		uint64_t group;

		rc = ac_value_unsigned_read(
			json_object_array_get_idx(value, i), UINT32_MAX, &group);
		if (rc == 0)
			groups[i] = (gid_t)group;
	}
	return rc;
}

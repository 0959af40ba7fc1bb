// SPDX-License-Identifier: ISC
/*
 * The cell file <-> struct ac_cell, by json-c, with the strict value functions of the session policy.
 */
#include "cell.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "journal.h"
#include "path.h"
#include "policy_values.h"
#include "safefile.h"
#include "util.h"

#define MEMBERS 15

static void put_object(json_object **object)
{
	json_object_put(*object);
}

#define autoobject __attribute__((cleanup(put_object)))

/* Takes value over, NULL too: it fails. */
static bool add(json_object *object, const char *name, json_object *value)
{
	if (value && !json_object_object_add(object, name, value))
		return true;
	json_object_put(value);
	return false;
}

static bool append(json_object *array, json_object *value)
{
	if (value && !json_object_array_add(array, value))
		return true;
	json_object_put(value);
	return false;
}

static json_object *write_paths(const struct ac_path_list *list, const struct ac_path_list *more)
{
	const struct ac_path_list *const both[] = { list, more };
	autoobject json_object *array = json_object_new_array();

	for (unsigned i = 0; array && i < AC_COUNT(both); i++)
		for (unsigned k = 0; both[i] && k < both[i]->count; k++)
			if (!append(array,
				    ac_value_string_write(both[i]->entry[k].path, AC_PATH_MAX)))
				return NULL;
	return AC_TAKE(array);
}

static json_object *write_cell(const struct ac_session_policy *session)
{
	const struct ac_policy *policy = &session->policy;
	const struct ac_plan *plan = &session->plan;
	autoobject json_object *object = json_object_new_object();

	if (object &&
		add(object, "session_id",
			ac_value_string_write(policy->session_id, sizeof(policy->session_id))) &&
		add(object, "os_user",
			ac_value_string_write(policy->os_user, sizeof(policy->os_user))) &&
		add(object, "uid", json_object_new_int64(policy->uid)) &&
		add(object, "gid", json_object_new_int64(policy->gid)) &&
		add(object, "groups", ac_value_groups_write(policy->groups, policy->group_count)) &&
		add(object, "cwd", ac_value_string_write(plan->cwd, sizeof(plan->cwd))) &&
		add(object, "home", ac_value_string_write(policy->home, sizeof(policy->home))) &&
		add(object, "command",
			ac_value_string_write(plan->command, sizeof(plan->command))) &&
		add(object, "write_paths", write_paths(&policy->write_paths, NULL)) &&
		add(object, "read_paths", write_paths(&policy->read_paths, &policy->tool_paths)) &&
		add(object, "excluded_paths", write_paths(&policy->excluded_paths, NULL)) &&
		add(object, "nested_sandbox", json_object_new_boolean(policy->nested_sandbox)) &&
		add(object, "open_files", json_object_new_uint64(policy->limits.open_files)) &&
		add(object, "processes", json_object_new_uint64(policy->limits.processes)) &&
		add(object, "file_bytes", json_object_new_uint64(policy->limits.file_bytes)))
		return AC_TAKE(object);
	return NULL;
}

int ac_cell_format(
	const struct ac_session_policy *session, char *buffer, size_t size, struct ac_err *err)
{
	autoobject json_object *object = write_cell(session);
	const char *text;
	size_t length;

	text = object ? json_object_to_json_string_ext(
				object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
		      : NULL;
	if (!text)
		return ac_fail(
			err, ENOMEM, "write the cell of session %s", session->policy.session_id);
	length = strlen(text);
	if (length >= size)
		return ac_fail(err, EMSGSIZE, "the cell of session %s needs %zu bytes",
			session->policy.session_id, length + 1);
	memcpy(buffer, text, length + 1);
	return (int)length;
}

static bool get(json_object *object, const char *name, json_object **value)
{
	return json_object_object_get_ex(object, name, value);
}

static bool read_string(json_object *object, const char *name, char *text, size_t size)
{
	json_object *value;

	return get(object, name, &value) && !ac_value_string_read(value, text, size) && text[0];
}

static bool read_path(json_object *object, const char *name, char path[AC_PATH_MAX])
{
	return read_string(object, name, path, AC_PATH_MAX) && ac_path_is_canonical(path);
}

static bool read_number(json_object *object, const char *name, uint64_t max, uint64_t *number)
{
	json_object *value;

	return get(object, name, &value) && !ac_value_unsigned_read(value, max, number);
}

static bool read_paths(json_object *object, const char *name, struct ac_cell_paths *paths)
{
	json_object *array;

	if (!get(object, name, &array) || !json_object_is_type(array, json_type_array) ||
		json_object_array_length(array) > AC_CELL_PATHS_MAX)
		return false;
	paths->count = (unsigned)json_object_array_length(array);
	for (unsigned i = 0; i < paths->count; i++)
		if (ac_value_string_read(
			    json_object_array_get_idx(array, i), paths->path[i], AC_PATH_MAX) ||
			!ac_path_is_canonical(paths->path[i]))
			return false;
	return true;
}

/* Root is nobody's session. */
static bool read_account(json_object *object, struct ac_cell *cell)
{
	json_object *groups;
	uint64_t uid, gid;

	if (!read_number(object, "uid", UINT32_MAX - 1, &uid) || !uid ||
		!read_number(object, "gid", UINT32_MAX - 1, &gid) || !gid)
		return false;
	cell->uid = (uid_t)uid;
	cell->gid = (gid_t)gid;
	return get(object, "groups", &groups) &&
	       !ac_value_groups_read(groups, cell->groups, &cell->group_count);
}

static bool read_cell(json_object *object, struct ac_cell *cell)
{
	json_object *nested;

	if (!json_object_is_type(object, json_type_object) ||
		json_object_object_length(object) != MEMBERS)
		return false;
	if (!get(object, "nested_sandbox", &nested) ||
		!json_object_is_type(nested, json_type_boolean))
		return false;
	cell->nested_sandbox = json_object_get_boolean(nested);
	return read_string(object, "session_id", cell->session_id, sizeof(cell->session_id)) &&
	       ac_session_id_is_valid(cell->session_id) &&
	       read_string(object, "os_user", cell->os_user, sizeof(cell->os_user)) &&
	       read_account(object, cell) && read_path(object, "cwd", cell->cwd) &&
	       read_path(object, "home", cell->home) &&
	       read_path(object, "command", cell->command) &&
	       read_paths(object, "write_paths", &cell->write_paths) &&
	       read_paths(object, "read_paths", &cell->read_paths) &&
	       read_paths(object, "excluded_paths", &cell->excluded_paths) &&
	       read_number(object, "open_files", UINT64_MAX, &cell->open_files) &&
	       read_number(object, "processes", UINT64_MAX, &cell->processes) &&
	       read_number(object, "file_bytes", UINT64_MAX, &cell->file_bytes);
}

/* The whole text and nothing after it. */
static json_object *parse(const char *text, size_t length)
{
	struct json_tokener *tokener = json_tokener_new_ex(4);
	json_object *object;

	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tokener, text, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
		json_tokener_get_parse_end(tokener) != length) {
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}

struct reading { /* large: what is read, and what it means */
	struct ac_cell cell;
	char text[AC_CELL_SIZE_MAX];
};

static int read_file(int fd, struct reading *reading, struct ac_err *err)
{
	autoobject json_object *object = NULL;
	ssize_t length = ac_read_all(fd, reading->text, sizeof(reading->text));

	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read the cell file");
	object = parse(reading->text, (size_t)length);
	if (!object || !read_cell(object, &reading->cell))
		return ac_fail(err, EBADMSG,
			"the cell file is not what this launcher understands: are the PAM module "
			"and the "
			"launcher of the same version?");
	return 0;
}

int ac_cell_read(int fd, struct ac_cell *cell, struct ac_err *err)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int code = reading ? read_file(fd, reading, err)
			   : ac_fail(err, ENOMEM, "read the cell file");

	if (reading && !code)
		*cell = reading->cell;
	free(reading);
	return code;
}

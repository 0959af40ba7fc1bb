/* SPDX-License-Identifier: ISC */
/*
 * A login that is renewed changes its tokens and dates, not its form.  This keeps broken files out of
 * the user's home; it cannot tell whose tokens they are.
 */
#include "credential.h"

#include <json-c/json.h>
#include <string.h>

#define DEPTH 16
#define LEVELS 2 /* that must have the same members */

static json_object *parse(const char *text, size_t length)
{
	json_tokener *tokener = json_tokener_new_ex(DEPTH);
	json_object *object = tokener ? json_tokener_parse_ex(tokener, text, (int)length) : NULL;
	size_t end = tokener ? json_tokener_get_parse_end(tokener) : 0;
	bool is_whole = tokener && json_tokener_get_error(tokener) == json_tokener_success;

	for (; is_whole && end < length; end++)
		if (!strchr(" \t\r\n", text[end]) || !text[end])
			is_whole = false;
	if (tokener)
		json_tokener_free(tokener);
	if (is_whole && json_object_is_type(object, json_type_object))
		return object;
	json_object_put(object);
	return NULL;
}

static bool is_number(json_object *value)
{
	return json_object_is_type(value, json_type_int) ||
	       json_object_is_type(value, json_type_double);
}

/* null may become a value and a value null: optional members do so. */
static bool has_same_type(json_object *before, json_object *after)
{
	return !before || !after || json_object_get_type(before) == json_object_get_type(after) ||
	       (is_number(before) && is_number(after));
}

static bool has_same_members(json_object *before, json_object *after, unsigned levels)
{
	if (json_object_object_length(before) != json_object_object_length(after))
		return false;
	json_object_object_foreach(before, name, value)
	{
		json_object *other;

		if (!json_object_object_get_ex(after, name, &other) || !has_same_type(value, other))
			return false;
		if (levels > 1 && json_object_is_type(value, json_type_object) && other &&
			!has_same_members(value, other, levels - 1))
			return false;
	}
	return true;
}

bool ac_credential_is_like(const char *name, const char *before, size_t before_length,
	const char *after, size_t after_length)
{
	static const char suffix[] = ".json";
	size_t length = strlen(name);

	if (length < strlen(suffix) || strcmp(name + length - strlen(suffix), suffix) != 0)
		return after_length > 0;
	json_object *old = parse(before, before_length), *new = parse(after, after_length);
	bool is_like = old && new &&has_same_members(old, new, LEVELS);

	json_object_put(old);
	json_object_put(new);
	return is_like;
}

/* SPDX-License-Identifier: ISC */
#include "json_text.h"

#include <errno.h>
#include <string.h>

#include "escape.h"
#include "names.h"

#define DEPTH_MAX 8

json_object *ac_json_escaped(const char *bytes)
{
	char text[3 * AC_PATH_MAX];

	ac_escape(text, sizeof text, bytes, strlen(bytes));
	return json_object_new_string(text);
}

void ac_json_add(json_object *object, const char *key, json_object *value)
{
	if (json_object_object_add(object, key, value) < 0)
		json_object_put(value);
}

int ac_json_parse(const char *text, size_t length, json_object **root)
{
	json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	json_object *parsed = NULL;

	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	parsed = json_tokener_parse_ex(tokener, text, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
		json_tokener_get_parse_end(tokener) != length) {
		json_object_put(parsed);
		parsed = NULL;
	}
	json_tokener_free(tokener);
	*root = parsed;
	return parsed ? 0 : -EBADMSG;
}

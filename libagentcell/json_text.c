/* SPDX-License-Identifier: ISC */
#include "json_text.h"

#include <string.h>

#include "escape.h"
#include "names.h"

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

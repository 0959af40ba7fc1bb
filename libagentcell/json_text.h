/* SPDX-License-Identifier: ISC */
/* The little that every writer and every strict reader of JSON here does with json-c. */
#ifndef AC_JSON_TEXT_H
#define AC_JSON_TEXT_H

#include <json-c/json.h>

static inline void ac_json_put_pointer(json_object **object)
{
	json_object_put(*object);
}

#define ac_autojson __attribute__((cleanup(ac_json_put_pointer)))

/* A string of bytes that may be anything, escaped (escape.h), of at most AC_PATH_MAX bytes; the
 * caller's.  NULL: no memory. */
json_object *ac_json_escaped(const char *bytes);

/* The value is the object's, or gone where there is no memory for the key. */
void ac_json_add(json_object *object, const char *key, json_object *value);

/* Strict, and nothing behind it: 0, -EBADMSG or -ENOMEM. */
int ac_json_parse(const char *text, size_t length, json_object **root);

#endif

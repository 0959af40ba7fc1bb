/* SPDX-License-Identifier: ISC */
/* The little that every writer of JSON here does to a json-c object. */
#ifndef AC_JSON_TEXT_H
#define AC_JSON_TEXT_H

#include <json-c/json.h>

/* A string of bytes that may be anything, escaped (escape.h), of at most AC_PATH_MAX bytes; the
 * caller's.  NULL: no memory. */
json_object *ac_json_escaped(const char *bytes);

/* The value is the object's, or gone where there is no memory for the key. */
void ac_json_add(json_object *object, const char *key, json_object *value);

#endif

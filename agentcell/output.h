/* SPDX-License-Identifier: ISC */
/*
 * What people and programs read.  A command makes JSON objects, and shows the same ones as JSON, as
 * a block of aligned lines or as a table; strings in them are escaped (escape.h) when made.
 */
#ifndef AC_OUTPUT_H
#define AC_OUTPUT_H

#include <json-c/json.h>
#include <stdint.h>

#include "err.h"

/* Prints "agentcell: message"; returns AC_EXIT_FAILED. */
int ac_out_error(const struct ac_err *err);

/* Prints how the command is used; returns AC_EXIT_USAGE. */
int ac_out_usage(const char *synopsis);

/* Adds an escaped string, a number, a boolean or an object that is given away.  Out of memory
 * ends the program: it has nothing to undo. */
void ac_out_add(json_object *object, const char *key, const char *bytes);
void ac_out_add_number(json_object *object, const char *key, int64_t number);
void ac_out_add_bool(json_object *object, const char *key, int value);
void ac_out_add_value(json_object *object, const char *key, json_object *value);
void ac_out_append(json_object *array, const char *bytes);
json_object *ac_out_object(void);
json_object *ac_out_array(void);

void ac_out_json(json_object *value); /* one line */

struct ac_out_column {
	const char *key, *heading;
};

/* Both end with a column whose key is NULL. */
void ac_out_block(json_object *object, const struct ac_out_column *lines);
void ac_out_table(json_object *array, const struct ac_out_column *columns);

/* Text of a value for a terminal: "-" when missing; control bytes become '?'. */
void ac_out_text(char *text, size_t size, json_object *value);

#endif

/* SPDX-License-Identifier: ISC */
/* JSON objects as text: one line, a block, a table. */
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "escape.h"
#include "util.h"

#define CELL_MAX 16384
#define LABEL_WIDTH 12

int ac_out_error(const struct ac_err *err)
{
	fflush(stdout);
	fprintf(stderr, "agentcell: %s\n", err->text);
	return AC_EXIT_FAILED;
}

int ac_out_usage(const char *synopsis)
{
	fflush(stdout);
	fprintf(stderr, "usage: agentcell %s\n", synopsis);
	return AC_EXIT_USAGE;
}

static void need(const void *pointer)
{
	if (pointer)
		return;
	fputs("agentcell: out of memory\n", stderr);
	exit(AC_EXIT_FAILED);
}

json_object *ac_out_object(void)
{
	json_object *object = json_object_new_object();

	need(object);
	return object;
}

json_object *ac_out_array(void)
{
	json_object *array = json_object_new_array();

	need(array);
	return array;
}

static json_object *escaped(const char *bytes)
{
	size_t length = strlen(bytes), size = 3 * length + 1;
	ac_autofree char *text = malloc(size);
	json_object *string;

	need(text);
	ac_escape(text, size, bytes, length);
	string = json_object_new_string(text);
	need(string);
	return string;
}

void ac_out_add_value(json_object *object, const char *key, json_object *value)
{
	if (json_object_object_add(object, key, value) < 0)
		need(NULL);
}

void ac_out_add(json_object *object, const char *key, const char *bytes)
{
	ac_out_add_value(object, key, escaped(bytes));
}

void ac_out_add_number(json_object *object, const char *key, int64_t number)
{
	json_object *value = json_object_new_int64(number);

	need(value);
	ac_out_add_value(object, key, value);
}

void ac_out_add_bool(json_object *object, const char *key, int value)
{
	json_object *boolean = json_object_new_boolean(value);

	need(boolean);
	ac_out_add_value(object, key, boolean);
}

void ac_out_append(json_object *array, const char *bytes)
{
	if (json_object_array_add(array, escaped(bytes)) < 0)
		need(NULL);
}

void ac_out_json(json_object *value)
{
	const char *text = json_object_to_json_string_ext(
		value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	need(text);
	puts(text);
}

void ac_out_text(char *text, size_t size, json_object *value)
{
	if (json_object_is_type(value, json_type_boolean))
		snprintf(text, size, "%s", json_object_get_boolean(value) ? "yes" : "no");
	else
		snprintf(text, size, "%s", value ? json_object_get_string(value) : "");
	if (!text[0])
		snprintf(text, size, "-");
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			*text = '?';
}

static void print_line(const char *heading, json_object *value)
{
	char text[CELL_MAX];

	ac_out_text(text, sizeof(text), value);
	printf("  %-*s%s\n", LABEL_WIDTH, heading, text);
}

void ac_out_block(json_object *object, const struct ac_out_column *lines)
{
	for (; lines->key; lines++) {
		json_object *value = NULL;
		size_t i;

		if (!json_object_object_get_ex(object, lines->key, &value))
			continue;
		if (!json_object_is_type(value, json_type_array)) {
			print_line(lines->heading, value);
			continue;
		}
		if (json_object_array_length(value) == 0)
			print_line(lines->heading, NULL);
		for (i = 0; i < json_object_array_length(value); i++)
			print_line(i ? "" : lines->heading, json_object_array_get_idx(value, i));
	}
}

static void cell_text(char *text, size_t size, json_object *row, const char *key)
{
	json_object *value = NULL;

	json_object_object_get_ex(row, key, &value);
	ac_out_text(text, size, value);
}

static size_t column_width(json_object *array, const struct ac_out_column *column)
{
	size_t width = strlen(column->heading), i;

	for (i = 0; i < json_object_array_length(array); i++) {
		char text[CELL_MAX];
		size_t length;

		cell_text(text, sizeof(text), json_object_array_get_idx(array, i), column->key);
		length = strlen(text);
		if (length > width)
			width = length;
	}
	return width;
}

static void print_cell(const char *text, size_t width, const struct ac_out_column *column)
{
	/* The last one is not padded: no blanks at the end of a line. */
	if (column[1].key)
		printf("%-*s  ", (int)width, text);
	else
		puts(text);
}

void ac_out_table(json_object *array, const struct ac_out_column *columns)
{
	size_t widths[16], row;
	unsigned i;

	for (i = 0; i < AC_COUNT(widths) && columns[i].key; i++)
		widths[i] = column_width(array, &columns[i]);
	for (i = 0; columns[i].key; i++)
		print_cell(columns[i].heading, widths[i], &columns[i]);
	for (row = 0; row < json_object_array_length(array); row++) {
		for (i = 0; columns[i].key; i++) {
			char text[CELL_MAX];

			cell_text(text, sizeof(text), json_object_array_get_idx(array, row),
				columns[i].key);
			print_cell(text, widths[i], &columns[i]);
		}
	}
}

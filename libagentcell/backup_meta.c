/* SPDX-License-Identifier: ISC */
/* What a manifest says in words: one JSON object, paths escaped so that any reader can show it. */
#include "backup_make.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json_text.h"
#include "util.h"

static void add_text(struct json_object *object, const char *key, const char *value)
{
	if (value)
		json_object_object_add(object, key, json_object_new_string(value));
}

static void add_number(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static struct json_object *root_list(const struct ac_manifest *manifest)
{
	struct json_object *list = json_object_new_array();

	for (uint64_t at = 0; at < manifest->roots_length; at += strlen(manifest->roots + at) + 1)
		json_object_array_add(list, ac_json_escaped(manifest->roots + at));
	return list;
}

static struct json_object *exclude_list(const struct ac_strings *exclude)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; exclude && i < exclude->count; i++)
		json_object_array_add(list, ac_json_escaped(exclude->text[i]));
	return list;
}

static struct json_object *totals_object(const struct ac_backup_totals *totals)
{
	struct json_object *object = json_object_new_object();

	add_number(object, "files", totals->files);
	add_number(object, "directories", totals->directories);
	add_number(object, "others", totals->others);
	add_number(object, "bytes", totals->bytes);
	add_number(object, "new_bytes", totals->new_bytes);
	add_number(object, "torn", totals->torn);
	add_number(object, "unreadable", totals->unreadable);
	return object;
}

char *ac_make_meta(const struct ac_backup_request *request, const struct ac_manifest *manifest,
	const struct ac_backup_totals *totals, const struct ac_walk_notes *notes)
{
	struct json_object *object = json_object_new_object();
	struct json_object *environment = request->environment
						  ? json_tokener_parse(request->environment)
						  : NULL;
	time_t started = (time_t)manifest->header.started_s;
	struct tm tm;
	char text[32] = "";

	if (!object)
		return NULL;
	if (gmtime_r(&started, &tm))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_object_object_add(object, "format", json_object_new_int(AC_FORMAT_VERSION));
	add_text(object, "backup_id", request->backup_id);
	add_text(object, "session_id", request->session_id);
	add_text(object, "user", request->user);
	add_text(object, "started", text);
	json_object_object_add(object, "paths", root_list(manifest));
	json_object_object_add(object, "exclude", exclude_list(request->exclude));
	json_object_object_add(object, "totals", totals_object(totals));
	add_text(object, "torn", notes->torn[0] ? notes->torn : NULL);
	add_text(object, "unreadable", notes->unreadable[0] ? notes->unreadable : NULL);
	if (environment)
		json_object_object_add(object, "environment", environment);
	else
		add_text(object, "environment", request->environment);
	const char *string = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
	char *meta = string ? strdup(string) : NULL;

	json_object_put(object);
	return meta;
}

int ac_make_id(char id[AC_BACKUP_ID_SIZE], struct ac_err *err)
{
	unsigned char random[6];
	time_t now = time(NULL);
	struct tm tm;
	int result = ac_store_random(random, sizeof random, err);

	if (result)
		return result;
	if (!gmtime_r(&now, &tm))
		return ac_fail(err, EOVERFLOW, "the clock is wrong");
	strftime(id, AC_BACKUP_ID_SIZE, "%Y%m%dT%H%M%SZ-", &tm);
	for (unsigned i = 0; i < sizeof random; i++)
		snprintf(id + strlen(id), AC_BACKUP_ID_SIZE - strlen(id), "%02x", random[i]);
	return 0;
}

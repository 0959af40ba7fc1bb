/* SPDX-License-Identifier: ISC */
/* Root's part of the preflight snapshot: from the policy, uname and two files of root's. */
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "json_text.h"
#include "safefile.h"
#include "util.h"

#define CONFIG_MAX (1u << 20)

static json_object *name_list(const char *variables)
{
	json_object *list = json_object_new_array();

	while (variables && *variables) {
		size_t length = strcspn(variables, " ");

		if (length)
			json_object_array_add(
				list, json_object_new_string_len(variables, (int)length));
		variables += length;
		variables += strspn(variables, " ");
	}
	return list;
}

static json_object *path_list(const struct ac_path_list *paths)
{
	json_object *list = json_object_new_array();

	for (unsigned i = 0; i < paths->count; i++)
		json_object_array_add(list, ac_json_escaped(paths->entry[i].path));
	return list;
}

static json_object *hash_of(const char *path)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	char text[2 * sizeof hash + 1];
	ac_autofree char *bytes = malloc(CONFIG_MAX);
	ac_autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t length = bytes && fd >= 0 ? ac_read_all(fd, bytes, CONFIG_MAX) : -1;

	if (length < 0)
		return NULL;
	SHA256((const unsigned char *)bytes, (size_t)length, hash);
	for (size_t i = 0; i < sizeof hash; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	return json_object_new_string(text);
}

static json_object *kernel(void)
{
	json_object *object = json_object_new_object();
	struct utsname name;

	if (uname(&name) < 0)
		return object;
	ac_json_add(object, "release", ac_json_escaped(name.release));
	ac_json_add(object, "version", ac_json_escaped(name.version));
	ac_json_add(object, "machine", ac_json_escaped(name.machine));
	return object;
}

static json_object *policy_words(const struct ac_policy *policy)
{
	json_object *object = json_object_new_object();

	ac_json_add(object, "risk", json_object_new_string(ac_risk_name(policy->risk)));
	ac_json_add(object, "wall_clock_s", json_object_new_uint64(policy->limits.wall_clock_s));
	ac_json_add(object, "network", ac_json_escaped(policy->firewall_rule));
	ac_json_add(object, "read_paths", path_list(&policy->read_paths));
	ac_json_add(object, "excluded_paths", path_list(&policy->excluded_paths));
	ac_json_add(object, "protect_git", json_object_new_boolean(policy->protect_git));
	return object;
}

char *ac_preflight_dup(
	const struct ac_session_policy *session, const char *config_file, const char *variables)
{
	json_object *object = json_object_new_object();
	json_object *harness = json_object_new_object();
	json_object *config = json_object_new_object();

	ac_json_add(harness, "name", ac_json_escaped(session->plan.harness));
	ac_json_add(harness, "path", ac_json_escaped(session->plan.command));
	ac_json_add(config, "path", ac_json_escaped(config_file));
	ac_json_add(config, "sha256", hash_of(config_file));
	ac_json_add(object, "variables", name_list(variables));
	ac_json_add(object, "harness", harness);
	ac_json_add(object, "kernel", kernel());
	ac_json_add(object, "config", config);
	ac_json_add(object, "policy", policy_words(&session->policy));
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
	char *copy = text ? strdup(text) : NULL;

	json_object_put(object);
	return copy;
}

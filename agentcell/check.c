/* SPDX-License-Identifier: ISC */
/*
 * agentcell check: is this a configuration file that agentcell would take?  Needs no privilege, and
 * says beforehand what would refuse every session afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "config.h"
#include "options.h"
#include "output.h"
#include "util.h"

#define SYNOPSIS "check [--harness] [--json] FILE"

static void print_problem(void *context, const char *text)
{
	json_object *problems = context;

	ac_out_append(problems, text);
}

/* Text of the errors comes with names already made printable: shown as it is. */
static void show(json_object *result, json_object *problems, bool json)
{
	size_t i;

	if (json) {
		ac_out_json(result);
		return;
	}
	for (i = 0; i < json_object_array_length(problems); i++)
		fprintf(stderr, "%s\n",
			json_object_get_string(json_object_array_get_idx(problems, i)));
}

/* profiles lie in a directory of that name */
static bool is_profile(const char *path)
{
	const char *slash = strrchr(path, '/');
	static const char directory[] = "harness.d";
	size_t length = strlen(directory);

	return slash && (size_t)(slash - path) >= length &&
	       strncmp(slash - length, directory, length) == 0;
}

static int parse(int fd, const char *path, bool harness, json_object *problems)
{
	ac_autofree struct ac_config *config = calloc(1, sizeof(*config));
	ac_autofree struct ac_harness *profile = calloc(1, sizeof(*profile));
	struct ac_err err = { 0 };

	if (!config || !profile)
		return -ENOMEM;
	if (harness || is_profile(path))
		return ac_harness_check(fd, path, profile, print_problem, problems, &err);
	return ac_config_check(fd, path, config, print_problem, problems, &err);
}

/* Not an error of a draft, but it would be one in place. */
static void note_permissions(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && (st.st_uid != 0 || (st.st_mode & 022)))
		fprintf(stderr,
			"note: in its place the file must be root's and writable by root only "
			"(%s: uid %u, mode %04o)\n",
			path, st.st_uid, st.st_mode & 07777);
}

int ac_command_check(int argc, char **argv)
{
	struct ac_options options;
	int first = ac_options_parse(argc, argv, "jH", SYNOPSIS, &options);
	json_object *result, *problems;
	ac_autoclose int fd = -1;
	int rc;

	if (first < 0)
		return -1 - first;
	if (argc - first != 1)
		return ac_out_usage(SYNOPSIS);
	fd = open(argv[first], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "agentcell: open %s: %s\n", argv[first], strerror(errno));
		return AC_EXIT_FAILED;
	}
	result = ac_out_object();
	problems = ac_out_array();
	rc = parse(fd, argv[first], options.harness, problems);
	ac_out_add(result, "file", argv[first]);
	ac_out_add_bool(result, "valid", rc == 0);
	ac_out_add_value(result, "problems", problems);
	show(result, problems, options.json);
	note_permissions(fd, argv[first]);
	if (rc == 0 && !options.json)
		puts("valid");
	json_object_put(result);
	return rc == 0 ? AC_EXIT_OK : AC_EXIT_FAILED;
}

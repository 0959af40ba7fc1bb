/* SPDX-License-Identifier: ISC */
/*
 * agentcell log: reads the JSON log with the caller's own rights.  A line that is no JSON object
 * (torn by a full disk) is counted, not shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "config.h"
#include "config_value.h"
#include "options.h"
#include "output.h"
#include "util.h"

#define SYNOPSIS "log [--json] [--session ID] [-n NUMBER]"
#define DEFAULT_LINES 20
#define LINES_MAX 1000000

struct window { /* the last lines that matched */
	json_object **lines;
	uint64_t size; /* 0: all are shown at once */
	uint64_t count;
	uint64_t torn;
	bool json;
};

static const char *text_of(json_object *line, const char *key)
{
	json_object *value = NULL;

	return json_object_object_get_ex(line, key, &value) ? json_object_get_string(value) : "";
}

static void show(json_object *line, bool json)
{
	static const char *const head[] = { "time", "event", "session_id", "status", "cause" };

	if (json) {
		ac_out_json(line);
		return;
	}
	printf("%.10s %.8s  %-9s %-12s  %s/%s", text_of(line, "time"),
		strlen(text_of(line, "time")) > 11 ? text_of(line, "time") + 11 : "",
		text_of(line, "event"), text_of(line, "session_id"), text_of(line, "status"),
		text_of(line, "cause"));
	json_object_object_foreach(line, key, value)
	{
		char text[4096];
		unsigned i;

		for (i = 0; i < AC_COUNT(head) && strcmp(head[i], key) != 0; i++)
			;
		if (i < AC_COUNT(head))
			continue;
		ac_out_text(text, sizeof(text), value);
		printf("  %s=%s", key, text);
	}
	putchar('\n');
}

static void push(struct window *window, json_object *line)
{
	json_object **slot;

	if (!window->size) {
		show(line, window->json);
		json_object_put(line);
		return;
	}
	slot = &window->lines[window->count++ % window->size];
	json_object_put(*slot);
	*slot = line;
}

static void flush(struct window *window)
{
	uint64_t i, first = window->count > window->size ? window->count - window->size : 0;

	for (i = first; window->size && i < window->count; i++) {
		json_object *line = window->lines[i % window->size];

		show(line, window->json);
		json_object_put(line);
	}
}

static int read_lines(FILE *stream, const char *session, struct window *window)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stream) > 0) {
		json_object *object = json_tokener_parse(line);

		if (!json_object_is_type(object, json_type_object)) {
			json_object_put(object);
			window->torn++;
		} else if (session && strcmp(text_of(object, "session_id"), session) != 0) {
			json_object_put(object);
		} else {
			push(window, object);
		}
	}
	free(line);
	return ferror(stream) ? -EIO : 0;
}

static int open_log(FILE **stream, struct ac_err *err)
{
	ac_autofree struct ac_config *config = calloc(1, sizeof(*config));
	int fd, rc;

	if (!config)
		return ac_fail_errno(err, ENOMEM, "read the configuration");
	rc = ac_config_read(AC_CONFIG_FILE, config, err);
	if (rc < 0)
		return rc;
	fd = open(config->log_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return ac_fail_errno(err, errno, "open %s%s", config->log_path,
			errno == EACCES ? " (members of group adm may read it)" : "");
	*stream = fdopen(fd, "r");
	if (!*stream) {
		close(fd);
		return ac_fail_errno(err, ENOMEM, "read %s", config->log_path);
	}
	return 0;
}

int ac_command_log(int argc, char **argv)
{
	struct ac_options options;
	int first = ac_options_parse(argc, argv, "jsn", SYNOPSIS, &options);
	struct window window = { .size = DEFAULT_LINES };
	ac_autofclose FILE *stream = NULL;
	struct ac_err err = { 0 };

	if (first < 0)
		return -1 - first;
	if (first != argc || (options.number && ac_count_parse(options.number, LINES_MAX,
							&window.size, &err) < 0))
		return ac_out_usage(SYNOPSIS " (0: all)");
	window.json = options.json;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers to lines */
	window.lines = calloc(window.size + 1, sizeof(*window.lines));
	if (!window.lines || open_log(&stream, &err) < 0) {
		free(window.lines);
		return ac_out_error(&err);
	}
	if (read_lines(stream, options.session, &window) < 0)
		ac_fail(&err, EIO, "the log cannot be read to its end");
	flush(&window);
	free(window.lines);
	if (window.torn)
		fprintf(stderr, "agentcell: %llu torn lines left out\n",
			(unsigned long long)window.torn);
	return err.code ? ac_out_error(&err) : AC_EXIT_OK;
}

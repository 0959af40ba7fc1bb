/* SPDX-License-Identifier: ISC */
/*
 * agentcelld: the listener.  See agentcelld(8).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "guardian.h"
#include "replay.h"

static const char usage[] =
	"usage: agentcelld [-c config] [-n fd] [--plugin]\n"
	"       agentcelld --replay file --policy session-directory [--silent file]\n"
	"                  [--launcher pid]\n";

struct options {
	const char *config;
	struct ac_replay_options replay;
	int ready_fd;
	bool plugin;
};

static int parse_fd(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	return *text && !*end && fd > 2 && fd < 1024 ? (int)fd : -1;
}

/* Every option but one takes a value; false: not understood. */
static bool parse(int argc, char **argv, struct options *options)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(argv[i], "--plugin")) {
			options->plugin = true;
			continue;
		}
		if (!value)
			return false;
		if (!strcmp(argv[i], "-c"))
			options->config = value;
		else if (!strcmp(argv[i], "-n") && parse_fd(value) > 2)
			options->ready_fd = parse_fd(value);
		else if (!strcmp(argv[i], "--replay"))
			options->replay.file = value;
		else if (!strcmp(argv[i], "--policy"))
			options->replay.session_directory = value;
		else if (!strcmp(argv[i], "--silent"))
			options->replay.silent_file = value;
		else if (!strcmp(argv[i], "--launcher"))
			options->replay.launcher = strtol(value, NULL, 10);
		else
			return false;
		i++;
	}
	return !options->replay.file == !options->replay.session_directory;
}

int main(int argc, char **argv)
{
	struct options options = {
		.config = AC_CONFIG_FILE,
		.replay = { .silent_file = AC_SILENT_FILE },
		.ready_fd = -1,
	};

	if (!parse(argc, argv, &options)) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (options.replay.file)
		return ac_replay(&options.replay);
	if (geteuid() != 0) {
		(void)fputs("agentcelld: must be started by root\n", stderr);
		return 1;
	}
	if (options.ready_fd >= 0)
		(void)fcntl(options.ready_fd, F_SETFD, FD_CLOEXEC);
	openlog("agentcelld", LOG_PID | LOG_PERROR, LOG_AUTHPRIV);
	return ac_guardian_run(options.config, options.ready_fd, options.plugin);
}

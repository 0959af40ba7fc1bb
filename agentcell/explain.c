/* SPDX-License-Identifier: ISC */
/*
 * agentcell explain: what `sudo -u agentcell-worker COMMAND` would get, here and now.
 *
 * Needs no privilege: reads the same configuration, asks the same functions as the sudo plugin and
 * starts nothing.  Whether sudoers allows the command is sudo's to say (sudo -l).
 */
#include "explain.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands.h"
#include "options.h"
#include "output.h"
#include "util.h"

#define SYNOPSIS "explain [--json] [AGENTCELL_NAME=VALUE...] [COMMAND [ARGUMENT...]]"

static const struct ac_out_column lines[] = {
	{ "role_user", "sudo -u" },
	{ "account", "runs as" },
	{ "harness", "harness" },
	{ "risk", "risk" },
	{ "write_paths", "read-write" },
	{ "read_paths", "read-only" },
	{ "excluded_paths", "excluded" },
	{ "tool_paths", "tools" },
	{ "firewall", "network" },
	{ "endpoints", "endpoints" },
	{ "environment", "passes in" },
	{ "settings", "is set" },
	{ "wall_clock", "ends after" },
	{ "limits", "limits" },
	{ "backup_directory", "backups" },
	{ "log_path", "log" },
	{ "problems", "REFUSED" },
	{ NULL, NULL },
};

const char *ac_explain_setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static void add_problem(struct ac_explain *explain, const struct ac_err *err)
{
	ac_out_append(explain->problems, err->text);
}

static void add_identity(struct ac_explain *explain)
{
	char text[128];

	snprintf(text, sizeof(text), "agentcell-<session>, a uid of %u-%u for this session only",
		explain->config->uid_first, explain->config->uid_last);
	ac_out_add(explain->result, "role_user", explain->config->role_user);
	ac_out_add(explain->result, "account", text);
}

static void add_risk(struct ac_explain *explain)
{
	enum ac_risk risk = explain->config->risk;
	const char *asked = ac_explain_setting("AGENTCELL_RISK");
	struct ac_err err = { 0 };

	if (asked && ac_risk_parse(asked, &risk, &err) == 0 && risk < explain->config->risk)
		ac_fail(&err, EPERM, "AGENTCELL_RISK=%s is lower than the configuration's %s",
			asked, ac_risk_name(explain->config->risk));
	if (err.code)
		add_problem(explain, &err);
	ac_out_add(explain->result, "risk", ac_risk_name(risk));
}

static void add_wall_clock(struct ac_explain *explain)
{
	uint64_t seconds = explain->config->wall_clock_limit_s;
	const char *asked = ac_explain_setting("AGENTCELL_WALL_CLOCK");
	struct ac_err err = { 0 };
	char text[64];

	if (asked && ac_duration_parse(asked, &seconds, &err) == 0 &&
		seconds > explain->config->wall_clock_max_s)
		ac_fail(&err, EPERM, "AGENTCELL_WALL_CLOCK=%s is more than wall_clock_max, %llu s",
			asked, (unsigned long long)explain->config->wall_clock_max_s);
	if (err.code)
		add_problem(explain, &err);
	snprintf(text, sizeof(text), "%llu h %llu min %llu s", (unsigned long long)seconds / 3600,
		(unsigned long long)seconds / 60 % 60, (unsigned long long)seconds % 60);
	ac_out_add(explain->result, "wall_clock", text);
	ac_out_add_number(explain->result, "wall_clock_s", (int64_t)seconds);
}

static void add_endpoint(json_object *list, const struct ac_endpoint *endpoint)
{
	bool is_network = endpoint->family &&
			  endpoint->prefix != (endpoint->family == AF_INET ? 32 : 128);
	char text[AC_HOST_MAX + 32], prefix[8] = "";

	if (is_network)
		snprintf(prefix, sizeof(prefix), "/%u", endpoint->prefix);
	snprintf(text, sizeof(text), endpoint->family == AF_INET6 ? "[%s]%s:%u" : "%s%s:%u",
		endpoint->host, prefix, endpoint->port);
	ac_out_append(list, text);
}

static void add_asked_endpoints(struct ac_explain *explain, json_object *list)
{
	const char *asked = ac_explain_setting("AGENTCELL_ENDPOINTS");
	ac_autofree char *copy = asked ? strdup(asked) : NULL;
	char *rest = copy, *word;
	struct ac_err err = { 0 };

	if (asked && !explain->config->request_endpoints) {
		ac_fail(&err, EPERM, "AGENTCELL_ENDPOINTS: request_endpoints is no");
		add_problem(explain, &err);
		return;
	}
	while ((word = strsep(&rest, ","))) {
		struct ac_endpoint endpoint;

		if (ac_endpoint_parse(word, &endpoint, &err) < 0)
			add_problem(explain, &err);
		else
			add_endpoint(list, &endpoint);
	}
}

static void add_proxy(struct ac_explain *explain, const struct ac_endpoint *proxy)
{
	char text[AC_HOST_MAX + 128];

	snprintf(text, sizeof(text),
		proxy->family == AF_INET6
			? "only by the proxy [%s]:%u, which judges what may be reached"
			: "only by the proxy %s:%u, which judges what may be reached",
		proxy->host, proxy->port);
	ac_out_add(explain->result, "firewall", text);
}

static void add_network(struct ac_explain *explain, const struct ac_harness *harness)
{
	const struct ac_config *config = explain->config;
	json_object *list = ac_out_array();
	unsigned i;

	if (!config->firewall_enabled)
		ac_out_add(explain->result, "firewall", "NOT FILTERED (firewall enabled = no)");
	else if (config->egress_proxy.port)
		add_proxy(explain, &config->egress_proxy);
	else
		ac_out_add(explain->result, "firewall", "TCP to these endpoints, nothing else");
	for (i = 0; i < config->endpoint_count; i++)
		add_endpoint(list, &config->endpoints[i]);
	for (i = 0; i < harness->endpoint_count; i++)
		add_endpoint(list, &harness->endpoints[i]);
	add_asked_endpoints(explain, list);
	ac_out_add_value(explain->result, "endpoints", list);
}

/* Names only, never a value. */
static void add_names(json_object *list, const struct ac_names *names)
{
	unsigned i;

	for (i = 0; i < names->count; i++)
		if (getenv(names->name[i]))
			ac_out_append(list, names->name[i]);
}

static void add_environment(struct ac_explain *explain, const struct ac_harness *harness)
{
	json_object *passed = ac_out_array(), *set = ac_out_array();
	unsigned i;

	add_names(passed, &explain->config->env_allowlist);
	add_names(passed, &harness->env_allowlist);
	for (i = 0; i < harness->environment.count; i++)
		ac_out_append(set, harness->environment.setting[i].name);
	ac_out_add_value(explain->result, "environment", passed);
	ac_out_add_value(explain->result, "settings", set);
}

static void add_limits(struct ac_explain *explain, const struct ac_harness *harness)
{
	struct ac_limits limits = explain->config->limits;
	char text[256], memory[64] = "memory not limited";

	if (limits.memory_bytes && limits.memory_bytes < harness->memory_floor_bytes)
		limits.memory_bytes = harness->memory_floor_bytes;
	if (limits.memory_bytes)
		snprintf(memory, sizeof(memory), "memory %llu MiB",
			(unsigned long long)(limits.memory_bytes >> 20));
	snprintf(text, sizeof(text), "%llu processes, %s, %llu open files, home %llu MiB",
		(unsigned long long)limits.processes, memory, (unsigned long long)limits.open_files,
		(unsigned long long)(limits.home_bytes >> 20));
	ac_out_add(explain->result, "limits", text);
}

static int fill_identity(struct ac_explain *explain, struct ac_err *err)
{
	const struct passwd *passwd = getpwuid(getuid());
	int count = getgroups(AC_GROUPS_MAX, explain->groups);

	if (!passwd || count < 0)
		return ac_fail(err, ENOENT, "uid %u has no account, or too many groups", getuid());
	explain->who = (struct ac_identity){ getuid(), getgid(), (unsigned)count, explain->groups };
	explain->home = passwd->pw_dir;
	explain->cwd_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (explain->cwd_fd < 0)
		return ac_fail_errno(err, errno, "open the current directory");
	return 0;
}

static int fill(struct ac_explain *explain, const char *command, struct ac_err *err)
{
	ac_autofree struct ac_harness *harness = calloc(1, sizeof(*harness));
	int rc;

	if (!harness)
		return ac_fail_errno(err, ENOMEM, "read harness profiles");
	rc = ac_harness_pick(AC_HARNESS_DIRECTORY, ac_explain_setting("AGENTCELL_HARNESS"), command,
		explain->config->default_harness, harness, err);
	if (rc < 0)
		return rc;
	add_identity(explain);
	ac_out_add(explain->result, "harness", harness->name);
	add_risk(explain);
	ac_explain_paths(explain);
	add_network(explain, harness);
	add_environment(explain, harness);
	add_wall_clock(explain);
	add_limits(explain, harness);
	ac_out_add(explain->result, "backup_directory", explain->config->backup_directory);
	ac_out_add(explain->result, "log_path", explain->config->log_path);
	return 0;
}

static int show(struct ac_explain *explain, bool json)
{
	bool is_refused = json_object_array_length(explain->problems) > 0;

	if (json || is_refused)
		ac_out_add_value(explain->result, "problems", json_object_get(explain->problems));
	if (json) {
		ac_out_json(explain->result);
	} else {
		ac_out_block(explain->result, lines);
		if (explain->who.uid == 0)
			puts("  note        root cannot start a session; paths are shown as asked "
			     "for");
	}
	return is_refused ? AC_EXIT_FAILED : AC_EXIT_OK;
}

/* sudo takes settings before the command; so do we.  Returns the index of the command. */
static int take_settings(int first, int argc, char **argv)
{
	for (; first < argc; first++) {
		if (strncmp(argv[first], "AGENTCELL_", strlen("AGENTCELL_")) != 0 ||
			!strchr(argv[first], '=') || putenv(argv[first]) != 0)
			break;
	}
	return first;
}

int ac_command_explain(int argc, char **argv)
{
	struct ac_options options;
	int first = ac_options_parse(argc, argv, "j", SYNOPSIS, &options);
	ac_autofree struct ac_config *config = calloc(1, sizeof(*config));
	struct ac_explain explain = { .config = config, .cwd_fd = -1 };
	struct ac_err err = { .code = ENOMEM, .text = "out of memory" };
	int status = AC_EXIT_FAILED;

	if (first < 0)
		return -1 - first;
	first = take_settings(first, argc, argv);
	explain.result = ac_out_object();
	explain.problems = ac_out_array();
	if (!config || ac_config_read(AC_CONFIG_FILE, config, &err) < 0 ||
		fill_identity(&explain, &err) < 0 ||
		fill(&explain, first < argc ? argv[first] : NULL, &err) < 0)
		ac_out_error(&err);
	else
		status = show(&explain, options.json);
	if (explain.cwd_fd >= 0)
		close(explain.cwd_fd);
	json_object_put(explain.result);
	json_object_put(explain.problems);
	return status;
}

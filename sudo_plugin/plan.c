/* SPDX-License-Identifier: ISC */
/*
 * Builds plan and policy.  The request's strings are the user's; they are split, resolved as the
 * user and compared with the admin's limits here, and reach nothing else unchecked.
 */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "firewall.h"
#include "path.h"
#include "plan_harness.h"
#include "plan_paths.h"
#include "util.h"

static int copy_text(char *to, size_t size, const char *from, const char *what, struct ac_err *err)
{
	if (snprintf(to, size, "%s", from) >= (int)size)
		return ac_fail(
			err, ENAMETOOLONG, "%s is too long (limit %zu bytes)", what, size - 1);
	return 0;
}

/* What /proc/self/<name> says; audit ids are the human's and go with the session's records. */
static uint32_t read_audit_id(const char *path)
{
	char text[16] = "";
	unsigned long number;
	ac_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		return (uint32_t)-1;
	text[strcspn(text, "\n")] = '\0';
	return ac_number_parse(text, (uint32_t)-1, &number) == 0 ? (uint32_t)number : (uint32_t)-1;
}

static int fill_user(const struct ac_plan_input *input, struct ac_plan *plan, struct ac_err *err)
{
	const struct ac_request *request = input->request;
	const struct passwd *entry = getpwuid(request->uid);
	struct stat network;

	if (!entry || entry->pw_dir[0] != '/')
		return ac_fail(err, ENOENT, "%s has no account entry with a home directory",
			request->user);
	plan->user_uid = request->uid;
	plan->user_gid = request->gid;
	plan->group_count = request->group_count;
	memcpy(plan->groups, request->groups, sizeof plan->groups);
	plan->started = (uint64_t)time(NULL);
	plan->sudo_pid = getpid();
	if (stat("/proc/self/ns/net", &network) != 0)
		return ac_fail_errno(err, errno, "look at the network namespace");
	plan->network = network.st_ino;
	plan->loginuid = read_audit_id("/proc/self/loginuid");
	plan->audit_session = read_audit_id("/proc/self/sessionid");
	int result = copy_text(plan->user, sizeof plan->user, request->user, "the user name", err);

	if (!result)
		result = copy_text(plan->user_home, sizeof plan->user_home, entry->pw_dir,
			"the home directory", err);
	if (!result)
		result = copy_text(plan->harness, sizeof plan->harness, input->harness->name,
			"the harness name", err);
	return result;
}

/* sudoers gives ./command as it was typed; in the view it is the same file at its own path. */
static int fill_command(const struct ac_plan_input *input, struct ac_plan *plan, struct ac_err *err)
{
	if (ac_path_join(plan->command, sizeof plan->command, plan->cwd, input->command) != 0)
		return ac_fail(err, ENAMETOOLONG, "the command's path is too long (limit %d bytes)",
			AC_PATH_MAX - 1);
	return 0;
}

static int fill_risk(const struct ac_plan_input *input, struct ac_plan *plan, struct ac_err *err)
{
	const char *wish = input->request->wishes.risk;
	enum ac_risk risk = input->config->risk;

	if (wish) {
		int result = ac_risk_parse(wish, &risk, err);

		if (result)
			return ac_fail_within(err, "AGENTCELL_RISK");
		if (risk < input->config->risk)
			return ac_fail(err, EPERM,
				"AGENTCELL_RISK=%s: the administrator set %s; it can only be "
				"raised",
				ac_risk_name(risk), ac_risk_name(input->config->risk));
	}
	plan->risk = risk;
	return 0;
}

static int fill_wall_clock(
	const struct ac_plan_input *input, struct ac_plan *plan, struct ac_err *err)
{
	const char *wish = input->request->wishes.wall_clock;
	uint64_t seconds = input->config->wall_clock_limit_s;

	if (wish) {
		int result = ac_duration_parse(wish, &seconds, err);

		if (result)
			return ac_fail_within(err, "AGENTCELL_WALL_CLOCK");
		if (seconds == 0 || seconds > input->config->wall_clock_max_s)
			return ac_fail(err, EPERM,
				"AGENTCELL_WALL_CLOCK is %llu s: the administrator allows 1 to "
				"%llu s",
				(unsigned long long)seconds,
				(unsigned long long)input->config->wall_clock_max_s);
	}
	plan->wall_clock_limit_s = seconds;
	return 0;
}

static int add_endpoint(
	struct ac_policy *policy, const struct ac_endpoint *endpoint, struct ac_err *err)
{
	for (unsigned i = 0; i < policy->endpoint_count; i++)
		if (policy->endpoints[i].port == endpoint->port &&
			strcmp(policy->endpoints[i].host, endpoint->host) == 0)
			return 0;
	if (policy->endpoint_count == AC_ENDPOINTS_MAX)
		return ac_fail(err, E2BIG, "more than %d endpoints", AC_ENDPOINTS_MAX);
	policy->endpoints[policy->endpoint_count++] = *endpoint;
	return 0;
}

static int add_wished_endpoints(
	const struct ac_plan_input *input, struct ac_policy *policy, struct ac_err *err)
{
	const char *text = input->request->wishes.endpoints;

	if (!text || !*text)
		return 0;
	if (!input->config->request_endpoints)
		return ac_fail(err, EPERM,
			"AGENTCELL_ENDPOINTS is not allowed here (request_endpoints = no in %s)",
			AC_CONFIG_FILE);
	while (*text) {
		char one[AC_HOST_MAX + 16];
		size_t length = strcspn(text, ", ");
		struct ac_endpoint endpoint;

		if (length >= sizeof one)
			return ac_fail(
				err, ENAMETOOLONG, "AGENTCELL_ENDPOINTS: an entry is too long");
		memcpy(one, text, length);
		one[length] = '\0';
		text += length + (text[length] != '\0');
		if (!length)
			continue;
		int result = ac_endpoint_parse(one, &endpoint, err);

		if (result)
			return ac_fail_within(err, "AGENTCELL_ENDPOINTS");
		result = add_endpoint(policy, &endpoint, err);
		if (result)
			return result;
	}
	return 0;
}

static int fill_endpoints(
	const struct ac_plan_input *input, struct ac_policy *policy, struct ac_err *err)
{
	const struct ac_config *config = input->config;
	const struct ac_harness *harness = input->harness;
	int result = 0;

	for (unsigned i = 0; !result && i < config->endpoint_count; i++)
		result = add_endpoint(policy, &config->endpoints[i], err);
	for (unsigned i = 0; !result && i < harness->endpoint_count; i++)
		result = add_endpoint(policy, &harness->endpoints[i], err);
	return result ? result : add_wished_endpoints(input, policy, err);
}

/* Loopback is the host's own, so it is said what of it a session has and who may come in. */
static const char *describe_loopback(const struct ac_policy *policy)
{
	if (ac_firewall_has_loopback() == 0)
		return "no loopback (this kernel cannot tell whose socket it is)";
	return policy->dev_server ? "its servers on loopback are open to you"
				  : "loopback within the session";
}

static void format_endpoint(char *text, size_t size, const struct ac_endpoint *endpoint)
{
	snprintf(text, size, endpoint->family == AF_INET6 ? "[%s]:%u" : "%s:%u", endpoint->host,
		endpoint->port);
}

/* The firewall lets through what goes to the proxy.  What was declared is for the proxy to judge, which
 * has rules of its own: so it is told to people and opens nothing. */
static void go_by_proxy(const struct ac_endpoint *proxy, struct ac_policy *policy)
{
	char *text = policy->firewall_rule;
	size_t size = sizeof policy->firewall_rule;

	format_endpoint(policy->egress_proxy, sizeof policy->egress_proxy, proxy);
	size_t used = (size_t)snprintf(text, size,
		"only by the proxy %s, which judges by its own "
		"rules; %s; declared for the proxy:",
		policy->egress_proxy, describe_loopback(policy));

	for (unsigned i = 0; i < policy->endpoint_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s %s:%u", i ? "," : "",
			policy->endpoints[i].host, policy->endpoints[i].port);
	if (!policy->endpoint_count && used < size)
		snprintf(text + used, size - used, " nothing");
	policy->endpoint_count = 1;
	policy->endpoints[0] = *proxy;
}

static void describe_firewall(struct ac_policy *policy)
{
	char *text = policy->firewall_rule;
	size_t size = sizeof policy->firewall_rule;

	if (!policy->firewall_enabled) {
		snprintf(text, size, "OFF by the administrator: the network is NOT limited");
		return;
	}
	if (!policy->endpoint_count) {
		snprintf(text, size, "no network; %s", describe_loopback(policy));
		return;
	}
	size_t used = (size_t)snprintf(text, size, "TCP to");

	for (unsigned i = 0; i < policy->endpoint_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s %s:%u", i ? "," : "",
			policy->endpoints[i].host, policy->endpoints[i].port);
	if (used < size)
		snprintf(text + used, size - used, "; nothing else; %s", describe_loopback(policy));
}

static void add_names(struct ac_names *to, const struct ac_names *from)
{
	for (unsigned i = 0; i < from->count && to->count < AC_ENV_NAMES_MAX; i++)
		memcpy(to->name[to->count++], from->name[i], AC_NAME_MAX);
}

static void fill_rest(const struct ac_plan_input *input, struct ac_session_policy *session)
{
	const struct ac_config *config = input->config;
	struct ac_policy *policy = &session->policy;

	add_names(&policy->env_allowlist, &config->env_allowlist);
	add_names(&policy->env_allowlist, &input->harness->env_allowlist);
	policy->tolerated = input->harness->tolerated;
	policy->firewall_enabled = config->firewall_enabled;
	policy->dev_server = config->dev_server;
	policy->visitor = session->plan.user_uid;
	policy->limits = config->limits;
	policy->limits.wall_clock_s = session->plan.wall_clock_limit_s;
	if (policy->limits.memory_bytes &&
		policy->limits.memory_bytes < input->harness->memory_floor_bytes)
		policy->limits.memory_bytes = input->harness->memory_floor_bytes;
	policy->risk = session->plan.risk;
	policy->protect_git = config->protect_git;
	policy->nested_sandbox = input->harness->nested_sandbox;
	memcpy(policy->role_user, config->role_user, sizeof policy->role_user);
	describe_firewall(policy);
	if (config->egress_proxy.port && policy->firewall_enabled)
		go_by_proxy(&config->egress_proxy, policy);
	snprintf(policy->responses, sizeof policy->responses,
		"the first escape attempt, %llu s of wall clock, loss of the listener or of audit "
		"records",
		(unsigned long long)policy->limits.wall_clock_s);
}

int ac_plan_make(
	const struct ac_plan_input *input, struct ac_session_policy *session, struct ac_err *err)
{
	struct ac_plan *plan = &session->plan;
	struct ac_policy *policy = &session->policy;
	int result = fill_user(input, plan, err);

	if (!result)
		result = fill_risk(input, plan, err);
	if (!result)
		result = fill_wall_clock(input, plan, err);
	if (!result)
		result = ac_plan_paths(input, plan, policy, err);
	if (!result)
		result = fill_command(input, plan, err);
	if (!result)
		result = fill_endpoints(input, policy, err);
	if (!result)
		fill_rest(input, session);
	return result ? result : ac_plan_harness(input, session, err);
}

void ac_plan_name(struct ac_session_policy *session, const struct ac_config *config, uid_t uid)
{
	struct ac_plan *plan = &session->plan;
	struct ac_policy *policy = &session->policy;
	time_t started = (time_t)plan->started;
	struct tm utc;
	char stamp[32];

	memcpy(policy->session_id, plan->session_id, sizeof policy->session_id);
	policy->uid = uid;
	policy->gid = uid;
	gmtime_r(&started, &utc);
	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
	snprintf(policy->os_user, sizeof policy->os_user, "agentcell-%s", plan->session_id);
	snprintf(policy->home, sizeof policy->home, "/home/agentcell-%s", plan->session_id);
	snprintf(policy->backup_id, sizeof policy->backup_id, "%s-%s", stamp, plan->session_id);
	snprintf(policy->backup_directory, sizeof policy->backup_directory, "%.4000s/%s",
		config->backup_directory, plan->user);
}

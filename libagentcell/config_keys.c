/* SPDX-License-Identifier: ISC */
/*
 * The keys of agentcell.conf.  The defaults are texts and go through the same parsers as the file;
 * a test compares the sample file and the man page with this table.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "config_keys.h"
#include "config_value.h"

#define ROLE "agentcell-worker"

static void *at(struct ac_config *config, size_t offset)
{
	return (char *)config + offset;
}

static int take_name(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_name_parse(text, at(config, offset), err);
}

static int take_path(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_path_parse(text, at(config, offset), err);
}

static int take_bool(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_bool_parse(text, at(config, offset), err);
}

static int take_access(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	bool is_acl = strcmp(text, "acl") == 0;

	if (!is_acl && strcmp(text, "idmap") != 0)
		return ac_fail(err, EINVAL, "'%s' is neither idmap nor acl", text);
	*(bool *)at(config, offset) = is_acl;
	return 0;
}

static int take_risk(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_risk_parse(text, at(config, offset), err);
}

static int take_size(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_size_parse(text, at(config, offset), err);
}

static int take_duration(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_duration_parse(text, at(config, offset), err);
}

/* 0: no limit */
static int take_age(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	uint64_t *age = at(config, offset);

	if (strcmp(text, "0") != 0)
		return ac_duration_parse(text, age, err);
	*age = 0;
	return 0;
}

static int take_count(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_count_parse(text, 1000000, at(config, offset), err);
}

static int take_limit(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	uint64_t value;
	int rc = ac_count_parse(text, 4194304, &value, err);

	if (rc == 0 && value < 16)
		return ac_fail(err, ERANGE, "'%s' is too few for any program; at least 16", text);
	if (rc == 0)
		*(uint64_t *)at(config, offset) = value;
	return rc;
}

static int take_home_size(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	uint64_t value;
	int rc = ac_size_parse(text, &value, err);

	if (rc == 0 && value < 1048576)
		return ac_fail(err, ERANGE, "'%s' is too small; at least 1M", text);
	if (rc == 0)
		*(uint64_t *)at(config, offset) = value;
	return rc;
}

static int take_weight(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	uint64_t value;
	int rc = ac_count_parse(text, 10000, &value, err);

	if (rc == 0 && value == 0)
		return ac_fail(err, ERANGE, "the weight is from 1 to 10000");
	if (rc == 0)
		*(uint64_t *)at(config, offset) = value;
	return rc;
}

static int take_absolute(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_strings_parse(text, AC_FORM_ABSOLUTE, at(config, offset), err);
}

static int take_in_home(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_strings_parse(text, AC_FORM_HOME, at(config, offset), err);
}

static int take_patterns(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_strings_parse(text, AC_FORM_PATTERN, at(config, offset), err);
}

static int take_variables(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	return ac_environment_names_parse(text, at(config, offset), err);
}

static int take_endpoints(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	(void)offset;
	return ac_endpoints_parse(text, config->endpoints, &config->endpoint_count, err);
}

static int take_allow(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	bool allow = strcmp(text, "allow") == 0;

	if (!allow && strcmp(text, "deny") != 0)
		return ac_fail(err, EINVAL, "'%s' is neither allow nor deny", text);
	*(bool *)at(config, offset) = allow;
	return 0;
}

/* One host: a name or an address, no network. */
static int take_proxy(struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	struct ac_endpoint *proxy = at(config, offset), made;
	int rc;

	memset(&made, 0, sizeof(made));
	rc = *text ? ac_endpoint_parse(text, &made, err) : 0;
	if (rc == 0 && made.family && made.prefix != (made.family == AF_INET ? 32 : 128))
		return ac_fail(err, EINVAL, "'%s' is a network; a proxy is one host", text);
	if (rc == 0)
		*proxy = made;
	return rc;
}

/* first-last; outside of what systemd and the 16 bit world use for themselves. */
static int take_uid_range(
	struct ac_config *config, size_t offset, const char *text, struct ac_err *err)
{
	const char *dash = strchr(text, '-');
	uint64_t first, last;
	char copy[16];

	(void)offset;
	if (!dash || (size_t)(dash - text) >= sizeof(copy))
		return ac_fail(err, EINVAL, "'%s' is no range; write 70000-70999", text);
	memset(copy, 0, sizeof(copy));
	memcpy(copy, text, (size_t)(dash - text));
	if (ac_count_parse(copy, INT32_MAX, &first, NULL) < 0 ||
		ac_count_parse(dash + 1, INT32_MAX, &last, NULL) < 0 || first > last)
		return ac_fail(err, EINVAL, "'%s' is no range; write 70000-70999", text);
	if (first < 1000 || (first <= 65535 && last >= 61184))
		return ac_fail(err, ERANGE,
			"uid_range %s overlaps 0-999 (the system's) or 61184-65535 (systemd's)",
			text);
	if (last - first >= 100000)
		return ac_fail(err, ERANGE, "uid_range %s has more than 100000 uids", text);
	config->uid_first = (uid_t)first;
	config->uid_last = (uid_t)last;
	return 0;
}

#define AT(member) offsetof(struct ac_config, member)
#define ENTRY(section, key, parse, member, fallback, is_list) \
	{ \
		section, key, section "." key, parse, AT(member), fallback, is_list \
	}
#define KEY(section, key, parse, member, fallback) \
	ENTRY(section, key, parse, member, fallback, false)
#define LIST(section, key, parse, member, fallback) \
	ENTRY(section, key, parse, member, fallback, true)

#define BAIT \
	".ssh .aws .gnupg .kube .docker .azure .oci .config/gcloud .config/gh .netrc " \
	".git-credentials .npmrc .pypirc .m2/settings.xml .vault-token .password-store " \
	".mozilla .config/google-chrome .config/chromium /root"
#define VARIABLES \
	"TERM COLORTERM NO_COLOR FORCE_COLOR COLUMNS LINES LANG LC_ALL LC_CTYPE LC_MESSAGES " \
	"LC_COLLATE LC_NUMERIC LC_TIME TZ CI"

const struct ac_config_entry ac_config_entries[] = {
	KEY("session", "role_user", take_name, role_user, ROLE),
	KEY("session", "default_harness", take_name, default_harness, "generic"),
	KEY("session", "uid_range", take_uid_range, uid_first, "70000-70999"),
	KEY("session", "wall_clock_limit", take_duration, wall_clock_limit_s, "4h"),
	KEY("session", "wall_clock_max", take_duration, wall_clock_max_s, "24h"),
	KEY("session", "risk", take_risk, risk, "medium"),
	LIST("session", "env_allowlist", take_variables, env_allowlist, VARIABLES),
	LIST("paths", "declared_paths", take_absolute, declared_paths, ""),
	LIST("paths", "project_roots", take_absolute, project_roots, ""),
	LIST("paths", "read_paths", take_absolute, read_paths, ""),
	LIST("paths", "excluded_paths", take_absolute, excluded_paths, ""),
	LIST("paths", "tool_paths", take_absolute, tool_paths, ""),
	LIST("paths", "allowed_roots", take_absolute, allowed_roots, ""),
	LIST("paths", "bait", take_in_home, bait, BAIT),
	KEY("paths", "protect_git", take_bool, protect_git, "yes"),
	KEY("paths", "access", take_access, access_acl, "idmap"),
	KEY("backup", "directory", take_path, backup_directory, "/var/lib/agentcell/backups"),
	KEY("backup", "keep_clean", take_count, keep_clean, "3"),
	KEY("backup", "keep_escape", take_count, keep_escape, "0"),
	KEY("backup", "max_age", take_age, max_age_s, "30d"),
	KEY("backup", "max_bytes", take_size, max_bytes, "0"),
	LIST("backup", "exclude", take_patterns, backup_exclude, ""),
	KEY("backup", "allow_torn", take_bool, allow_torn, "no"),
	KEY("backup", "allow_unreadable", take_bool, allow_unreadable, "no"),
	KEY("audit", "log_path", take_path, log_path, "/var/log/agentcell/agentcell.jsonl"),
	KEY("audit", "enable_audit", take_bool, enable_audit, "yes"),
	KEY("firewall", "enabled", take_bool, firewall_enabled, "yes"),
	LIST("firewall", "endpoints", take_endpoints, endpoint_count, ""),
	KEY("firewall", "egress_proxy", take_proxy, egress_proxy, ""),
	KEY("firewall", "request_endpoints", take_bool, request_endpoints, "no"),
	KEY("firewall", "dev_server", take_allow, dev_server, "deny"),
	KEY("firewall", "refresh_interval", take_duration, refresh_interval_s, "1m"),
	KEY("firewall", "refresh_overlap", take_duration, refresh_overlap_s, "1h"),
	KEY("firewall", "refresh_stale", take_duration, refresh_stale_s, "12h"),
	KEY("limits", "processes", take_limit, limits.processes, "512"),
	KEY("limits", "memory", take_size, limits.memory_bytes, "4G"),
	KEY("limits", "open_files", take_limit, limits.open_files, "4096"),
	KEY("limits", "file_size", take_size, limits.file_bytes, "0"),
	KEY("limits", "home_size", take_home_size, limits.home_bytes, "1G"),
	KEY("limits", "cpu_weight", take_weight, limits.cpu_weight, "100"),
	{ .section = NULL },
};

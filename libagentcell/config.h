/* SPDX-License-Identifier: ISC */
/*
 * /etc/agentcell/agentcell.conf and harness.d/<name>.conf, read strictly.
 *
 * inih does the parsing, behind a line reader of our own that closes its gaps (long lines,
 * continuation lines, NUL bytes).  One table of keys; an unknown section or key, a bad value, a
 * duplicate key or a loose permission refuses the whole file, with file:line of every error found.
 * Only a list may go on in a further line with the same key; the same entry twice is an error.
 * Files must be regular, root's, not writable by group or other; no symlinks are followed.
 */
#ifndef AC_CONFIG_H
#define AC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "policy.h"

#define AC_COMMANDS_MAX 16
#define AC_SETTINGS_MAX 64

struct ac_setting { /* name=value that is set in the cell */
	char name[AC_NAME_MAX];
	char value[1024];
};

struct ac_settings {
	unsigned count;
	struct ac_setting setting[AC_SETTINGS_MAX];
};

struct ac_strings { /* absolute paths or patterns, one per entry */
	unsigned count;
	char text[AC_PATHS_MAX][AC_PATH_MAX];
};

/* conf/harness.d/<name>.conf */
struct ac_harness {
	char name[AC_NAME_MAX];
	struct ac_names commands; /* basenames that select it */
	struct ac_names env_allowlist;
	struct ac_settings environment;
	unsigned endpoint_count;
	struct ac_endpoint endpoints[AC_ENDPOINTS_MAX];
	struct ac_names tolerated; /* hosts whose refusal is 'denied', not 'escape' */
	uint64_t memory_floor_bytes;
	bool nested_sandbox;
	struct ac_placements placements; /* a source is a name in <directory>/files */
	struct ac_settings keys; /* NAME = file that holds the value */
	struct ac_strings packages; /* patterns below a home: where programs may come from */
};

struct ac_config {
	/* [session] */
	char role_user[AC_NAME_MAX]; /* agentcell-worker */
	char default_harness[AC_NAME_MAX]; /* generic */
	uid_t uid_first, uid_last; /* uid_range = 70000-70999 */
	uint64_t wall_clock_limit_s; /* default; a request may only shorten... */
	uint64_t wall_clock_max_s; /* ... or lengthen up to this */
	enum ac_risk risk; /* default; a request may only raise it */
	struct ac_names env_allowlist; /* for every harness */
	/* [paths] */
	struct ac_strings declared_paths; /* default when nothing is asked; empty: the cwd */
	struct ac_strings
		project_roots; /* what may be declared at all; empty: anything judged fit */
	struct ac_strings read_paths; /* always added, read-only */
	struct ac_strings excluded_paths; /* always added */
	struct ac_strings tool_paths; /* read-only, besides /usr and /opt */
	struct ac_strings allowed_roots; /* admin-listed places below /var, say */
	struct ac_strings bait; /* relative to a home, or absolute */
	bool protect_git;
	bool access_acl; /* access = acl: where a file system cannot be idmapped */
	/* [backup] */
	char backup_directory[AC_PATH_MAX]; /* /var/lib/agentcell/backups */
	uint64_t keep_clean, keep_escape;
	uint64_t max_age_s, max_bytes; /* 0: no limit */
	struct ac_strings backup_exclude;
	bool allow_torn, allow_unreadable;
	/* [audit] */
	char log_path[AC_PATH_MAX]; /* /var/log/agentcell/agentcell.jsonl */
	bool enable_audit; /* switch kernel auditing on when it is off */
	/* [firewall] */
	bool firewall_enabled;
	unsigned endpoint_count; /* allowed to every session */
	struct ac_endpoint endpoints[AC_ENDPOINTS_MAX];
	struct ac_endpoint egress_proxy; /* port 0: none */
	bool request_endpoints; /* may AGENTCELL_ENDPOINTS add any */
	bool dev_server; /* may the user reach what a session serves on loopback */
	uint64_t refresh_interval_s, refresh_overlap_s, refresh_stale_s; /* of names */
	/* [limits] */
	struct ac_limits limits;
};

/* Reads the main file (path, normally AC_CONFIG_FILE); a missing file is an error.  What it does
 * not set has the built-in default, which stands in the table of keys (config_keys.c). */
int ac_config_read(const char *path, struct ac_config *config, struct ac_err *err);

/* The same on the heap, NULL on failure.  The struct is large and mostly empty, and what was never
 * written costs no memory: a session's start reads it so. */
struct ac_config *ac_config_read_dup(const char *path, struct ac_err *err);

/* The same for a descriptor, without a look at owner and mode; report (may be NULL) gets each
 * error.  For `agentcell check`. */
int ac_config_check(int fd, const char *name, struct ac_config *config,
	void (*report)(void *context, const char *text), void *context, struct ac_err *err);
int ac_harness_check(int fd, const char *name, struct ac_harness *harness,
	void (*report)(void *context, const char *text), void *context, struct ac_err *err);

/* Picks a profile: by name when name is not NULL (it must exist), else by basename of command,
 * else the config's default.  Directory is normally AC_HARNESS_DIRECTORY. */
struct ac_harness *ac_harness_pick_dup(const char *directory, const char *name, const char *command,
	const char *fallback, struct ac_err *err); /* on the heap; NULL on failure */
int ac_harness_pick(const char *directory, const char *name, const char *command,
	const char *fallback, struct ac_harness *harness, struct ac_err *err);

/* The same value syntaxes, for AGENTCELL_* settings.  Text is untrusted. */
int ac_endpoint_parse(const char *text, struct ac_endpoint *endpoint, struct ac_err *err);
int ac_duration_parse(const char *text, uint64_t *seconds, struct ac_err *err); /* 90, 15m, 8h */
int ac_size_parse(const char *text, uint64_t *bytes, struct ac_err *err); /* 512M, 4G */
int ac_risk_parse(const char *text, enum ac_risk *risk, struct ac_err *err);

/* For the test that holds sample file, man page and table together: key number i as
 * "section.key", NULL at the end; harness keys likewise. */
const char *ac_config_key(unsigned i);
const char *ac_harness_key(unsigned i);

#endif

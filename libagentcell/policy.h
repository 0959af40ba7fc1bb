/* SPDX-License-Identifier: ISC */
/*
 * SessionPlan and SandboxPolicy: what one session asked for and what it got.
 *
 * Both are plain caller-owned structs of fixed size (large: keep them on the heap, calloc'ed).
 * All paths are canonical and were resolved and judged as the invoking user (resolve.h); dev and
 * ino are what was judged, and whoever opens the path later compares them.
 */
#ifndef AC_POLICY_H
#define AC_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "names.h"

enum ac_risk { AC_RISK_LOW, AC_RISK_MEDIUM, AC_RISK_HIGH };
enum ac_path_kind { AC_PATH_DIRECTORY, AC_PATH_FILE };

struct ac_path_entry {
	char path[AC_PATH_MAX];
	uint64_t device; /* st_dev as judged; 0 where nothing was opened (bait) */
	uint64_t inode;
	enum ac_path_kind kind;
};

struct ac_path_list {
	unsigned count;
	struct ac_path_entry entry[AC_PATHS_MAX];
};

/* One allowed destination.  A name was resolved when the firewall step ran; an address stands for
 * itself.  prefix is 32 or 128 for a single address. */
struct ac_endpoint {
	char host[AC_HOST_MAX]; /* name, or address in text form */
	uint16_t port; /* 1..65535 */
	uint8_t family; /* AF_INET, AF_INET6, or 0: a name, both families */
	uint8_t prefix;
};

struct ac_names { /* a list of short words, such as names of environment variables */
	unsigned count;
	char name[AC_ENV_NAMES_MAX][AC_NAME_MAX];
};

/* What a harness profile puts into the view besides the baseline. */
enum ac_placement_kind {
	AC_PLACE_FILE, /* root's and read-only; target: absolute; source: the admin's file */
	AC_PLACE_SEED, /* the session's; target: below its home; source: the admin's file */
	AC_PLACE_CREDENTIAL, /* target: below the user's home, and the session's; source: "" */
	AC_PLACE_KEEP /* the same, from AC_KEPT_DIRECTORY, and back there afterwards */
};

struct ac_placement {
	enum ac_placement_kind kind;
	char target[AC_PATH_MAX];
	char source[AC_PATH_MAX];
};

struct ac_placements {
	unsigned count;
	struct ac_placement placement[AC_PLACEMENTS_MAX];
};

struct ac_limits {
	uint64_t wall_clock_s; /* CLOCK_BOOTTIME */
	uint64_t processes;
	uint64_t memory_bytes; /* 0: not limited */
	uint64_t open_files;
	uint64_t file_bytes; /* largest file, 0: not limited */
	uint64_t home_bytes; /* size of the home and /tmp tmpfs, each */
	uint64_t cpu_weight; /* cgroup v2 cpu.weight, 1..10000 */
};

struct ac_plan {
	char session_id[AC_SESSION_ID_SIZE];
	char harness[AC_NAME_MAX]; /* profile name */
	char user[AC_NAME_MAX]; /* who asked */
	uid_t user_uid;
	gid_t user_gid;
	unsigned group_count; /* the user's supplementary groups */
	gid_t groups[AC_GROUPS_MAX];
	char user_home[AC_PATH_MAX];
	char cwd[AC_PATH_MAX];
	char command[AC_PATH_MAX]; /* as resolved by sudoers */
	struct ac_path_list declared_paths;
	struct ac_path_list read_paths;
	struct ac_path_list excluded_paths;
	enum ac_risk risk;
	uint64_t wall_clock_limit_s;
	uint64_t started; /* CLOCK_REALTIME seconds */
	pid_t sudo_pid;
	uint64_t network; /* the network namespace that sudo was started in, by its inode */
	uint32_t loginuid; /* the human's, (uint32_t)-1: unset */
	uint32_t audit_session;
};

struct ac_policy {
	char session_id[AC_SESSION_ID_SIZE];
	char os_user[AC_NAME_MAX]; /* agentcell-<session_id> */
	char role_user[AC_NAME_MAX];
	uid_t uid;
	gid_t gid;
	unsigned group_count; /* supplementary ones of the session: of shared declared paths */
	gid_t groups[AC_GROUPS_MAX];
	struct ac_path_list write_paths;
	struct ac_path_list read_paths;
	struct ac_path_list excluded_paths;
	struct ac_path_list bait_paths;
	struct ac_path_list tool_paths; /* read-only, besides the baseline */
	struct ac_placements placements;
	struct ac_names env_allowlist;
	unsigned endpoint_count;
	struct ac_endpoint endpoints[AC_ENDPOINTS_MAX];
	char egress_proxy[AC_PROXY_MAX]; /* "host:port", then the only endpoint; "" for none */
	struct ac_names tolerated; /* hosts that lead nowhere: their refusal is expected */
	bool firewall_enabled; /* off only by the admin */
	char firewall_rule[1024]; /* one line in words */
	bool dev_server; /* the user may reach servers that the session starts on loopback */
	uid_t visitor; /* that user */
	struct ac_limits limits;
	enum ac_risk risk;
	bool protect_git;
	bool access_acl; /* write paths that cannot be idmapped are given by ACL (access.h) */
	uint32_t access_umask; /* what the default ACLs stand in for */
	bool nested_sandbox;
	char backup_id[AC_BACKUP_ID_SIZE];
	char backup_directory[AC_PATH_MAX]; /* the user's store */
	char home[AC_PATH_MAX]; /* inside the view */
	char responses[256]; /* what ends the session, in words */
};

struct ac_session_policy { /* what is written to <session>/policy.json */
	struct ac_plan plan;
	struct ac_policy policy;
};

const char *ac_risk_name(enum ac_risk risk);

/* Writes policy.json into the session directory: created with O_EXCL, 0600, synced; -EEXIST when
 * it is already there.  Blocks on disk. */
int ac_policy_write(int session_fd, const struct ac_session_policy *session, struct ac_err *err);

/* Reads it back; refuses anything unknown, missing, out of range, not root's or writable by others.
 * ac_policy_read(ac_policy_write(x)) == x, byte for byte of every field. */
int ac_policy_read(int session_fd, struct ac_session_policy *session, struct ac_err *err);

/* The same on the heap, NULL on failure: without a copy of what is large and mostly empty. */
struct ac_session_policy *ac_policy_read_dup(int session_fd, struct ac_err *err);

/* Pure: the text of policy.json. */
int ac_policy_parse(
	const char *text, size_t length, struct ac_session_policy *session, struct ac_err *err);

#endif

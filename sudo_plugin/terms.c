/* SPDX-License-Identifier: ISC */
/* One block of aligned lines.  Paths are escaped: a name cannot forge a line. */
#include "terms.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"

struct out {
	char *text;
	size_t size, used;
};

static void put(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct out *out, const char *format, ...)
{
	size_t at = out->used < out->size ? out->used : out->size - 1;
	va_list args;

	va_start(args, format);
	int length = vsnprintf(out->text + at, out->size - at, format, args);
	va_end(args);
	if (length > 0)
		out->used += (size_t)length;
}

static void put_paths(struct out *out, const char *label, const struct ac_path_list *list)
{
	char path[AC_PATH_MAX * 3];

	for (unsigned i = 0; i < list->count; i++) {
		ac_escape(path, sizeof path, list->entry[i].path, strlen(list->entry[i].path));
		put(out, "  %-11s%s\n", i ? "" : label, path);
	}
}

static void put_size(struct out *out, const char *name, uint64_t bytes)
{
	if (bytes)
		put(out, ", %s %llu MiB", name, (unsigned long long)(bytes >> 20));
}

/* What comes from the user and what outlives the session. */
static void put_placements(struct out *out, const struct ac_placements *placements)
{
	char path[AC_PATH_MAX * 3];

	for (unsigned i = 0; i < placements->count; i++) {
		const struct ac_placement *placement = &placements->placement[i];
		bool is_credential = placement->kind == AC_PLACE_CREDENTIAL;

		if (!is_credential && placement->kind != AC_PLACE_KEEP)
			continue;
		ac_escape(path, sizeof path, placement->target, strlen(placement->target));
		put(out, "  %-11s~/%s%s\n", is_credential ? "credential" : "kept", path,
			is_credential ? " (a copy; brought back when it is renewed)"
				      : " (for the next session here)");
	}
}

static void put_groups(struct out *out, const struct ac_policy *policy)
{
	if (!policy->group_count)
		return;
	put(out, "  %-11sgid", "groups");
	for (unsigned i = 0; i < policy->group_count; i++)
		put(out, " %u", (unsigned)policy->groups[i]);
	put(out, ", which a declared path is shared with\n");
}

size_t ac_terms_format(char *text, size_t size, const struct ac_session_policy *session)
{
	const struct ac_plan *plan = &session->plan;
	const struct ac_policy *policy = &session->policy;
	struct out out = { text, size, 0 };

	put(&out, "agentcell session %s\n", plan->session_id);
	put(&out, "  %-11s%s (uid %u), this session only\n", "account", policy->os_user,
		(unsigned)policy->uid);
	put(&out, "  %-11s%s\n", "asked by", plan->user);
	put(&out, "  %-11s%s, risk %s\n", "harness", plan->harness, ac_risk_name(policy->risk));
	put_paths(&out, "read-write", &policy->write_paths);
	put_paths(&out, "read-only", &policy->read_paths);
	put_paths(&out, "excluded", &policy->excluded_paths);
	put_placements(&out, &policy->placements);
	put_groups(&out, policy);
	if (policy->access_acl)
		put(&out, "  %-11sby ACL, until the end: a file system here cannot be idmapped\n",
			"access");
	put(&out, "  %-11s%s\n", "network", policy->firewall_rule);
	put(&out, "  %-11s%llu processes, %llu open files", "limits",
		(unsigned long long)policy->limits.processes,
		(unsigned long long)policy->limits.open_files);
	put_size(&out, "memory", policy->limits.memory_bytes);
	put_size(&out, "home", policy->limits.home_bytes);
	put(&out, "\n  %-11s%s\n", "backup", policy->backup_id);
	put(&out, "  %-11s%s\n", "ended by", policy->responses);
	return out.used;
}

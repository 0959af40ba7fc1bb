/* SPDX-License-Identifier: ISC */
/* What the PAM module calls: make the backup of a session, and finish with it. */
#include "backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "backup_child.h"
#include "backup_make.h"
#include "backup_prune.h"
#include "lifecycle.h"
#include "preflight.h"
#include "util.h"

/* What the session will see of a declared directory: the file system without what is mounted below
 * it, and so also what lies beneath such mounts.  -1 where it cannot be had: then by path. */
static int clone_root(const struct ac_identity *who, const struct ac_path_entry *entry)
{
	ac_autoclose int fd = entry->kind == AC_PATH_DIRECTORY && entry->inode
				      ? ac_resolve_again(who, entry, NULL)
				      : -1;

	return fd < 0 ? -1 : open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static int make_work(int store_fd, const struct ac_backup_request *request, void *context,
	struct ac_backup_totals *totals, struct ac_err *err)
{
	const bool *has_clone = context;
	int clones[AC_PATHS_MAX], next = AC_BACKUP_KEPT_FD;

	for (unsigned i = 0; i < request->paths->count; i++)
		clones[i] = has_clone[i] ? next++ : -1;
	struct ac_backup_request own = *request;
	ac_autofree char *environment = request->environment
						? ac_preflight_complete_dup(request->environment,
							  request->paths, clones)
						: NULL;

	if (environment)
		own.environment = environment;
	return ac_make(store_fd, &own, clones, AC_MAKE_LIVE, totals, NULL, err);
}

int ac_backup_make(const struct ac_backup_request *request, struct ac_backup_totals *totals,
	struct ac_err *err)
{
	bool has_clone[AC_PATHS_MAX] = { false };
	int kept[AC_PATHS_MAX] = { 0 };
	unsigned count = 0;

	for (unsigned i = 0; i < request->paths->count; i++) {
		int fd = clone_root(&request->identity, &request->paths->entry[i]);

		has_clone[i] = fd >= 0;
		if (has_clone[i])
			kept[count++] = fd;
	}
	int result = ac_backup_as_user(request, make_work, has_clone, kept, count, totals, err);

	while (count)
		close(kept[--count]);
	return result;
}

struct finish {
	unsigned cause;
	const struct ac_config *config;
};

static int finish_work(int store_fd, const struct ac_backup_request *request, void *context,
	struct ac_backup_totals *totals, struct ac_err *err)
{
	const struct finish *finish = context;
	const char *cause = ac_cause_name(finish->cause);
	char text[64];

	(void)totals;
	if (!cause || !ac_store_id_is_valid(request->backup_id))
		return ac_fail(err, EINVAL, "finish backup %s: unknown cause %u",
			request->backup_id, finish->cause);
	snprintf(text, sizeof text, "ended %s\n", cause);
	int result = ac_store_state_set(store_fd, request->backup_id, text, err);

	if (result)
		return result;
	struct ac_prune_limits limits = { .keep_clean = finish->config->keep_clean,
		.keep_escape = finish->config->keep_escape,
		.max_age_s = finish->config->max_age_s,
		.max_bytes = finish->config->max_bytes,
		.protected_id = finish->cause > AC_CAUSE_CLEAN ? request->backup_id : NULL };

	return ac_prune(store_fd, &limits, NULL, err);
}

int ac_backup_finish(const struct ac_backup_request *request, unsigned cause,
	const struct ac_config *config, struct ac_err *err)
{
	struct finish finish = { .cause = cause, .config = config };
	struct ac_backup_totals totals;

	return ac_backup_as_user(request, finish_work, &finish, NULL, 0, &totals, err);
}

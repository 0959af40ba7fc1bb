/* SPDX-License-Identifier: ISC */
/*
 * Access by ACL (access.h) instead of an idmapped mount.  What can be told before the backup is told
 * here; that the file system heeds its ACLs is tried when the view is built.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "journal.h"
#include "path.h"
#include "plan_paths.h"
#include "util.h"

#define UMASK 022 /* where sudo tells of none */

struct search {
	const struct ac_path_entry *entry;
	int fd;
	char other[AC_SESSION_ID_SIZE];
};

/* The same name alone may be that of what took a tree's place, while its session waits for it. */
static bool overlaps(const struct ac_policy *policy, const struct search *search)
{
	const struct ac_path_entry *here = search->entry;

	for (unsigned i = 0; policy->access_acl && i < policy->write_paths.count; i++) {
		const struct ac_path_entry *there = &policy->write_paths.entry[i];
		bool is_same = here->device == there->device && here->inode == there->inode;

		if (strcmp(here->path, there->path) == 0) {
			if (is_same || ac_access_is_marked(search->fd, policy->uid))
				return true;
		} else if (ac_path_covers(here->path, there->path) ||
			   ac_path_covers(there->path, here->path)) {
			return true;
		}
	}
	return false;
}

static int compare_session(void *context, const char *session_id)
{
	struct search *search = context;
	char name[AC_PATH_MAX];
	struct ac_err ignored;

	snprintf(name, sizeof name, AC_SESSIONS_DIRECTORY "/%s", session_id);
	ac_autoclose int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ac_autofree struct ac_session_policy *session = fd < 0 ? NULL
							       : ac_policy_read_dup(fd, &ignored);

	if (session && overlaps(&session->policy, search))
		snprintf(search->other, sizeof search->other, "%s", session_id);
	return 0;
}

/* By name, and so before the backup, which would hold the other's entries.  The same tree by another
 * name, or at the same moment, is met when access is granted. */
static int look_for_another(const struct ac_path_entry *entry, int fd, struct ac_err *err)
{
	struct search search = { .entry = entry, .fd = fd };
	struct ac_err ignored;

	/* `agentcell explain` of somebody who may not look has no session to keep apart. */
	(void)ac_journal_sessions(compare_session, &search, &ignored);
	if (!*search.other)
		return 0;
	return ac_fail(err, EBUSY,
		"session %s has access to %s, or to a part of it, by ACL: only one at a time can; "
		"wait until it has ended (agentcell sessions)",
		search.other, entry->path);
}

int ac_plan_acl(const struct ac_plan_look *look, int fd, const struct ac_path_entry *entry,
	struct ac_err *err)
{
	const struct ac_request *request = look->input->request;
	int result = ac_access_is_fit(fd, entry->path, err);

	if (!result)
		result = look_for_another(entry, fd, err);
	if (result)
		return result;
	look->policy->access_acl = true;
	look->policy->access_umask = request->has_umask ? (uint32_t)request->umask : UMASK;
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * Acting as the invoking user for the length of one function: effective ids and groups, nothing
 * else.  What was found is put back exactly; a process that cannot take its own ids back dies.
 */
#include "resolve.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

#define KEPT_GROUPS_MAX 1024

struct ids {
	uid_t uid;
	gid_t gid;
	int count;
	gid_t groups[KEPT_GROUPS_MAX];
};

static int become(const struct ac_identity *who, struct ac_err *err)
{
	if (who->uid == 0)
		return ac_fail(
			err, EPERM, "root cannot start an agent session: it has no own files");
	if (setgroups(who->group_count, who->groups) != 0 || setegid(who->gid) != 0 ||
		seteuid(who->uid) != 0)
		return ac_fail_errno(err, errno, "cannot act as uid %u", (unsigned)who->uid);
	return 0;
}

static void come_back(const struct ids *own)
{
	if (seteuid(own->uid) != 0 || setegid(own->gid) != 0 ||
		setgroups((size_t)own->count, own->groups) != 0)
		abort();
}

int ac_identity_run(const struct ac_identity *who, int (*function)(void *context), void *context,
	struct ac_err *err)
{
	struct ids own = { .uid = geteuid(), .gid = getegid() };

	/* Already that user (agentcell explain): there is nothing to take and nothing to give back. */
	if (own.uid != 0 && own.uid == who->uid)
		return function(context);
	own.count = getgroups(KEPT_GROUPS_MAX, own.groups);
	if (own.count < 0)
		return ac_fail_errno(err, errno, "cannot read this process's groups");
	int result = become(who, err);

	if (!result)
		result = function(context);
	come_back(&own);
	return result;
}

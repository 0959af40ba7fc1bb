/* SPDX-License-Identifier: ISC */
/*
 * API keys from files: the admin's (absolute path) or the user's (below her home, read with her
 * rights).  Either must be 0600 or stricter, so that a key is not everybody's by accident.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness_place.h"
#include "path.h"
#include "plan_harness.h"
#include "resolve.h"
#include "safefile.h"
#include "util.h"

#define KEY_MAX 1000

static int open_file(void *context)
{
	int fd = open(context, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_key(const struct ac_plan *plan, const char *name, char path[AC_PATH_MAX],
	uid_t *owner, struct ac_err *err)
{
	const struct ac_identity who = { plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
	int fd;

	if (ac_path_join(path, AC_PATH_MAX, plan->user_home, name) != 0)
		return ac_fail(err, ENAMETOOLONG, "key file %s", name);
	*owner = *name == '/' ? 0 : plan->user_uid;
	if (*owner == 0)
		return ac_open_trusted(AT_FDCWD, path, KEY_MAX, err);
	fd = ac_identity_run(&who, open_file, path, err);
	return fd < 0 ? ac_fail_errno(err, -fd, "cannot open %s as %s", path, plan->user) : fd;
}

static int judge(int fd, const char *path, uid_t owner, struct ac_err *err)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return ac_fail_errno(err, errno, "cannot look at %s", path);
	if (!S_ISREG(status.st_mode) || status.st_uid != owner || (status.st_mode & 077))
		return ac_fail(err, EPERM,
			"%s must be a file of uid %u with mode 0600; it has uid %u, mode %04o",
			path, (unsigned)owner, (unsigned)status.st_uid, status.st_mode & 07777u);
	return 0;
}

/* One line of printable bytes: what a header can carry. */
static int trim(char *value, size_t length, const char *path, struct ac_err *err)
{
	while (length && (value[length - 1] == '\n' || value[length - 1] == '\r'))
		length--;
	value[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (value[i] < 0x21 || value[i] > 0x7e)
			return ac_fail(err, EINVAL, "%s must hold one line without blanks", path);
	if (!length)
		return ac_fail(err, EINVAL, "%s is empty", path);
	return 0;
}

static int take(const struct ac_plan *plan, const struct ac_setting *key, struct ac_settings *keys,
	struct ac_err *err)
{
	char path[AC_PATH_MAX], value[KEY_MAX + 1];
	uid_t owner = (uid_t)-1;
	ac_autoclose int fd = open_key(plan, key->value, path, &owner, err);

	if (fd == -ENOENT)
		return 0;
	int result = fd < 0 ? fd : judge(fd, path, owner, err);
	ssize_t length = result ? 0 : ac_read_all(fd, value, sizeof value - 1);

	if (length < 0)
		result = ac_fail_errno(err, (int)-length, "cannot read %s", path);
	if (!result)
		result = trim(value, (size_t)length, path, err);
	if (!result)
		result = ac_settings_add(keys, key->name, value, err);
	explicit_bzero(value, sizeof value);
	return result ? ac_fail_within(err, "key %s", key->name) : 0;
}

int ac_keys_take(const struct ac_plan *plan, const struct ac_harness *harness,
	struct ac_settings *keys, struct ac_err *err)
{
	int result = 0;

	for (unsigned i = 0; !result && i < harness->keys.count; i++)
		result = take(plan, &harness->keys.setting[i], keys, err);
	return result;
}

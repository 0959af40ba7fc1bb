// SPDX-License-Identifier: ISC
/*
 * The name of a session account on the host, by systemd's user record drop-ins: NAME.user with its
 * symlink UID.user, NAME.group with GID.group, in /run/userdb.  Read by nss-systemd (249 and later),
 * with systemd running or not; gone with the files, and with the next boot.
 */
#include "account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "safefile.h"
#include "util.h"

#define NSSWITCH AC_SYSCONFDIR "/nsswitch.conf"

/* Whether the passwd line of nsswitch.conf names systemd.  No file: no. */
static bool host_uses_userdb(void)
{
	ac_autofclose FILE *file = fopen(NSSWITCH, "re");
	char line[512];
	bool found = false;

	while (file && fgets(line, sizeof(line), file)) {
		char *place, *word;

		line[strcspn(line, "#\n")] = '\0';
		if (strncmp(line, "passwd:", 7) != 0)
			continue;
		for (word = strtok_r(line + 7, " \t", &place); word;
			word = strtok_r(NULL, " \t", &place))
			found = found || !strcmp(word, "systemd");
	}
	return found;
}

static bool name_is_plain(const char *name)
{
	size_t length = strlen(name);

	return length && length < AC_NAME_MAX && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == length;
}

static int put_record(int directory, const char *name, unsigned id, const char *suffix,
	const char *text, struct ac_err *err)
{
	char file[AC_NAME_MAX + 8], link[32];
	int code;

	snprintf(file, sizeof(file), "%s.%s", name, suffix);
	snprintf(link, sizeof(link), "%u.%s", id, suffix);
	unlinkat(directory, file, 0); /* of a first try that failed */
	unlinkat(directory, link, 0);
	code = ac_write_new(directory, file, text, strlen(text), 0644, err);
	if (code)
		return ac_fail_within(err, "publish %s in %s", name, AC_USERDB_DIRECTORY);
	/* The caller's umask is sudo's; the record is for everybody. */
	if (fchmodat(directory, file, 0644, 0) || symlinkat(file, directory, link))
		return ac_fail_errno(err, errno, "publish %s in %s", name, AC_USERDB_DIRECTORY);
	return 0;
}

int ac_account_publish(const char *os_user, uid_t uid, gid_t gid, struct ac_err *err)
{
	ac_autoclose int directory = -1;
	char text[512];
	int code;

	if (!name_is_plain(os_user))
		return ac_fail(err, EINVAL, "publish an account: its name is not plain");
	if (!host_uses_userdb())
		return 0;
	directory = ac_make_directory(AC_USERDB_DIRECTORY, 0755, err);
	if (directory < 0)
		return directory;
	snprintf(text, sizeof(text),
		"{\"userName\":\"%s\",\"uid\":%u,\"gid\":%u,\"realName\":\"agentcell session\","
		"\"disposition\":\"dynamic\",\"homeDirectory\":\"/nonexistent\","
		"\"shell\":\"/usr/sbin/nologin\",\"locked\":true}\n",
		os_user, uid, gid);
	code = put_record(directory, os_user, uid, "user", text, err);
	if (code)
		return code;
	snprintf(text, sizeof(text),
		"{\"groupName\":\"%s\",\"gid\":%u,\"disposition\":\"dynamic\"}\n", os_user, gid);
	return put_record(directory, os_user, gid, "group", text, err);
}

/* Removes a record and the link that leads to it; another session's link stays. */
static int drop_record(
	int directory, const char *name, unsigned id, const char *suffix, struct ac_err *err)
{
	char file[AC_NAME_MAX + 8], link[32], target[AC_NAME_MAX + 8];
	ssize_t length;

	snprintf(file, sizeof(file), "%s.%s", name, suffix);
	snprintf(link, sizeof(link), "%u.%s", id, suffix);
	length = readlinkat(directory, link, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = '\0';
		if (!strcmp(target, file) && unlinkat(directory, link, 0) && errno != ENOENT)
			return ac_fail_errno(err, errno, "remove %s/%s", AC_USERDB_DIRECTORY, link);
	}
	if (unlinkat(directory, file, 0) && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove %s/%s", AC_USERDB_DIRECTORY, file);
	return 0;
}

int ac_account_withdraw(const char *os_user, uid_t uid, gid_t gid, struct ac_err *err)
{
	ac_autoclose int directory = open(
		AC_USERDB_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int code;

	if (!name_is_plain(os_user))
		return ac_fail(err, EINVAL, "withdraw an account: its name is not plain");
	if (directory < 0)
		return errno == ENOENT ? 0
				       : ac_fail_errno(err, errno, "open %s", AC_USERDB_DIRECTORY);
	code = drop_record(directory, os_user, uid, "user", err);
	return code ? code : drop_record(directory, os_user, gid, "group", err);
}

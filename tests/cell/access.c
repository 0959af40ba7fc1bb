/* SPDX-License-Identifier: ISC */
/*
 * Access by ACL on real trees: access grant|revoke PATH USER SESSION [EXCLUDED...], and access marked
 * PATH SESSION.  AC_DIE_AFTER=N: dies like a killed process before the change that follows the N-th one; the
 * changes are counted on standard output otherwise.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access.h"
#include "util.h"

static unsigned changes;

static void count(void)
{
	const char *last = getenv("AC_DIE_AFTER");

	if (last && changes >= (unsigned)strtoul(last, NULL, 10))
		_exit(9);
	changes++;
}

/* In place of the libraries' own: here the library's changes pass. */
int acl_set_file(const char *path, acl_type_t type, acl_t acl)
{
	int (*real)(const char *, acl_type_t,
		acl_t) = (int (*)(const char *, acl_type_t, acl_t))dlsym(RTLD_NEXT, "acl_set_file");

	count();
	return real(path, type, acl);
}

int acl_delete_def_file(const char *path)
{
	int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "acl_delete_def_file");

	count();
	return real(path);
}

int fchownat(int directory, const char *name, uid_t uid, gid_t gid, int flags)
{
	int (*real)(int, const char *, uid_t, gid_t,
		int) = (int (*)(int, const char *, uid_t, gid_t, int))dlsym(RTLD_NEXT, "fchownat");

	count();
	return real(directory, name, uid, gid, flags);
}

static struct ac_path_list excluded;

static void exclude(const char *path)
{
	struct ac_path_entry *entry = &excluded.entry[excluded.count++];
	struct stat status;

	if (stat(path, &status) != 0)
		exit(2);
	entry->device = status.st_dev;
	entry->inode = status.st_ino;
}

static uid_t number(const char *text)
{
	return (uid_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct ac_err err = { 0 };

	if (argc < 4)
		return 2;
	ac_autoclose int fd = open(argv[2], O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 2;
	if (!strcmp(argv[1], "marked"))
		return !ac_access_is_marked(fd, number(argv[3]));
	if (argc < 5)
		return 2;
	for (int i = 5; i < argc && excluded.count < AC_PATHS_MAX; i++)
		exclude(argv[i]);
	const struct ac_access access = {
		.user_uid = number(argv[3]),
		.session_uid = number(argv[4]),
		.user_gid = number(argv[3]),
		.session_gid = number(argv[4]),
		.uid_first = 70000,
		.uid_last = 70999,
		.umask = 022,
		.excluded = &excluded,
	};
	int result = !strcmp(argv[1], "grant") ? ac_access_grant(fd, argv[2], &access, &err)
					       : ac_access_revoke(fd, argv[2], &access, &err);

	if (result)
		fprintf(stderr, "%s\n", err.text);
	else
		printf("%u\n", changes);
	return result != 0;
}

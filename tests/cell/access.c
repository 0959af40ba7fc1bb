/* SPDX-License-Identifier: ISC */
/*
 * Access by ACL on real trees: access grant|revoke PATH USER SESSION [EXCLUDED...], and access marked
 * PATH SESSION; access abandon PATH USER SESSION NOTES: a listener that dies while its child takes back;
 * access walk PATH NAMES: the inodes that are visited with room for so many bytes of names.
 * AC_DIE_AFTER=N: dies like a killed process before the change that follows the N-th one; the
 * changes are counted on standard output otherwise.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access.h"
#include "access_parts.h"
#include "session.h"
#include "util.h"

static unsigned changes;
static bool is_stuck; /* at the first change, for good */

static void count(void)
{
	const char *last = getenv("AC_DIE_AFTER");

	if (is_stuck)
		(void)pause();
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

/* The listener: the directory NOTES stands for the session's. */
static void take_back_and_die(char **argv)
{
	struct ac_session session;

	ac_session_init(&session, NULL);
	session.policy = calloc(1, sizeof *session.policy);
	session.journal.directory_fd = open(argv[5], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ac_path_list *paths = &session.policy->policy.write_paths;

	session.policy->policy.access_acl = true;
	session.policy->policy.uid = session.policy->policy.gid = number(argv[4]);
	session.policy->plan.user_uid = session.policy->plan.user_gid = number(argv[3]);
	exclude(argv[2]);
	paths->entry[paths->count++] = excluded.entry[0];
	snprintf(paths->entry[0].path, sizeof paths->entry[0].path, "%s", argv[2]);
	ac_session_hold_access(&session);
	_exit(ac_session_revoke_access(&session) == -EAGAIN ? 0 : 1);
}

/* Nobody else is left to wait for the child, so this process sees its end. */
static int abandon(char **argv)
{
	int status = 0;

	is_stuck = true;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t listener = fork();

	if (listener == 0)
		take_back_and_die(argv);
	if (waitpid(listener, &status, 0) != listener || status != 0)
		return 2;
	for (unsigned i = 0; i < 100; i++) {
		pid_t child = waitpid(-1, &status, WNOHANG);

		if (child != 0)
			return child < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
		usleep(20000);
	}
	return 1;
}

static int show(void *context, int fd, const struct ac_object *object)
{
	(void)context;
	(void)fd;
	return printf("%llu\n", (unsigned long long)object->inode) < 0;
}

static int walk(int fd, const char *room)
{
	const struct ac_tree_visit visit = { show, NULL, strtoul(room, NULL, 10) };

	return ac_tree_visit(fd, &visit) != 0;
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
	if (!strcmp(argv[1], "walk"))
		return walk(fd, argv[3]);
	if (argc < 5)
		return 2;
	if (!strcmp(argv[1], "abandon"))
		return argc < 6 ? 2 : abandon(argv);
	for (int i = 5; i < argc && excluded.count < AC_PATHS_MAX; i++)
		exclude(argv[i]);
	const struct ac_access access = {
		.user_uid = number(argv[3]),
		.session_uid = number(argv[4]),
		.user_gid = number(argv[3]),
		.session_gid = number(argv[4]),
		.uid_first = 73000,
		.uid_last = 73999,
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

// SPDX-License-Identifier: ISC
/*
 * Leases of session uids: files below /run/agentcell/uids, named by uid, holding a session id.
 *
 * A lease appears whole, by linkat(2) of an unnamed file, so a crash leaves none that says nothing.
 * The file .last holds the number that was leased last; its flock keeps two leasers apart.  A lease
 * whose session directory is gone is stale: sessions are made before their lease and removed after.
 *
 * All that is in /run: the machine may have gone down with ACLs on disk that name a uid.  That one waits.
 */
#include "account.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "access_note.h"
#include "journal.h"
#include "safefile.h"
#include "util.h"

#define LAST ".last"

static int open_leases(struct ac_err *err)
{
	ac_autoclose int run = ac_make_directory(AC_RUN_DIRECTORY, 0755, err);
	ac_autoclose int leases = -1;
	int fd;

	if (run < 0)
		return run;
	leases = ac_make_directory(AC_UIDS_DIRECTORY, 0700, err);
	if (leases < 0)
		return leases;
	fd = openat(leases, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : ac_fail_errno(err, errno, "open %s", AC_UIDS_DIRECTORY);
}

/* The file that serialises leasers.  Its number is only a hint: anything odd in it counts as 0. */
static int open_last(int leases, struct ac_err *err)
{
	ac_autoclose int fd = openat(leases, LAST, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return ac_fail_errno(err, errno, "open %s/%s", AC_UIDS_DIRECTORY, LAST);
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return ac_fail_errno(err, errno, "lock %s/%s", AC_UIDS_DIRECTORY, LAST);
	return ac_take_fd(&fd);
}

static uid_t read_last(int fd)
{
	char text[16] = "";
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	return length > 0 ? (uid_t)strtoul(text, NULL, 10) : 0;
}

static void write_last(int fd, uid_t uid)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u\n", uid);

	if (!ftruncate(fd, 0))
		(void)!pwrite(fd, text, (size_t)length, 0);
}

/* Reads whose lease it is: 0 or -errno. */
static int read_lease(int leases, const char *name, char session_id[AC_SESSION_ID_SIZE])
{
	ac_autoclose int fd = openat(leases, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[AC_SESSION_ID_SIZE + 1] = "";
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = ac_read_all(fd, text, sizeof(text) - 1);
	if (length < 0)
		return (int)length;
	if (length != AC_SESSION_ID_SIZE || text[length - 1] != '\n')
		return -EBADMSG;
	text[length - 1] = '\0';
	memcpy(session_id, text, AC_SESSION_ID_SIZE);
	return ac_session_id_is_valid(session_id) ? 0 : -EBADMSG;
}

static bool lease_is_stale(int leases, const char *name)
{
	char session_id[AC_SESSION_ID_SIZE];
	char path[sizeof(AC_SESSIONS_DIRECTORY) + AC_SESSION_ID_SIZE];

	if (read_lease(leases, name, session_id))
		return false;
	snprintf(path, sizeof(path), "%s/%s", AC_SESSIONS_DIRECTORY, session_id);
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

/* The unnamed file that becomes a lease by getting a name. */
static int make_unnamed(int leases, const char *session_id, struct ac_err *err)
{
	ac_autoclose int fd = openat(leases, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char text[AC_SESSION_ID_SIZE + 1];
	int code;

	if (fd < 0)
		return ac_fail_errno(err, errno, "make a file in %s", AC_UIDS_DIRECTORY);
	snprintf(text, sizeof(text), "%s\n", session_id);
	code = ac_write_all(fd, text, strlen(text));
	return code ? ac_fail_errno(err, -code, "write a lease in %s", AC_UIDS_DIRECTORY)
		    : ac_take_fd(&fd);
}

/* 0: leased; -EEXIST, -EBUSY: the next number, please. */
static int try_lease(int leases, int notes, int unnamed, uid_t uid, struct ac_err *err)
{
	const struct ac_fd_name lease = ac_fd_name(unnamed);
	char name[16];
	int processes, code;

	if (ac_access_note_stands(notes, uid))
		return -EBUSY;
	snprintf(name, sizeof(name), "%u", uid);
	code = linkat(AT_FDCWD, lease.text, leases, name, AT_SYMLINK_FOLLOW) ? errno : 0;
	if (code == EEXIST && lease_is_stale(leases, name) && !unlinkat(leases, name, 0))
		code = linkat(AT_FDCWD, lease.text, leases, name, AT_SYMLINK_FOLLOW) ? errno : 0;
	if (code == EEXIST)
		return -EEXIST;
	if (code)
		return ac_fail_errno(err, code, "lease uid %u in %s", uid, AC_UIDS_DIRECTORY);
	processes = ac_account_own_processes(uid);
	if (!processes)
		return 0;
	unlinkat(leases, name, 0);
	return processes > 0 ? -EBUSY
			     : ac_fail_errno(err, -processes, "look for processes of uid %u", uid);
}

int ac_account_lease(
	const char *session_id, uid_t first, uid_t last, uid_t *uid, struct ac_err *err)
{
	ac_autoclose int leases = -1, last_fd = -1, unnamed = -1, notes = -1;
	uid_t hint;

	if (!ac_session_id_is_valid(session_id) || first > last || !first)
		return ac_fail(err, EINVAL, "lease a uid: bad session id or range");
	leases = open_leases(err);
	if (leases < 0)
		return leases;
	last_fd = open_last(leases, err);
	if (last_fd < 0)
		return last_fd;
	unnamed = make_unnamed(leases, session_id, err);
	if (unnamed < 0)
		return unnamed;
	notes = ac_access_notes_open(err);
	if (notes < 0 && notes != -ENOENT)
		return notes;
	hint = read_last(last_fd);
	for (uid_t i = 0; i <= last - first; i++) {
		uid_t from = hint >= first && hint < last ? hint + 1 - first : 0;
		uid_t candidate = first + (from + i) % (last - first + 1);
		int code = try_lease(leases, notes, unnamed, candidate, err);

		if (!code) {
			write_last(last_fd, candidate);
			*uid = candidate;
			return 0;
		}
		if (code != -EEXIST && code != -EBUSY)
			return code;
	}
	return ac_fail(err, EAGAIN,
		"every uid from %u to %u is in use: wait for a session to end, or widen uid_range",
		first, last);
}

bool ac_account_is_leased(uid_t uid)
{
	char path[sizeof(AC_UIDS_DIRECTORY) + 16];

	snprintf(path, sizeof(path), AC_UIDS_DIRECTORY "/%u", uid);
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

int ac_account_release(const char *session_id, uid_t uid, struct ac_err *err)
{
	ac_autoclose int leases = open_leases(err), last_fd = -1;
	char holder[AC_SESSION_ID_SIZE], name[16];
	int processes, code;

	if (leases < 0)
		return leases;
	last_fd = open_last(leases, err);
	if (last_fd < 0)
		return last_fd;
	snprintf(name, sizeof(name), "%u", uid);
	code = read_lease(leases, name, holder);
	if (code == -ENOENT || (!code && strcmp(holder, session_id) != 0))
		return 0; /* given back before, perhaps leased to another since */
	if (code)
		return ac_fail_errno(err, -code, "read the lease %s/%u", AC_UIDS_DIRECTORY, uid);
	processes = ac_account_own_processes(uid);
	if (processes < 0)
		return ac_fail_errno(err, -processes, "look for processes of uid %u", uid);
	if (processes)
		return ac_fail(err, EBUSY, "uid %u still has %d process(es): kept", uid, processes);
	if (unlinkat(leases, name, 0) && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove the lease %s/%u", AC_UIDS_DIRECTORY, uid);
	return 0;
}

int ac_account_release_session(const char *session_id, struct ac_err *err)
{
	ac_autoclose int leases = open_leases(err);
	DIR *directory = leases < 0 ? NULL : fdopendir(leases);
	const struct dirent *entry;
	int result = 0;

	if (!directory)
		return leases < 0 ? leases
				  : ac_fail_errno(err, errno, "list %s", AC_UIDS_DIRECTORY);
	(void)ac_take_fd(&leases); /* the stream's from here on */
	while (!result && (entry = readdir(directory))) {
		char holder[AC_SESSION_ID_SIZE];

		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
			read_lease(dirfd(directory), entry->d_name, holder) == 0 &&
			strcmp(holder, session_id) == 0)
			result = ac_account_release(
				session_id, (uid_t)strtoul(entry->d_name, NULL, 10), err);
	}
	closedir(directory);
	return result;
}

/* Looks at one status file: does a living process have the uid as any of its four?  A process that
 * ends while it is read has it no longer. */
static bool status_has_uid(int proc_fd, const char *pid, uid_t uid)
{
	char path[32], text[1024];
	unsigned long ids[4];
	const char *line, *state;
	ssize_t length;
	ac_autoclose int fd = -1;

	snprintf(path, sizeof(path), "%.16s/status", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	state = strstr(text, "\nState:\t");
	line = strstr(text, "\nUid:\t");
	if (!line || !state || strchr("ZX", state[8]))
		return false;
	line += 5;
	for (unsigned i = 0; i < AC_COUNT(ids); i++) {
		char *end;

		ids[i] = strtoul(line, &end, 10);
		line = end;
	}
	return ids[0] == uid || ids[1] == uid || ids[2] == uid || ids[3] == uid;
}

int ac_account_processes(uid_t uid)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int count = 0, code;

	if (!proc)
		return -errno;
	errno = 0;
	while ((entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			count += status_has_uid(dirfd(proc), entry->d_name, uid);
		errno = 0;
	}
	code = errno;
	closedir(proc);
	return code ? -code : count;
}

/* The kernel looks at every thread; what it finds may be a zombie, which only a closer look tells. */
int ac_account_own_processes(uid_t uid)
{
	errno = 0;
	if (getpriority(PRIO_USER, uid) == -1 && errno == ESRCH)
		return 0;
	return ac_account_processes(uid);
}

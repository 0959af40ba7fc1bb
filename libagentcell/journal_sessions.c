/* SPDX-License-Identifier: ISC */
/*
 * All session directories: list, sweep, remove.
 *
 * A crash can leave two kinds of rubbish: a directory that was never finished (prefix) and one that
 * was being removed (empty: the journal goes last).  Neither is a session; the list sweeps them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "journal_at.h"
#include "safefile.h"
#include "util.h"

#define UNBORN_AGE_S 60 /* making one takes milliseconds */

static void closedir_pointer(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static void sweep_unborn(int base_fd, const char *name)
{
	ac_autoclose int fd = -1;
	struct timespec now;
	struct stat st;

	fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec - st.st_ctim.tv_sec < UNBORN_AGE_S)
		return;
	unlinkat(fd, AC_JOURNAL_NAME, 0);
	unlinkat(base_fd, name, AT_REMOVEDIR);
}

int ac_journal_sessions_at(int base_fd, int (*each)(void *context, const char *session_id),
	void *context, struct ac_err *err)
{
	__attribute__((cleanup(closedir_pointer))) DIR *directory = NULL;
	const struct dirent *entry;
	int fd = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ac_fail_errno(err, errno, "open the directory of sessions");
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return ac_fail_errno(err, ENOMEM, "list sessions");
	}
	while ((entry = readdir(directory))) {
		const char *name = entry->d_name;
		int rc;

		if (strncmp(name, AC_JOURNAL_UNBORN, strlen(AC_JOURNAL_UNBORN)) == 0)
			sweep_unborn(fd, name);
		if (!ac_session_id_is_valid(name) || unlinkat(fd, name, AT_REMOVEDIR) == 0)
			continue;
		rc = each(context, name);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int ac_journal_sessions(
	int (*each)(void *context, const char *session_id), void *context, struct ac_err *err)
{
	ac_autoclose int base_fd = ac_sessions_open(err);

	return base_fd < 0 ? base_fd : ac_journal_sessions_at(base_fd, each, context, err);
}

/* Everything but the journal, so that a session stays a session until it is gone. */
static int remove_contents(int directory_fd, struct ac_err *err)
{
	static const char aside[] = AC_JOURNAL_NAME;
	__attribute__((cleanup(closedir_pointer))) DIR *directory = NULL;
	const struct dirent *entry;
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return ac_fail_errno(err, code, "list the session directory");
	}
	while ((entry = readdir(directory))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, aside) == 0)
			continue;
		if (unlinkat(fd, name, 0) < 0 && errno != EISDIR)
			return ac_fail_errno(err, errno, "remove %s of the session", name);
	}
	return ac_remove_below(directory_fd, err);
}

int ac_journal_remove(struct ac_journal *journal, struct ac_err *err)
{
	/* The directory's own "..": works below any base, and a rename cannot mislead it. */
	ac_autoclose int base_fd = openat(
		journal->directory_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat mine, named;
	int rc;

	if (base_fd < 0 || fstat(journal->directory_fd, &mine) < 0)
		return ac_fail_errno(err, errno, "open the directory of sessions");
	if (fstatat(base_fd, journal->session_id, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return ac_fail_errno(err, errno, "find session %s", journal->session_id);
	if (mine.st_dev != named.st_dev || mine.st_ino != named.st_ino)
		return ac_fail(
			err, ESTALE, "session %s is another directory now", journal->session_id);
	rc = remove_contents(journal->directory_fd, err);
	if (rc < 0)
		return rc;
	if (unlinkat(base_fd, journal->session_id, AT_REMOVEDIR) < 0)
		return ac_fail_errno(err, errno, "remove session %s", journal->session_id);
	return 0;
}

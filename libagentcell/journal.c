/* SPDX-License-Identifier: ISC */
/*
 * The journal file: created complete, locked by flock, appended by single writes.
 *
 * A session directory is made under another name, with its journal locked inside, and then renamed:
 * whoever looks for orphans never meets one that is half made or not yet locked.  A torn last line
 * (power cut, full disk) counts as not written and is cut off by the next owner of the lock.
 */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "journal_at.h"
#include "safefile.h"
#include "util.h"

#define JOURNAL_MAX 65536 /* bytes; a session writes about twenty lines */

int ac_sessions_open(struct ac_err *err)
{
	/* /run is empty after a boot; the parent must stay open to all for the socket in it. */
	int fd = ac_make_directory(AC_RUN_DIRECTORY, 0755, err);

	if (fd < 0)
		return fd;
	close(fd);
	return ac_make_directory(AC_SESSIONS_DIRECTORY, 0700, err);
}

static int open_journal(int directory_fd, int flags)
{
	int fd = openat(directory_fd, AC_JOURNAL_NAME,
		O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);

	return fd < 0 ? -errno : fd;
}

static int fill_directory(int base_fd, const char *name, struct ac_journal *journal)
{
	ac_autoclose int directory_fd = openat(
		base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ac_autoclose int fd = -1;

	if (directory_fd < 0)
		return -errno;
	fd = open_journal(directory_fd, O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	journal->directory_fd = ac_take_fd(&directory_fd);
	journal->fd = ac_take_fd(&fd);
	return 0;
}

static void undo_create(int base_fd, const char *name, struct ac_journal *journal)
{
	if (journal->directory_fd >= 0)
		unlinkat(journal->directory_fd, AC_JOURNAL_NAME, 0);
	unlinkat(base_fd, name, AT_REMOVEDIR);
	ac_journal_close(journal);
}

int ac_journal_create_at(
	int base_fd, const char *session_id, struct ac_journal *journal, struct ac_err *err)
{
	struct ac_journal made = AC_JOURNAL_CLOSED;
	char name[sizeof(AC_JOURNAL_UNBORN) + AC_SESSION_ID_SIZE];
	int rc;

	if (!ac_session_id_is_valid(session_id))
		return ac_fail(err, EINVAL, "make a session: '%s' is no session id", session_id);
	snprintf(name, sizeof(name), AC_JOURNAL_UNBORN "%s", session_id);
	if (mkdirat(base_fd, name, 0700) < 0)
		return ac_fail_errno(err, errno, "make session directory %s", session_id);
	rc = fill_directory(base_fd, name, &made);
	if (rc == 0 && renameat2(base_fd, name, base_fd, session_id, RENAME_NOREPLACE) < 0)
		rc = -errno;
	if (rc < 0) {
		undo_create(base_fd, name, &made);
		return ac_fail_errno(err, -rc, "make the journal of session %s", session_id);
	}
	memcpy(made.session_id, session_id, sizeof(made.session_id));
	*journal = made;
	return 0;
}

int ac_journal_open_at(
	int base_fd, const char *session_id, struct ac_journal *journal, struct ac_err *err)
{
	ac_autoclose int directory_fd = -1;
	struct stat st;
	int fd;

	if (!ac_session_id_is_valid(session_id))
		return ac_fail(err, EINVAL, "open a session: '%s' is no session id", session_id);
	directory_fd = openat(base_fd, session_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory_fd < 0)
		return ac_fail_errno(err, errno, "open session %s", session_id);
	fd = open_journal(directory_fd, 0);
	if (fd < 0)
		return ac_fail_errno(err, -fd, "open the journal of session %s", session_id);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return ac_fail(
			err, EINVAL, "the journal of session %s is not a regular file", session_id);
	}
	journal->fd = fd;
	journal->directory_fd = ac_take_fd(&directory_fd);
	journal->count = 0;
	memcpy(journal->session_id, session_id, sizeof(journal->session_id));
	return 0;
}

int ac_journal_create(const char *session_id, struct ac_journal *journal, struct ac_err *err)
{
	ac_autoclose int base_fd = ac_sessions_open(err);

	return base_fd < 0 ? base_fd : ac_journal_create_at(base_fd, session_id, journal, err);
}

int ac_journal_open(const char *session_id, struct ac_journal *journal, struct ac_err *err)
{
	ac_autoclose int base_fd = ac_sessions_open(err);

	return base_fd < 0 ? base_fd : ac_journal_open_at(base_fd, session_id, journal, err);
}

static ssize_t read_journal(const struct ac_journal *journal, char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = pread(journal->fd, text + length, size - length, (off_t)length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return (ssize_t)length;
		length += (size_t)n;
	}
	return -EFBIG;
}

/* Walks the whole lines of text; *whole gets the bytes that they fill. */
static int each_line(const char *text, size_t length,
	int (*each)(void *context, const struct ac_journal_record *record), void *context,
	size_t *whole)
{
	const char *line = text, *newline;
	unsigned count = 0;

	while ((newline = memchr(line, '\n', length - (size_t)(line - text)))) {
		struct ac_journal_record record;
		int rc = ac_journal_parse(line, (size_t)(newline + 1 - line), &record);

		if (rc == 0 && record.count != count + 1)
			rc = -EBADMSG;
		if (rc == 0)
			rc = each(context, &record);
		if (rc != 0)
			return rc;
		count++;
		line = newline + 1;
	}
	*whole = (size_t)(line - text);
	return 0;
}

static int walk(const struct ac_journal *journal,
	int (*each)(void *context, const struct ac_journal_record *record), void *context,
	size_t *whole)
{
	ac_autofree char *text = malloc(JOURNAL_MAX);
	ssize_t length;

	if (!text)
		return -ENOMEM;
	length = read_journal(journal, text, JOURNAL_MAX);
	return length < 0 ? (int)length : each_line(text, (size_t)length, each, context, whole);
}

int ac_journal_each(struct ac_journal *journal,
	int (*each)(void *context, const struct ac_journal_record *record), void *context,
	struct ac_err *err)
{
	size_t whole;
	int rc = walk(journal, each, context, &whole);

	if (rc < 0)
		return ac_fail_errno(
			err, -rc, "read the journal of session %s", journal->session_id);
	return rc;
}

static int keep_last(void *context, const struct ac_journal_record *record)
{
	*(struct ac_journal_record *)context = *record;
	return 0;
}

int ac_journal_last(
	struct ac_journal *journal, struct ac_journal_record *record, struct ac_err *err)
{
	struct ac_journal_record last = { .count = 0 };
	int rc = ac_journal_each(journal, keep_last, &last, err);

	if (rc < 0)
		return rc;
	if (last.count == 0)
		return ac_fail(err, ENODATA, "the journal of session %s has no record yet",
			journal->session_id);
	*record = last;
	return 0;
}

int ac_journal_lock(struct ac_journal *journal)
{
	struct ac_journal_record last = { .count = 0 };
	size_t whole = 0;
	struct stat st;
	int rc;

	if (flock(journal->fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	/* Its last owner may have removed it between our open and now. */
	rc = fstat(journal->fd, &st) < 0 ? -errno : st.st_nlink == 0 ? -ENOENT : 0;
	if (rc == 0)
		rc = walk(journal, keep_last, &last, &whole);
	if (rc == 0 && ftruncate(journal->fd, (off_t)whole) < 0)
		rc = -errno;
	if (rc < 0) {
		flock(journal->fd, LOCK_UN);
		return rc;
	}
	journal->count = last.count;
	return 0;
}

void ac_journal_unlock(struct ac_journal *journal)
{
	/* Explicitly: a forked child may still hold a copy of the descriptor. */
	if (journal->fd >= 0)
		flock(journal->fd, LOCK_UN);
}

int ac_journal_append(struct ac_journal *journal, struct ac_life life)
{
	struct ac_journal_record record = {
		.count = journal->count + 1, .life = life, .pid = getpid()
	};
	struct timespec now;
	char line[128];
	struct stat before;
	int length;
	ssize_t n;

	clock_gettime(CLOCK_BOOTTIME, &now);
	record.time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	length = ac_journal_format(line, sizeof(line), &record);
	if (length < 0)
		return length;
	if (fstat(journal->fd, &before) < 0)
		return -errno;
	n = write(journal->fd, line, (size_t)length);
	if (n != length || fdatasync(journal->fd) < 0) {
		int code = n >= 0 && n != length ? ENOSPC : errno;

		/* A retry must not stick to a torn line. */
		return ftruncate(journal->fd, before.st_size) < 0 ? -EIO : -code;
	}
	journal->count++;
	return 0;
}

void ac_journal_close(struct ac_journal *journal)
{
	if (journal->fd >= 0)
		close(journal->fd);
	if (journal->directory_fd >= 0)
		close(journal->directory_fd);
	journal->fd = journal->directory_fd = -1;
}

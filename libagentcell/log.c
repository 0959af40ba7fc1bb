/* SPDX-License-Identifier: ISC */
/*
 * The JSON log.  A line is made whole in memory and written by one write() to an O_APPEND
 * descriptor, so that lines of several processes never mix.  Every string value is escaped here;
 * callers pass raw bytes.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "escape.h"
#include "journal.h"
#include "json_text.h"
#include "safefile.h"
#include "util.h"

#define LINE_MAX_BYTES 65536
#define LOG_GROUP "adm" /* who may read logs on Debian and its relatives */

static const struct event {
	const char *name, *status, *cause; /* status and cause where the caller gives none */
} events[AC_LOG_COUNT] = {
	[AC_LOG_START] = { "start", "planned", "none" },
	[AC_LOG_RUNNING] = { "running", "running", "none" },
	[AC_LOG_DENIED] = { "denied", "running", "none" },
	[AC_LOG_ESCAPE] = { "escape", "terminated", "escape" },
	[AC_LOG_KILL] = { "kill", "terminated", "none" },
	[AC_LOG_HEARTBEAT] = { "heartbeat", "running", "none" },
	[AC_LOG_LOST] = { "lost", "terminated", "lost" },
	[AC_LOG_END] = { "end", "ended", "none" },
	[AC_LOG_REFUSED] = { "refused", "aborted", "refused" },
	[AC_LOG_RESTORE] = { "restore", "ended", "none" },
	[AC_LOG_CHANGED] = { "changed", "ended", "none" },
	[AC_LOG_RESOLVED] = { "resolved", "running", "none" },
};

const char *ac_log_event_name(unsigned event)
{
	return event < AC_LOG_COUNT ? events[event].name : NULL;
}

static void format_time(char text[], size_t size, uint64_t realtime_ms)
{
	time_t seconds = (time_t)(realtime_ms / 1000);
	struct tm tm;
	char day[32];

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "%s.%03uZ", day, (unsigned)(realtime_ms % 1000));
}

static int add_string(json_object *object, const char *name, const char *value)
{
	size_t length = strlen(value);
	size_t size = ac_escape((char[1]){ 0 }, 1, value, length) + 1;
	ac_autofree char *text = malloc(size);
	json_object *string;

	if (!text)
		return -ENOMEM;
	ac_escape(text, size, value, length);
	string = json_object_new_string(text);
	return string && json_object_object_add(object, name, string) == 0 ? 0 : -ENOMEM;
}

static int add_number(json_object *object, const char *name, int64_t number)
{
	json_object *value = json_object_new_int64(number);

	return value && json_object_object_add(object, name, value) == 0 ? 0 : -ENOMEM;
}

static const char *field_value(
	const struct ac_log_field *fields, unsigned count, const char *name, const char *fallback)
{
	unsigned i;

	for (i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0 && fields[i].value)
			return fields[i].value;
	return fallback;
}

static int add_head(json_object *object, uint64_t realtime_ms, enum ac_log_event event,
	const char *session_id, const struct ac_log_field *fields, unsigned count)
{
	const struct event *words = &events[event];
	char time_text[64];
	int rc;

	format_time(time_text, sizeof(time_text), realtime_ms);
	rc = add_string(object, "time", time_text);
	if (rc == 0)
		rc = add_string(object, "event", words->name);
	if (rc == 0)
		rc = add_string(object, "session_id", session_id ? session_id : "");
	if (rc == 0)
		rc = add_string(
			object, "status", field_value(fields, count, "status", words->status));
	if (rc == 0)
		rc = add_string(object, "cause", field_value(fields, count, "cause", words->cause));
	return rc;
}

static bool name_is_valid(const char *name)
{
	return name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static int add_fields(json_object *object, const struct ac_log_field *fields, unsigned count)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < count && rc == 0; i++) {
		const struct ac_log_field *field = &fields[i];

		if ((strcmp(field->name, "status") == 0 || strcmp(field->name, "cause") == 0) &&
			field->value)
			continue;
		if (!name_is_valid(field->name) ||
			json_object_object_get_ex(object, field->name, NULL))
			return -EINVAL; /* a second value would hide the first */
		rc = field->value ? add_string(object, field->name, field->value)
				  : add_number(object, field->name, field->number);
	}
	return rc;
}

int ac_log_format(char line[], size_t size, uint64_t realtime_ms, enum ac_log_event event,
	const char *session_id, const struct ac_log_field *fields, unsigned count)
{
	ac_autojson json_object *object = json_object_new_object();
	const char *text;
	int length, rc;

	if (!object)
		return -ENOMEM;
	if ((unsigned)event >= AC_LOG_COUNT)
		return -EINVAL;
	rc = add_head(object, realtime_ms, event, session_id, fields, count);
	if (rc == 0)
		rc = add_fields(object, fields, count);
	if (rc < 0)
		return rc;
	text = json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		return -ENOMEM;
	length = snprintf(line, size, "%s\n", text);
	return length < 0 || (size_t)length >= size ? -EMSGSIZE : length;
}

/* NSS is asked only when the file is new. */
static void give_to_group(int fd)
{
	char buffer[4096];
	struct group group, *found = NULL;

	if (getgrnam_r(LOG_GROUP, &group, buffer, sizeof(buffer), &found) == 0 && found &&
		fchown(fd, 0, found->gr_gid) == 0)
		return;
	/* Without the group nobody but root reads it; then the group bit must not say otherwise. */
	if (fchown(fd, 0, 0) < 0 || fchmod(fd, 0600) < 0)
		return;
}

static int open_in(int directory_fd, const char *name)
{
	int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(directory_fd, name, flags | O_CREAT | O_EXCL, 0640);

	if (fd >= 0) {
		if (fchmod(fd, 0640) == 0)
			give_to_group(fd);
		return fd;
	}
	if (errno == EEXIST)
		fd = openat(directory_fd, name, flags);
	return fd < 0 ? -errno : fd;
}

static int judge_log(int fd, const char *log_path, struct ac_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "stat %s", log_path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
		(st.st_mode & (S_IWGRP | S_IWOTH)))
		return ac_fail(err, EPERM,
			"%s must be a regular file of root, with one name, not writable by others",
			log_path);
	return 0;
}

int ac_log_open(const char *log_path, struct ac_err *err)
{
	const char *slash = strrchr(log_path, '/');
	ac_autoclose int directory_fd = -1;
	ac_autoclose int fd = -1;
	char directory[AC_PATH_MAX];
	int rc;

	if (log_path[0] != '/' || strlen(log_path) >= sizeof(directory) || slash == log_path)
		return ac_fail(err, EINVAL, "log path '%s' must be absolute and below a directory",
			log_path);
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - log_path), log_path);
	directory_fd = ac_make_directory(directory, 0755, err);
	if (directory_fd < 0)
		return directory_fd;
	fd = open_in(directory_fd, slash + 1);
	if (fd < 0)
		return ac_fail_errno(err, -fd, "open log %s", log_path);
	rc = judge_log(fd, log_path, err);
	return rc < 0 ? rc : ac_take_fd(&fd);
}

/* A line that a full disk has torn must not swallow this one.  Another writer's line may be seen
 * half-way: it is whole a moment later, a torn one is not. */
static bool ends_torn(int fd)
{
	const struct timespec moment = { .tv_nsec = 2000000 };
	struct stat st;
	char last;

	for (unsigned i = 0; i < 4; i++) {
		if (fstat(fd, &st) < 0 || st.st_size == 0 ||
			pread(fd, &last, 1, st.st_size - 1) != 1 || last == '\n')
			return false;
		nanosleep(&moment, NULL);
	}
	return true;
}

static int append(int fd, char *line, size_t length, bool sync)
{
	ssize_t n;

	/* line has room for one byte before it */
	if (ends_torn(fd)) {
		line--;
		length++;
		line[0] = '\n';
	}
	do
		n = write(fd, line, length);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n != length)
		return -ENOSPC;
	return sync && fdatasync(fd) < 0 ? -errno : 0;
}

int ac_log_write(const char *log_path, enum ac_log_event event, const char *session_id,
	const struct ac_log_field *fields, unsigned count, bool sync, struct ac_err *err)
{
	ac_autofree char *buffer = malloc(LINE_MAX_BYTES + 1);
	ac_autoclose int fd = -1;
	struct timespec now;
	int length, rc;

	if (!buffer)
		return ac_fail_errno(err, ENOMEM, "log an event");
	clock_gettime(CLOCK_REALTIME, &now);
	length = ac_log_format(buffer + 1, LINE_MAX_BYTES,
		(uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, event, session_id,
		fields, count);
	if (length < 0)
		return ac_fail_errno(err, -length, "make a line of log %s", log_path);
	fd = ac_log_open(log_path, err);
	if (fd < 0)
		return fd;
	rc = append(fd, buffer + 1, (size_t)length, sync);
	if (rc < 0)
		return ac_fail_errno(err, -rc, "write to log %s", log_path);
	return 0;
}

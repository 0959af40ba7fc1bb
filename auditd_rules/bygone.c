/* SPDX-License-Identifier: ISC */
/*
 * A session's journal lies in /run: when the power is cut it is gone, with everything else of the
 * session.  Its start is in the log, on disk; what is missing there is its end.  A running session
 * writes a line each minute, so the log's last part names all that ran when the machine went down.
 */
#include "bygone.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <libaudit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "guardian.h"
#include "journal.h"
#include "log.h"
#include "names.h"
#include "util.h"

#define LAST_PART (4 << 20)

static const char *text_of(json_object *line, const char *key)
{
	json_object *value = NULL;

	return json_object_object_get_ex(line, key, &value) &&
			       json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : "";
}

static struct ac_bygone *find(struct ac_bygone_list *list, const char *id)
{
	struct ac_bygone *more;

	for (unsigned i = list->count; i-- > 0;)
		if (!strcmp(list->bygone[i].id, id))
			return &list->bygone[i];
	if (list->count == list->size) {
		more = reallocarray(list->bygone, list->size * 2 + 64, sizeof(*more));
		if (!more)
			return NULL;
		list->bygone = more;
		list->size = list->size * 2 + 64;
	}
	more = &list->bygone[list->count++];
	*more = (struct ac_bygone){ .ended = false };
	(void)snprintf(more->id, sizeof(more->id), "%s", id);
	return more;
}

static void copy(char *text, size_t size, const char *value)
{
	if (*value)
		(void)snprintf(text, size, "%s", value);
}

static int take(struct ac_bygone_list *list, json_object *line)
{
	const char *id = text_of(line, "session_id");
	const char *event = text_of(line, "event");
	struct ac_bygone *bygone;

	/* What comes after an end (a restore, say) is no session. */
	if (!ac_session_id_is_valid(id) || !strcmp(event, ac_log_event_name(AC_LOG_RESTORE)) ||
		!strcmp(event, ac_log_event_name(AC_LOG_CHANGED)) ||
		!strcmp(event, ac_log_event_name(AC_LOG_REFUSED)))
		return 0;
	bygone = find(list, id);
	if (!bygone)
		return -ENOMEM;
	if (!strcmp(event, ac_log_event_name(AC_LOG_END)))
		bygone->ended = true;
	copy(bygone->time, sizeof(bygone->time), text_of(line, "time"));
	copy(bygone->user, sizeof(bygone->user), text_of(line, "user"));
	copy(bygone->backup_id, sizeof(bygone->backup_id), text_of(line, "backup_id"));
	return 0;
}

int ac_bygone_read(FILE *stream, struct ac_bygone_list *list)
{
	ac_autofree char *text = NULL;
	size_t size = 0;
	int rc = 0;

	while (!rc && getline(&text, &size, stream) > 0) {
		json_object *line = json_tokener_parse(text);

		if (json_object_is_type(line, json_type_object))
			rc = take(list, line);
		json_object_put(line);
	}
	return rc ? rc : ferror(stream) ? -EIO : 0;
}

/* The last part of a log file, from the beginning of a line on. */
static int read_file(const char *path, struct ac_bygone_list *list)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ac_autofclose FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat status;
	int byte = '\n';

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return fd < 0 && errno == ENOENT ? 0 : -errno;
	}
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -EINVAL;
	if (status.st_size > LAST_PART) {
		if (fseeko(stream, status.st_size - LAST_PART, SEEK_SET))
			return -errno;
		do
			byte = getc(stream);
		while (byte != '\n' && byte != EOF);
	}
	return byte == EOF ? 0 : ac_bygone_read(stream, list);
}

/* When this boot began, in the form of the log. */
static void boot_time(char text[32])
{
	struct timespec now, since;
	time_t seconds;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &since);
	seconds = now.tv_sec - since.tv_sec;
	gmtime_r(&seconds, &tm);
	strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &tm);
}

static bool is_over(const struct ac_bygone *bygone, const char *boot)
{
	char path[AC_PATH_MAX];

	(void)snprintf(path, sizeof(path), AC_SESSIONS_DIRECTORY "/%s", bygone->id);
	return !bygone->ended && bygone->time[0] && strcmp(bygone->time, boot) < 0 &&
	       access(path, F_OK) && errno == ENOENT;
}

static int write_end(const char *log_path, const struct ac_bygone *bygone, struct ac_err *err)
{
	const struct ac_log_field fields[] = {
		{ "status", "terminated", 0 },
		{ "cause", "lost", 0 },
		{ "user", bygone->user, 0 },
		{ "backup_id", bygone->backup_id, 0 },
		{ "reason", "the machine went down in the middle of it", 0 },
		{ "last_seen", bygone->time, 0 },
	};
	char text[128];

	syslog(LOG_WARNING, "session %s was cut off when the machine went down (last seen %s)",
		bygone->id, bygone->time);
	(void)snprintf(text, sizeof(text),
		"op=agentcell-end session=%s acct=\"agentcell-%s\" cause=lost", bygone->id,
		bygone->id);
	(void)ac_log_audit(AUDIT_DEL_USER, text, false, NULL);
	return ac_log_write(log_path, AC_LOG_END, bygone->id, fields, AC_COUNT(fields), true, err);
}

void ac_bygone_end(const char *log_path)
{
	struct ac_bygone_list list = { .count = 0 };
	char rotated[AC_PATH_MAX + 2], boot[32];
	struct ac_err err = { 0 };
	int rc;

	(void)snprintf(rotated, sizeof(rotated), "%s.1", log_path);
	rc = read_file(rotated, &list);
	if (!rc)
		rc = read_file(log_path, &list);
	if (rc)
		syslog(LOG_ERR, "look in %s for sessions that were cut off: %s", log_path,
			strerror(-rc));
	boot_time(boot);
	for (unsigned i = 0; i < list.count; i++)
		if (is_over(&list.bygone[i], boot) && write_end(log_path, &list.bygone[i], &err))
			syslog(LOG_ERR, "%s", err.text);
	free(list.bygone);
}

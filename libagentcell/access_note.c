/* SPDX-License-Identifier: ISC */
#include "access_note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access_back.h"
#include "account.h"
#include "journal.h"
#include "json_text.h"
#include "policy_fields.h"
#include "safefile.h"
#include "util.h"

/* A list of 32 paths of 4 KiB, each byte escaped to three, is less than 400 KiB. */
#define NOTE_MAX ((size_t)512 * 1024)

#define FIELD(kind_, member) \
	{ \
		.name = #member, .kind = AC_FIELD_##kind_, \
		.offset = offsetof(struct ac_access_note, member), \
		.size = sizeof(((struct ac_access_note *)0)->member), \
		.count = offsetof(struct ac_access_note, group_count) \
	}

static const struct ac_field fields[] = {
	FIELD(STRING, session_id),
	FIELD(UNSIGNED, user_uid),
	FIELD(UNSIGNED, user_gid),
	FIELD(GROUPS, groups),
	FIELD(UNSIGNED, session_uid),
	FIELD(UNSIGNED, session_gid),
	FIELD(PATHS, paths),
	{ .name = NULL },
};

/* Root's, the user's and nobody's entries are not a session's. */
static const char *wrong_with(const struct ac_access_note *note)
{
	if (!ac_session_id_is_valid(note->session_id))
		return "session_id";
	if (note->user_uid == 0 || note->user_uid == (uid_t)-1 || note->user_gid == (gid_t)-1)
		return "user_uid or user_gid";
	if (note->session_uid == 0 || note->session_uid == (uid_t)-1 ||
		note->session_uid == note->user_uid)
		return "session_uid";
	if (note->session_gid == 0 || note->session_gid == (gid_t)-1 ||
		note->session_gid == note->user_gid)
		return "session_gid";
	return note->paths.count ? NULL : "paths";
}

char *ac_access_note_format(const struct ac_access_note *note, size_t *length)
{
	ac_autojson json_object *root = wrong_with(note) ? NULL : ac_fields_write(fields, note);
	const char *text = root ? json_object_to_json_string_length(root,
					  JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE,
					  length)
				: NULL;

	return text ? strdup(text) : NULL;
}

static bool is_what_we_write(const struct ac_access_note *note, const char *text, size_t length)
{
	size_t again_length = 0;
	ac_autofree char *again = ac_access_note_format(note, &again_length);

	return again && again_length == length && memcmp(again, text, length) == 0;
}

int ac_access_note_parse(
	const char *text, size_t length, struct ac_access_note *note, struct ac_err *err)
{
	ac_autofree struct ac_access_note *read = calloc(1, sizeof *read);
	ac_autojson json_object *root = NULL;
	const char *bad;

	if (!read)
		return ac_fail_errno(err, ENOMEM, "read a note of access by ACL");
	if (length > NOTE_MAX || ac_json_parse(text, length, &root) < 0)
		return ac_fail(err, EBADMSG, "not the JSON that agentcell writes");
	if (ac_fields_read(fields, root, read, &bad) < 0)
		return ac_fail(err, EBADMSG, "%s is missing, doubled or out of range", bad);
	bad = wrong_with(read);
	if (bad)
		return ac_fail(err, EBADMSG, "%s is not one of a session's", bad);
	if (!is_what_we_write(read, text, length))
		return ac_fail(err, EBADMSG, "it does not round-trip");
	*note = *read;
	return 0;
}

/* Its own name must be on disk, too. */
static int make_notes(struct ac_err *err)
{
	ac_autoclose int above = ac_make_directory(AC_STATE_DIRECTORY, 0755, err);
	ac_autoclose int notes = above < 0 ? above : ac_make_directory(AC_ACL_DIRECTORY, 0700, err);

	if (notes < 0)
		return notes;
	int result = ac_sync_directory(above);

	return result ? ac_fail_errno(err, -result, "sync " AC_STATE_DIRECTORY)
		      : ac_take_fd(&notes);
}

static int remove_note(int notes, uid_t uid, struct ac_err *err)
{
	char name[16];

	snprintf(name, sizeof name, "%u", (unsigned)uid);
	int result = unlinkat(notes, name, 0) != 0 && errno != ENOENT ? -errno
								      : ac_sync_directory(notes);

	return result ? ac_fail_errno(err, -result, "remove " AC_ACL_DIRECTORY "/%s", name) : 0;
}

static int put_note(int notes, uid_t uid, const char *text, size_t length, struct ac_err *err)
{
	char name[16], unfinished[17];

	snprintf(name, sizeof name, "%u", (unsigned)uid);
	snprintf(unfinished, sizeof unfinished, ".%s", name);
	(void)unlinkat(notes, unfinished, 0); /* of one that was killed */
	int result = ac_write_new(notes, unfinished, text, length, 0600, err);

	if (result)
		return ac_fail_within(err, AC_ACL_DIRECTORY);
	result = renameat(notes, unfinished, notes, name) != 0 ? -errno : ac_sync_directory(notes);
	return result ? ac_fail_errno(err, -result, "write " AC_ACL_DIRECTORY "/%s", name) : 0;
}

int ac_access_note_write(const struct ac_access_note *note, struct ac_err *err)
{
	size_t length = 0;

	if (!note->paths.count) {
		ac_autoclose int notes = ac_access_notes_open(err);

		if (notes < 0)
			return notes == -ENOENT ? 0 : notes;
		return remove_note(notes, note->session_uid, err);
	}
	ac_autofree char *text = ac_access_note_format(note, &length);

	if (!text)
		return ac_fail(err, EINVAL,
			"note access by ACL: out of memory, or a value is out of range");
	ac_autoclose int notes = make_notes(err);

	return notes < 0 ? notes : put_note(notes, note->session_uid, text, length, err);
}

int ac_access_notes_open(struct ac_err *err)
{
	int fd = open(AC_ACL_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return -ENOENT; /* as nearly everywhere: no message */
	return fd < 0 ? ac_fail_errno(err, errno, "open " AC_ACL_DIRECTORY) : fd;
}

bool ac_access_note_stands(int notes, uid_t uid)
{
	char name[16];

	snprintf(name, sizeof name, "%u", (unsigned)uid);
	return notes >= 0 && (faccessat(notes, name, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 ||
				     errno != ENOENT);
}

/* False for what is none, such as an unfinished one. */
static bool read_name(const char *name, uid_t *uid)
{
	char again[16];

	*uid = (uid_t)strtoul(name, NULL, 10);
	snprintf(again, sizeof again, "%u", (unsigned)*uid);
	return strcmp(name, again) == 0;
}

int ac_access_notes_each(void (*each)(void *context, uid_t uid), void *context, struct ac_err *err)
{
	ac_autoclose int notes = ac_access_notes_open(err);
	int fd = notes < 0 ? -1 : openat(notes, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uid_t uid;

	if (notes < 0)
		return notes == -ENOENT ? 0 : notes;
	if (!directory) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		return ac_fail_errno(err, code, "list " AC_ACL_DIRECTORY);
	}
	while ((entry = readdir(directory)))
		if (read_name(entry->d_name, &uid))
			each(context, uid);
	closedir(directory);
	return 0;
}

static struct ac_access_note *read_note(int fd, uid_t uid, struct ac_err *err)
{
	ac_autofree struct ac_access_note *note = calloc(1, sizeof *note);
	ac_autofree char *text = malloc(NOTE_MAX);

	if (!note || !text) {
		ac_fail_errno(err, ENOMEM, "read a note of access by ACL");
		return NULL;
	}
	ssize_t length = ac_read_all(fd, text, NOTE_MAX);
	int result = length < 0 ? ac_fail_errno(err, (int)-length, "read it")
				: ac_access_note_parse(text, (size_t)length, note, err);

	if (!result && note->session_uid != uid)
		result = ac_fail(err, EBADMSG, "it is of uid %u", (unsigned)note->session_uid);
	return result ? NULL : AC_TAKE(note);
}

/* A session outlives its note, and while the note stands no other gets the uid: what is seen in this
 * order stays as it is. */
static bool is_left(int fd, const struct ac_access_note *note)
{
	char path[AC_PATH_MAX];
	struct stat status;

	snprintf(path, sizeof path, AC_SESSIONS_DIRECTORY "/%s", note->session_id);
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0 &&
	       errno == ENOENT && fstat(fd, &status) == 0 && status.st_nlink > 0;
}

static int take_back_all(struct ac_access_note *note, const struct ac_config *config, pid_t parent,
	struct ac_err *err)
{
	const struct ac_access_back back = {
		.access = { .user_uid = note->user_uid,
			.session_uid = note->session_uid,
			.user_gid = note->user_gid,
			.session_gid = note->session_gid,
			.uid_first = config->uid_first,
			.uid_last = config->uid_last },
		.user = { note->user_uid, note->user_gid, note->group_count, note->groups },
		.parent = parent,
	};
	struct ac_path_list *paths = &note->paths;
	struct ac_err first = { 0 };

	for (unsigned i = 0; i < paths->count;) {
		if (ac_access_take_back(&back, &paths->entry[i], -1, err) != 0) {
			first = first.code ? first : *err;
			i++;
			continue;
		}
		paths->count--;
		memmove(&paths->entry[i], &paths->entry[i + 1],
			(paths->count - i) * sizeof paths->entry[0]);
		if (ac_access_note_write(note, err) != 0)
			return -err->code;
	}
	*err = first;
	return -first.code;
}

int ac_access_note_settle(uid_t uid, const struct ac_config *config, pid_t parent,
	char session_id[AC_SESSION_ID_SIZE], struct ac_err *err)
{
	char path[AC_PATH_MAX];

	*session_id = '\0';
	snprintf(path, sizeof path, AC_ACL_DIRECTORY "/%u", (unsigned)uid);
	ac_autoclose int fd = ac_open_trusted(-1, path, NOTE_MAX, err);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ac_autofree struct ac_access_note *note = read_note(fd, uid, err);

	if (!note)
		return ac_fail_within(err,
			"%s, which says from where access by ACL is to be taken back, is damaged",
			path);
	if (!is_left(fd, note))
		return 0;
	/* Whoever still runs with it could pass it on meanwhile. */
	if (ac_account_own_processes(uid) != 0)
		return ac_fail(err, EBUSY, "processes of uid %u are still there", (unsigned)uid);
	snprintf(session_id, AC_SESSION_ID_SIZE, "%s", note->session_id);
	return take_back_all(note, config, parent, err);
}

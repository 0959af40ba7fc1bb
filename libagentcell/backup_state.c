/* SPDX-License-Identifier: ISC */
/*
 * <id>.state: one line that says what became of the session that a backup was made for.
 *
 * "live" counts only within the boot that wrote it: after a power loss no session lives.  The file
 * is replaced by rename, never rewritten.  What it says is the user's word, good enough to keep
 * the user from a mistake; whether a session really lives is asked of the listener.
 */
#include "backup_store.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lifecycle.h"
#include "safefile.h"
#include "util.h"
#include "wire.h"

#define BOOT_ID_SIZE 37
#define LIST_TIMEOUT_MS 2000

static void boot_id(char text[BOOT_ID_SIZE])
{
	ac_autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(text, 0, BOOT_ID_SIZE);
	if (fd < 0 || read(fd, text, BOOT_ID_SIZE - 1) != BOOT_ID_SIZE - 1)
		memcpy(text, "unknown", sizeof "unknown");
}

int ac_store_state_set(int store_fd, const char *id, const char *text, struct ac_err *err)
{
	char temporary[AC_STORE_NAME_MAX], name[AC_STORE_NAME_MAX];
	ac_autoclose int fd = ac_store_temporary(store_fd, temporary, err);

	if (fd < 0)
		return fd;
	snprintf(name, sizeof name, "%s" AC_STORE_STATE, id);
	int result = ac_write_all(fd, text, strlen(text));

	/* Not synced: after a power loss no session lives, and an emptied state is one that is kept. */
	if (!result && renameat(store_fd, temporary, store_fd, name) < 0)
		result = -errno;
	if (!result)
		return 0;
	unlinkat(store_fd, temporary, 0);
	return ac_fail_errno(err, -result, "write the state of backup %s", id);
}

int ac_store_state_live(int store_fd, const char *id, const char *session_id, struct ac_err *err)
{
	char boot[BOOT_ID_SIZE], text[128];

	boot_id(boot);
	snprintf(text, sizeof text, "live %s %s\n", session_id, boot);
	return ac_store_state_set(store_fd, id, text, err);
}

static unsigned cause_by_name(const char *name)
{
	for (unsigned cause = 0; cause < AC_CAUSE_COUNT; cause++)
		if (!strcmp(ac_cause_name(cause), name))
			return cause;
	return AC_CAUSE_NONE;
}

int ac_store_state_read(
	int store_fd, const char *id, struct ac_store_state *state, struct ac_err *err)
{
	char name[AC_STORE_NAME_MAX], text[128] = "", word[16] = "", first[40] = "", boot[40] = "";
	char now[BOOT_ID_SIZE];

	memset(state, 0, sizeof *state);
	snprintf(name, sizeof name, "%s" AC_STORE_STATE, id);
	ac_autoclose int fd = openat(store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : ac_fail_errno(err, errno, "open %s", name);
	ssize_t length = ac_read_all(fd, text, sizeof text - 1);

	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read %s", name);
	text[length] = '\0';
	if (sscanf(text, "%15s %39s %39s", word, first, boot) < 1)
		return 0; /* emptied by a power loss: nothing is known */
	state->is_known = true;
	if (!strcmp(word, "ended")) {
		state->cause = cause_by_name(first);
	} else if (!strcmp(word, "live")) {
		boot_id(now);
		state->live = !strcmp(boot, now);
		if (!state->live)
			state->cause = AC_CAUSE_LOST;
		snprintf(state->session_id, sizeof state->session_id, "%.12s", first);
	}
	return 0;
}

int ac_store_forget(int store_fd, const char *id, struct ac_err *err)
{
	char name[AC_STORE_NAME_MAX];

	snprintf(name, sizeof name, "%s" AC_STORE_MANIFEST, id);
	if (unlinkat(store_fd, name, 0) < 0 && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove %s", name);
	snprintf(name, sizeof name, "%s" AC_STORE_STATE, id);
	if (unlinkat(store_fd, name, 0) < 0 && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove %s", name);
	return 0;
}

/* 1: the listener says that the session lives, 0: that it does not, < 0: no answer. */
static int ask_listener(const char *session_id)
{
	struct ac_wire message;
	ac_autoclose int fd = ac_wire_connect(NULL);
	int found = 0;

	if (fd < 0)
		return fd;
	ac_wire_make(&message, AC_WIRE_LIST, NULL, 0, NULL);
	int result = ac_wire_send(fd, &message, NULL, 0, NULL);

	while (!result) {
		int fds[AC_WIRE_FDS_MAX];
		unsigned count = 0;

		result = ac_wire_receive(fd, &message, fds, &count, NULL, LIST_TIMEOUT_MS, NULL);
		if (result)
			break;
		while (count)
			close(fds[--count]);
		if (message.type != AC_WIRE_LISTED)
			return -EBADMSG;
		struct json_object *object = json_tokener_parse(message.text), *id = NULL;

		if (object && json_object_object_get_ex(object, "session_id", &id) &&
			!strcmp(json_object_get_string(id), session_id))
			found = 1;
		json_object_put(object);
		if (!message.value)
			return found;
	}
	return result;
}

/* The paths are checked by the caller's callback, who knows how to read a manifest. */
int ac_store_live_session(int store_fd, bool (*covers)(void *context, const char *id),
	void *context, char session_id[AC_SESSION_ID_SIZE], struct ac_err *err)
{
	struct ac_store_id *ids = NULL;
	unsigned count = 0;
	int result = ac_store_ids(store_fd, &ids, &count, err);

	for (unsigned i = 0; !result && i < count; i++) {
		struct ac_store_state state;

		result = ac_store_state_read(store_fd, ids[i].text, &state, err);
		if (result || !state.live || !covers(context, ids[i].text) ||
			ask_listener(state.session_id) == 0)
			continue;
		memcpy(session_id, state.session_id, AC_SESSION_ID_SIZE);
		result = 1;
	}
	free(ids);
	return result;
}

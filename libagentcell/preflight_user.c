/* SPDX-License-Identifier: ISC */
/*
 * The user's part of the preflight snapshot, in the backup's child: where each declared path's git
 * stands, and which file the harness is.  Plain reads below the path's own descriptor, without
 * symlinks, of bounded length; git itself is not asked, since it runs what a repository configures.
 */
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "escape.h"
#include "json_text.h"
#include "safefile.h"
#include "util.h"

#define LINE_MAX_BYTES 4096
#define PACKED_MAX (8u << 20)
#define PACKAGE_MAX (256u << 10)

static int open_below(int directory_fd, const char *name, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_NONBLOCK |
							      O_NOCTTY | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV };

	return (int)syscall(SYS_openat2, directory_fd, name, &how, sizeof how);
}

/* The text of a regular file of less than size bytes; -1 where there is none. */
static ssize_t read_below(int directory_fd, const char *name, char *text, size_t size)
{
	ac_autoclose int fd = open_below(directory_fd, name, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	ssize_t length = ac_read_all(fd, text, size - 1);

	if (length < 0)
		return -1;
	text[length] = '\0';
	return length;
}

static bool is_object_id(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");

	return (length == 40 || length == 64) && (!text[length] || text[length] == '\n');
}

static json_object *object_id(const char *text)
{
	return json_object_new_string_len(text, (int)strspn(text, "0123456789abcdef"));
}

/* In packed-refs: "<id> <name>", one a line. */
static json_object *packed_ref(int git_fd, const char *ref)
{
	ac_autofree char *text = malloc(PACKED_MAX);
	size_t length = strlen(ref);

	if (!text || read_below(git_fd, "packed-refs", text, PACKED_MAX) < 0)
		return NULL;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		size_t id = strspn(line, "0123456789abcdef");

		if (id && line[id] == ' ' && !strncmp(line + id + 1, ref, length) &&
			(line[id + 1 + length] == '\n' || !line[id + 1 + length]))
			return json_object_new_string_len(line, (int)id);
	}
	return NULL;
}

static json_object *resolve_ref(int git_fd, const char *ref)
{
	char text[LINE_MAX_BYTES];

	if (strncmp(ref, "refs/", 5) != 0)
		return NULL;
	if (read_below(git_fd, ref, text, sizeof text) > 0 && is_object_id(text))
		return object_id(text);
	return packed_ref(git_fd, ref);
}

static const char *state_of(int git_fd)
{
	static const struct {
		const char *name, *word;
	} signs[] = { { "rebase-merge", "rebasing" }, { "rebase-apply", "rebasing" },
		{ "MERGE_HEAD", "merging" }, { "CHERRY_PICK_HEAD", "cherry-picking" },
		{ "REVERT_HEAD", "reverting" }, { "BISECT_LOG", "bisecting" } };

	for (unsigned i = 0; i < AC_COUNT(signs); i++)
		if (!faccessat(git_fd, signs[i].name, F_OK, AT_SYMLINK_NOFOLLOW))
			return signs[i].word;
	return NULL;
}

static void add_head(json_object *object, int git_fd)
{
	static const char prefix[] = "ref: ";
	char text[LINE_MAX_BYTES];
	const char *state = state_of(git_fd);

	if (state)
		ac_json_add(object, "state", json_object_new_string(state));
	if (read_below(git_fd, "HEAD", text, sizeof text) <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (is_object_id(text)) {
		ac_json_add(object, "head", object_id(text));
	} else if (!strncmp(text, prefix, strlen(prefix))) {
		json_object *head = resolve_ref(git_fd, text + strlen(prefix));

		ac_json_add(object, "branch", ac_json_escaped(text + strlen(prefix)));
		if (head) /* none: nothing was ever committed there */
			ac_json_add(object, "head", head);
	}
}

/* NULL: there is no repository. */
static json_object *describe(int root_fd, const char *path)
{
	char text[LINE_MAX_BYTES];
	ac_autoclose int git_fd = open_below(root_fd, ".git", O_RDONLY | O_DIRECTORY);
	bool is_elsewhere = git_fd < 0 && read_below(root_fd, ".git", text, sizeof text) > 0;

	if (git_fd < 0 && !is_elsewhere)
		return NULL;
	json_object *object = json_object_new_object();

	ac_json_add(object, "path", ac_json_escaped(path));
	if (is_elsewhere) { /* a worktree or submodule: not followed */
		text[strcspn(text, "\n")] = '\0';
		ac_json_add(object, "elsewhere", ac_json_escaped(text));
	} else {
		add_head(object, git_fd);
	}
	return object;
}

static json_object *repositories(const struct ac_path_list *paths, const int *root_fds)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	json_object *list = json_object_new_array();

	for (unsigned i = 0; i < paths->count; i++) {
		const char *path = paths->entry[i].path;
		ac_autoclose int own = root_fds[i] < 0 ? (int)syscall(SYS_openat2, AT_FDCWD, path,
								 &how, sizeof how)
						       : -1;
		int fd = root_fds[i] < 0 ? own : root_fds[i];
		json_object *object = fd < 0 ? NULL : describe(fd, path);

		if (object)
			json_object_array_add(list, object);
	}
	return list;
}

/* Beside the program or one directory up, where npm puts it. */
static json_object *package_version(const char *program)
{
	static const char *const places[] = { "package.json", "../package.json" };
	ac_autofree char *directory = strdup(program);
	ac_autofree char *text = malloc(PACKAGE_MAX);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (!slash || slash == directory || !text)
		return NULL;
	*slash = '\0';
	ac_autoclose int directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; directory_fd >= 0 && i < AC_COUNT(places); i++) {
		ac_autoclose int fd = openat(
			directory_fd, places[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		ssize_t length = fd < 0 ? -1 : ac_read_all(fd, text, PACKAGE_MAX - 1);

		if (length <= 0)
			continue;
		text[length] = '\0';
		json_object *package = json_tokener_parse(text), *version = NULL;

		if (package && json_object_object_get_ex(package, "version", &version) &&
			json_object_is_type(version, json_type_string))
			version = ac_json_escaped(json_object_get_string(version));
		else
			version = NULL;
		json_object_put(package);
		if (version)
			return version;
	}
	return NULL;
}

static void add_harness(json_object *harness)
{
	json_object *path = NULL, *version;
	char bytes[AC_PATH_MAX];
	struct stat st;

	if (!json_object_object_get_ex(harness, "path", &path) ||
		ac_unescape(bytes, sizeof bytes, json_object_get_string(path)) < 0)
		return;
	ac_autofree char *program = realpath(bytes, NULL);

	if (!program || stat(program, &st) < 0)
		return;
	ac_json_add(harness, "program", ac_json_escaped(program));
	ac_json_add(harness, "size", json_object_new_int64(st.st_size));
	ac_json_add(harness, "modified", json_object_new_int64(st.st_mtim.tv_sec));
	version = package_version(program);
	if (version)
		ac_json_add(harness, "version", version);
}

char *ac_preflight_complete_dup(
	const char *preflight, const struct ac_path_list *paths, const int *root_fds)
{
	json_object *object = json_tokener_parse(preflight), *harness = NULL;
	char *copy = NULL;

	if (object && json_object_is_type(object, json_type_object)) {
		if (json_object_object_get_ex(object, "harness", &harness))
			add_harness(harness);
		ac_json_add(object, "git", repositories(paths, root_fds));
		const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

		copy = text ? strdup(text) : NULL;
	}
	json_object_put(object);
	return copy;
}

/* SPDX-License-Identifier: ISC */
/*
 * The way out.  What the session left in its home is hostile until looked at: read by descriptor,
 * bounded, no links; written with the user's rights only.
 */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credential.h"
#include "kept.h"
#include "resolve.h"
#include "safefile.h"
#include "tree.h"
#include "util.h"

struct way_out {
	struct ac_home *home;
	const struct ac_plan *plan;
	struct ac_identity who;
	struct ac_tree_side from;
	void (*say)(void *context, const char *text);
	void *context;
};

static void tell(const struct way_out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(const struct way_out *out, const char *format, ...)
{
	char text[AC_ERR_TEXT_MAX + AC_PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	out->say(out->context, text);
}

/* A small file of the session's home, or NULL: not there, no file, too large. */
static char *read_small(const struct ac_tree_side *side, const char *path, size_t *length)
{
	ac_autoclose int fd = ac_tree_open(
		side, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return NULL;
	char *bytes = malloc(AC_CREDENTIAL_MAX);
	ssize_t size = bytes ? ac_read_all(fd, bytes, AC_CREDENTIAL_MAX) : -1;

	if (size < 0) {
		free(bytes);
		return NULL;
	}
	*length = (size_t)size;
	return bytes;
}

int ac_home_open(struct ac_home *home, const struct ac_session_policy *session, struct ac_err *err)
{
	const struct ac_placements *placements = &session->policy.placements;

	home->fd = open(session->policy.home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (home->fd < 0)
		return ac_fail_errno(
			err, errno, "cannot open %s in the view", session->policy.home);
	const struct ac_tree_side side = { home->fd, NULL, (uid_t)-1, (gid_t)-1 };

	for (unsigned i = 0; i < placements->count; i++)
		if (placements->placement[i].kind == AC_PLACE_CREDENTIAL)
			home->credential[i].bytes = read_small(&side,
				placements->placement[i].target, &home->credential[i].length);
	return 0;
}

struct original {
	char path[2 * AC_PATH_MAX]; /* where it really lies, links followed */
	char *bytes;
	size_t length;
};

/* As the user.  Opens her file, reads it, and finds out what its name leads to. */
static int read_original(void *context)
{
	struct original *original = context;
	char path[AC_PATH_MAX];
	ac_autoclose int fd = open(original->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ssize_t size = ac_read_all(fd, original->bytes, AC_CREDENTIAL_MAX);

	if (size < 0)
		return (int)size;
	original->length = (size_t)size;
	size = readlink(ac_fd_name(fd).text, path, sizeof path - 1);
	if (size <= 0)
		return -errno;
	path[size] = '\0';
	memcpy(original->path, path, (size_t)size + 1);
	return 0;
}

static int open_parent(void *context)
{
	int fd = open(context, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int replace(
	struct way_out *out, char *path, const char *bytes, size_t length, struct ac_err *err)
{
	char *slash = strrchr(path, '/');

	*slash = '\0';
	ac_autoclose int parent = ac_identity_run(&out->who, open_parent, path, err);
	const struct ac_tree_side side = { parent, &out->who, (uid_t)-1, (gid_t)-1 };

	if (parent < 0)
		return ac_fail_errno(err, -parent, "cannot open %s", path);
	return ac_tree_write(&side, slash + 1, bytes, length, err);
}

static bool is_equal(const char *a, size_t a_length, const char *b, size_t b_length)
{
	return a_length == b_length && memcmp(a, b, a_length) == 0;
}

static void bring_credential(struct way_out *out, unsigned number, const char *target)
{
	const char *before = out->home->credential[number].bytes;
	size_t length = 0, before_length = out->home->credential[number].length;
	ac_autofree char *after = before ? read_small(&out->from, target, &length) : NULL;
	ac_autofree struct original *original = calloc(1, sizeof *original);
	ac_autofree char *bytes = malloc(AC_CREDENTIAL_MAX);
	struct ac_err err = { 0 };

	if (!after || is_equal(before, before_length, after, length) || !original || !bytes)
		return;
	original->bytes = bytes;
	snprintf(original->path, sizeof original->path, "%s/%s", out->plan->user_home, target);
	if (!ac_credential_is_like(target, before, before_length, after, length)) {
		tell(out,
			"agentcell: the session left something else in ~/%s than a renewed login; "
			"it was not brought back",
			target);
	} else if (ac_identity_run(&out->who, read_original, original, &err) != 0 ||
		   !is_equal(before, before_length, original->bytes, original->length)) {
		tell(out,
			"agentcell: ~/%s changed during the session; the session's renewal was "
			"not brought back, you may have to log in again",
			target);
	} else if (replace(out, original->path, after, length, &err) != 0) {
		tell(out,
			"agentcell: ~/%s was renewed in the session but cannot be brought back: %s",
			target, err.text);
	} else {
		tell(out, "agentcell: ~/%s was renewed in the session and brought back", target);
	}
	explicit_bzero(after, AC_CREDENTIAL_MAX);
	explicit_bzero(bytes, AC_CREDENTIAL_MAX);
}

static void bring_kept(struct way_out *out, const char *target)
{
	struct ac_tree_limits left = AC_KEPT_LIMITS;
	struct ac_err err = { 0 };
	ac_autoclose int there = ac_tree_open(&out->from, target, O_PATH | O_NOFOLLOW);

	if (there < 0)
		return;
	ac_autoclose int store = ac_kept_open(out->plan, true, &err);
	const struct ac_tree_side to = { store, &out->who, (uid_t)-1, (gid_t)-1 };

	if (store < 0 || ac_tree_copy(&out->from, &to, target, &left, &err) != 0)
		tell(out, "agentcell: ~/%s was not kept whole: %s", target, err.text);
}

void ac_home_bring_out(struct ac_home *home, const struct ac_session_policy *session,
	enum ac_cause cause, void (*say)(void *context, const char *text), void *context)
{
	const struct ac_plan *plan = &session->plan;
	const struct ac_placements *placements = &session->policy.placements;
	struct way_out out = { .home = home,
		.plan = plan,
		.who = { plan->user_uid, plan->user_gid, plan->group_count, plan->groups },
		.from = { home->fd, NULL, (uid_t)-1, (gid_t)-1 },
		.say = say,
		.context = context };

	if (home->fd < 0 || (cause != AC_CAUSE_CLEAN && cause != AC_CAUSE_WALL_CLOCK))
		return;
	for (unsigned i = 0; i < placements->count; i++) {
		const struct ac_placement *placement = &placements->placement[i];

		if (placement->kind == AC_PLACE_CREDENTIAL)
			bring_credential(&out, i, placement->target);
		else if (placement->kind == AC_PLACE_KEEP)
			bring_kept(&out, placement->target);
	}
}

void ac_home_close(struct ac_home *home)
{
	if (home->fd >= 0)
		close(home->fd);
	home->fd = -1;
	for (unsigned i = 0; i < AC_PLACEMENTS_MAX; i++) {
		if (home->credential[i].bytes)
			explicit_bzero(home->credential[i].bytes, AC_CREDENTIAL_MAX);
		free(AC_TAKE(home->credential[i].bytes));
	}
}

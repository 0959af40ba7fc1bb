/* SPDX-License-Identifier: ISC */
/*
 * Making one backup: compare, walk, pack, verify, and only then give it its name.
 *
 * Order on disk: pack (synced, read back), manifest under a temporary name (synced, read back), state
 * file, the one rename that makes the backup exist, sync of the directory.  Killed anywhere before
 * the rename it leaves garbage that the next run removes under the exclusive lock.
 */
#include "backup_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup_prune.h"
#include "beside.h"
#include "clock.h"
#include "safefile.h"
#include "util.h"

#define WINDOW_MIN_S 60
#define LOCK_WAIT_S 20

struct make {
	int store_fd;
	const struct ac_backup_request *request;
	struct ac_walk_root roots[AC_PATHS_MAX];
	unsigned root_count;
	struct ac_make_share *share; /* may be NULL */
	struct ac_shelf shelf;
	struct ac_packer packer;
	struct ac_before before;
	struct ac_manifest manifest;
	struct ac_walk_notes notes;
	struct ac_backup_totals totals;
};

static long sysctl_number(const char *path, long otherwise)
{
	char text[32] = "";
	ac_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : ac_read_all(fd, text, sizeof text - 1);

	return length > 0 ? strtol(text, NULL, 10) : otherwise;
}

/* A page that is dirty already takes stores without moving ctime until it is written back.  So what
 * changed so shortly before a backup is read again by the next one. */
static uint32_t window_s(void)
{
	long dirty = sysctl_number("/proc/sys/vm/dirty_expire_centisecs", 3000) +
		     sysctl_number("/proc/sys/vm/dirty_writeback_centisecs", 500);
	long window = dirty / 100 * 3 / 2;

	if (window < WINDOW_MIN_S)
		return WINDOW_MIN_S;
	return window > 86400 ? 86400 : (uint32_t)window;
}

static bool is_covered(const struct ac_path_list *paths, unsigned which)
{
	for (unsigned i = 0; i < paths->count; i++)
		if (i < which && !strcmp(paths->entry[i].path, paths->entry[which].path))
			return true;
	return false;
}

static int list_roots(struct make *make, const int *root_fds, struct ac_err *err)
{
	const struct ac_path_list *paths = make->request->paths;

	for (unsigned i = 0; i < paths->count; i++) {
		if (is_covered(paths, i))
			continue;
		make->roots[make->root_count++] =
			(struct ac_walk_root){ .path = paths->entry[i].path,
				.given_fd = root_fds ? root_fds[i] : -1,
				.device = paths->entry[i].device,
				.inode = paths->entry[i].inode };
	}
	return make->root_count ? 0 : ac_fail(err, EINVAL, "there is no path to back up");
}

/* The lock of a maker is shared; whoever finds nobody else here sweeps first. */
static int lock_store(int store_fd, struct ac_err *err)
{
	ac_autoclose int fd = ac_store_lock(store_fd, true, 0, NULL);

	if (fd < 0)
		return ac_store_lock(store_fd, false, LOCK_WAIT_S, err);
	int result = ac_prune_sweep(store_fd, err);

	if (!result && flock(fd, LOCK_SH) < 0)
		result = ac_fail_errno(err, errno, "lock the backup store");
	return result ? result : ac_take_fd(&fd);
}

static int judge(const struct make *make, struct ac_err *err)
{
	if (make->totals.unreadable && !make->request->allow_unreadable)
		return ac_fail(err, EACCES,
			"%llu things cannot be read or lie on another file system: %s; make them "
			"readable, exclude them from the session, or set [backup] "
			"allow_unreadable",
			(unsigned long long)make->totals.unreadable, make->notes.unreadable);
	if (make->totals.torn && !make->request->allow_torn)
		return ac_fail(err, EBUSY,
			"%llu files changed each time they were read: %s; stop what writes them, "
			"or set [backup] allow_torn",
			(unsigned long long)make->totals.torn, make->notes.torn);
	return 0;
}

/* From the shelf's numbers to those of the list of packs that this manifest uses. */
static int number_packs(struct ac_manifest *manifest, const struct ac_shelf *shelf)
{
	uint32_t *map = calloc(shelf->count + 1u, sizeof *map);

	manifest->packs = calloc(shelf->count + 1u, sizeof manifest->packs[0]);
	if (!map || !manifest->packs) {
		free(map);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < manifest->reference_count; i++)
		map[manifest->places[i].pack] = 1;
	for (uint32_t i = 0; i < shelf->count; i++)
		if (map[i]) {
			manifest->packs[manifest->pack_count] = shelf->packs[i].id;
			map[i] = manifest->pack_count++;
		}
	for (uint32_t i = 0; i < manifest->reference_count; i++)
		manifest->places[i].pack = map[manifest->places[i].pack];
	free(map);
	return 0;
}

/* Every reference must lead to a chunk of that hash, in a pack that is whole on disk. */
static int verify_references(const struct make *make, struct ac_err *err)
{
	const struct ac_manifest *manifest = &make->manifest;

	for (uint32_t i = 0; i < manifest->reference_count; i++)
		if (!ac_shelf_has(&make->shelf, &manifest->places[i], &manifest->hashes[i]))
			return ac_fail(err, EBADMSG,
				"the new backup does not verify: content %u is not in the store",
				i);
	return 0;
}

static int publish(struct make *make, enum ac_make_state state, struct ac_err *err)
{
	const char *id = make->request->backup_id;
	char temporary[AC_STORE_NAME_MAX], name[AC_STORE_NAME_MAX];
	int result = ac_manifest_save(&make->manifest, make->store_fd, temporary, err);

	if (result)
		return result;
	if (state == AC_MAKE_LIVE)
		result = ac_store_state_live(make->store_fd, id, make->request->session_id, err);
	else
		result = ac_store_state_set(make->store_fd, id, "kept\n", err);
	snprintf(name, sizeof name, "%s" AC_STORE_MANIFEST, id);
	if (!result &&
		renameat2(make->store_fd, temporary, make->store_fd, name, RENAME_NOREPLACE) < 0)
		result = ac_fail_errno(err, errno, "name backup %s", id);
	if (result) {
		unlinkat(make->store_fd, temporary, 0);
		return result;
	}
	if (fsync(make->store_fd) < 0) {
		result = ac_fail_errno(err, errno, "sync the backup store");
		ac_store_forget(make->store_fd, id, NULL);
	}
	return result;
}

static int complete(struct make *make, enum ac_make_state state, struct ac_err *err)
{
	struct ac_manifest *manifest = &make->manifest;
	int result = judge(make, err);

	if (!result)
		result = ac_packer_finish(&make->packer, err);
	if (!result)
		result = verify_references(make, err);
	if (!result && number_packs(manifest, &make->shelf))
		result = ac_fail_errno(err, ENOMEM, "number the packs");
	if (result)
		return result;
	manifest->meta = ac_make_meta(make->request, manifest, &make->totals, &make->notes);
	if (!manifest->meta)
		return ac_fail_errno(err, ENOMEM, "write the manifest");
	manifest->meta_length = strlen(manifest->meta);
	return publish(make, state, err);
}

static int walk(struct make *make, struct ac_err *err)
{
	struct timespec started;
	struct ac_force_log force;
	struct ac_walk_request request = { .roots = make->roots,
		.root_count = make->root_count,
		.exclude = make->request->exclude,
		.shelf = &make->shelf,
		.packer = &make->packer,
		.force = &force,
		.progress = make->request->progress,
		.progress_context = make->request->progress_context };

	clock_gettime(CLOCK_REALTIME, &started);
	ac_force_init(&force, make->store_fd, make->request->opener);
	int result = ac_walk(&request, &make->manifest, &make->totals, &make->notes, err);

	ac_force_fini(&force);

	make->manifest.header.started_s = started.tv_sec;
	make->manifest.header.started_ns = (uint32_t)started.tv_nsec;
	make->manifest.header.window_s = window_s();
	return result;
}

static int open_shelf(void *context, struct ac_err *err)
{
	struct make *make = context;
	int result = ac_shelf_init(&make->shelf, make->store_fd, err);

	return result ? result : ac_shelf_index(&make->shelf, err);
}

/* The packs' tables and the last manifest, which are about as much work. */
static int read_store(struct make *make, struct ac_err *err)
{
	struct ac_beside beside;

	ac_beside_start(&beside, open_shelf, make);
	int result = ac_before_find(
		&make->before, make->store_fd, make->share, make->roots, make->root_count, err);
	int other = ac_beside_join(&beside, err);

	return result ? result : other;
}

static int make_locked(struct make *make, enum ac_make_state state, struct ac_err *err)
{
	int result = read_store(make, err);

	if (!result)
		result = ac_packer_init(&make->packer, &make->shelf, false, err);
	if (!result)
		result = walk(make, err);
	if (!result)
		result = complete(make, state, err);
	if (make->packer.slots)
		ac_packer_fini(&make->packer);
	ac_before_fini(&make->before);
	return result;
}

static void hand_over(struct make *make)
{
	make->share->manifest = make->manifest;
	make->share->shelf = make->shelf;
	memset(&make->manifest, 0, sizeof make->manifest);
	memset(&make->shelf, 0, sizeof make->shelf);
}

int ac_make(int store_fd, const struct ac_backup_request *request, const int *root_fds,
	enum ac_make_state state, struct ac_backup_totals *totals, struct ac_make_share *share,
	struct ac_err *err)
{
	int64_t begin = ac_clock_ms(CLOCK_MONOTONIC);
	struct make *make = calloc(1, sizeof *make);

	if (!make)
		return ac_fail_errno(err, ENOMEM, "make a backup");
	if (!ac_store_id_is_valid(request->backup_id)) {
		free(make);
		return ac_fail(
			err, EINVAL, "%s cannot be the name of a backup", request->backup_id);
	}
	make->store_fd = store_fd;
	make->request = request;
	make->share = share;
	int result = list_roots(make, root_fds, err);
	ac_autoclose int lock = result ? -1 : lock_store(store_fd, err);

	if (!result)
		result = lock < 0 ? lock : make_locked(make, state, err);
	if (!result) {
		make->totals.duration_ms = (uint64_t)(ac_clock_ms(CLOCK_MONOTONIC) - begin);
		*totals = make->totals;
		if (share)
			hand_over(make);
	}
	ac_manifest_fini(&make->manifest);
	ac_shelf_fini(&make->shelf);
	free(make);
	return result;
}

int ac_make_look(int store_fd, const struct ac_manifest *since, const struct ac_strings *exclude,
	struct ac_opener *opener, struct ac_manifest *manifest, struct ac_err *err)
{
	struct ac_walk_root roots[AC_PATHS_MAX];
	struct ac_shelf none = { .store_fd = -1 };
	struct ac_packer packer;
	struct ac_walk_notes notes;
	struct ac_backup_totals totals;
	struct ac_force_log force;
	struct ac_walk_request request = { .roots = roots,
		.exclude = exclude,
		.packer = &packer,
		.force = &force,
		.is_tolerant = true };

	for (uint64_t at = 0; at < since->roots_length && request.root_count < AC_PATHS_MAX;
		at += strlen(since->roots + at) + 1) {
		struct stat st;

		if (lstat(since->roots + at, &st) < 0 && errno == ENOENT)
			continue; /* all of it is missing, and that is an answer */
		roots[request.root_count++] = (struct ac_walk_root){ .path = since->roots + at,
			.given_fd = -1,
			.previous = since,
			.previous_entry = ac_manifest_root(since, since->roots + at) };
	}
	int result = ac_packer_init(&packer, &none, true, err);

	ac_force_init(&force, store_fd, opener);
	if (!result)
		result = ac_walk(&request, manifest, &totals, &notes, err);
	ac_force_fini(&force);
	ac_packer_fini(&packer);
	return result;
}

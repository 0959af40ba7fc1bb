/* SPDX-License-Identifier: ISC */
/*
 * Restore: a backup of the present state, the comparison, and the tasks that follow from it.
 *
 * The backup is the way back, and its manifest is at the same time the knowledge of what is there: the
 * tree is walked once, not twice.
 */
#include "backup_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup_apply.h"
#include "backup_make.h"
#include "util.h"

#define LOCK_WAIT_S 20

static bool is_untouchable(const struct ac_restore *restore, const struct ac_difference *difference)
{
	const struct ac_entry *want = difference->old
					      ? ac_entry_full(&restore->target, difference->old)
					      : NULL;
	const struct ac_entry *have = difference->new
					      ? ac_entry_full(&restore->present, difference->new)
					      : NULL;

	return (want && ac_entry_is_closed(want)) || (have && ac_entry_is_closed(have));
}

static uint64_t order_of(const struct ac_restore *restore, const struct ac_entry *want)
{
	if (!want || want->type != AC_ENTRY_REGULAR || !want->count)
		return 0;
	const struct ac_place *place = &restore->target.places[want->first];
	uint32_t pack = restore->pack_map[place->pack];

	if (pack == AC_NONE || place->row >= restore->shelf.packs[pack].row_count)
		return UINT64_MAX;
	return (uint64_t)pack << 32 | restore->shelf.packs[pack].rows[place->row].block;
}

static int add_task(
	struct ac_restore *restore, const struct ac_difference *difference, bool selected)
{
	if (restore->task_count == restore->task_room) {
		size_t room = restore->task_room ? restore->task_room * 2 : 256;
		void *grown = reallocarray(restore->tasks, room, sizeof restore->tasks[0]);

		if (!grown)
			return -ENOMEM;
		restore->tasks = grown;
		restore->task_room = room;
	}
	restore->tasks[restore->task_count++] = (struct ac_task){ .change = difference->change,
		.want = difference->old,
		.have = difference->new,
		.want_directory = difference->old_directory,
		.have_directory = difference->new_directory,
		.order = order_of(restore, difference->old),
		.is_selected = selected };
	return 0;
}

static bool is_selected(
	const struct ac_restore *restore, const struct ac_difference *difference, const char *path)
{
	if (ac_selection_has(&restore->selection, path))
		return true;
	/* A directory that is missing on the way to what is wanted. */
	if ((difference->change & (AC_CHANGE_REMOVED | AC_CHANGE_TYPE)) && difference->old &&
		difference->old->type == AC_ENTRY_DIRECTORY)
		return ac_selection_is_below(&restore->selection, path);
	return difference->change == AC_CHANGE_ADDED && ac_is_restore_leftover(path);
}

static int collect(void *context, const struct ac_difference *difference)
{
	struct ac_restore *restore = context;
	const struct ac_restore_request *request = restore->request;
	ac_autofree char *path = ac_difference_path_dup(difference);

	if (!path)
		return -ENOMEM;
	bool selected = is_selected(restore, difference, path);

	if (is_untouchable(restore, difference)) {
		/* Excluded things are nobody's business; the others are told. */
		if (selected && difference->old &&
			(ac_entry_full(&restore->target, difference->old)->flags &
				AC_ENTRY_UNREADABLE))
			ac_restore_note(restore, path);
		return 0;
	}
	if (selected && request->each) {
		struct ac_backup_change change;

		ac_difference_tell(difference, path, &change);
		int result = request->each(request->context, &change);

		if (result)
			return result;
	}
	return selected || difference->old ? add_task(restore, difference, selected) : 0;
}

/* A root directory that is gone altogether is made, so that there is something to walk. */
static int prepare_root(struct ac_restore *restore, const struct ac_entry *root,
	struct ac_path_list *paths, struct ac_err *err)
{
	const char *path = ac_entry_name(root);
	struct ac_path_entry *entry = &paths->entry[paths->count];
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return ac_fail_errno(err, errno, "look at %s", path);
		if (root->type != AC_ENTRY_DIRECTORY || restore->request->is_dry)
			return 0;
		if (mkdir(path, 0700) < 0 || lstat(path, &st) < 0)
			return ac_fail_errno(err, errno, "make %s", path);
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return ac_fail(err, ENOTDIR,
			"%s is neither a directory nor a file now; remove it and run the restore "
			"again",
			path);
	if (paths->count >= AC_PATHS_MAX || strlen(path) >= sizeof entry->path)
		return ac_fail(err, E2BIG, "the backup has too many paths");
	memcpy(entry->path, path, strlen(path) + 1);
	entry->device = st.st_dev;
	entry->inode = st.st_ino;
	paths->count++;
	return 0;
}

static int list_roots(struct ac_restore *restore, struct ac_path_list *paths, struct ac_err *err)
{
	const struct ac_manifest *target = &restore->target;
	const struct ac_entry *root = ac_entry_at(target, target->directories[0].first);
	int result = 0;

	for (uint32_t i = 0; !result && i < target->directories[0].count; i++) {
		result = prepare_root(restore, root, paths, err);
		root = ac_entry_next(root);
	}
	if (!result && !paths->count && !restore->request->is_dry)
		result = ac_fail(err, ENOENT, "none of the backup's paths exists any more");
	return result;
}

struct sight { /* large */
	struct ac_path_list paths;
	struct ac_strings exclude;
};

static int look(struct ac_restore *restore, struct sight *sight, struct ac_err *err)
{
	const struct ac_restore_request *request = restore->request;
	struct ac_backup_totals totals;
	int result = ac_manifest_exclude(&restore->target, &sight->exclude, err);

	if (!result)
		result = list_roots(restore, &sight->paths, err);
	if (!result && request->is_dry)
		return ac_make_look(request->store_fd, &restore->target, &sight->exclude, NULL,
			&restore->present, err);
	if (!result)
		result = ac_make_id(restore->outcome->undo_id, err);
	if (result)
		return result;
	const struct ac_backup_request backup = { .backup_id = restore->outcome->undo_id,
		.user = request->user,
		.paths = &sight->paths,
		.exclude = &sight->exclude,
		.allow_torn = true,
		.allow_unreadable = true,
		.environment = "{\"reason\":\"before a restore\"}" };

	struct ac_make_share share = { .known_id = request->id, .known = &restore->target };

	result = ac_make(request->store_fd, &backup, NULL, AC_MAKE_KEPT, &totals, &share, err);
	if (!result) {
		restore->present = share.manifest;
		restore->shelf = share.shelf;
		return 0;
	}
	restore->outcome->undo_id[0] = '\0';
	return ac_fail_within(err, "back up the present state first");
}

/* Fills restore->present: by a backup, or (dry) by looking. */
static int see_present(struct ac_restore *restore, struct ac_err *err)
{
	struct sight *sight = calloc(1, sizeof *sight);
	int result = sight ? look(restore, sight, err) : ac_fail_errno(err, ENOMEM, "restore");

	free(sight);
	return result;
}

static bool names_same_paths(void *context, const char *id)
{
	const struct ac_restore *restore = context;
	struct ac_manifest head;
	bool found = false;

	if (ac_manifest_peek(&head, restore->request->store_fd, id, NULL))
		return true; /* unknown: be careful */
	for (uint64_t at = 0; at < head.roots_length; at += strlen(head.roots + at) + 1) {
		const struct ac_selection one = { .paths = (const char *const[]){ head.roots + at },
			.count = 1 };

		for (uint64_t own = 0; own < restore->target.roots_length;
			own += strlen(restore->target.roots + own) + 1) {
			const char *root = restore->target.roots + own;

			found |= ac_selection_has(&one, root) || ac_selection_is_below(&one, root);
		}
	}
	ac_manifest_fini(&head);
	return found;
}

static int refuse_live(struct ac_restore *restore, struct ac_err *err)
{
	char session_id[AC_SESSION_ID_SIZE] = "";

	if (restore->request->is_forced || restore->request->is_dry)
		return 0;
	int result = ac_store_live_session(
		restore->request->store_fd, names_same_paths, restore, session_id, err);

	return result > 0 ? ac_fail(err, EBUSY,
				    "session %s is still running there; end it first (agentcell "
				    "kill %s), or use --force when you know that it is dead",
				    session_id, session_id)
			  : result;
}

static int compare_and_apply(struct ac_restore *restore, struct ac_err *err)
{
	/* The backup of the present state has opened it already; a look has not. */
	int result = restore->shelf.packs
			     ? 0
			     : ac_shelf_init(&restore->shelf, restore->request->store_fd, err);

	if (!result)
		result = ac_shelf_index(&restore->shelf, err);
	if (result)
		return result;
	restore->pack_map = ac_manifest_map_packs(&restore->target, &restore->shelf);
	if (!restore->pack_map)
		return ac_fail_errno(err, ENOMEM, "restore");
	result = ac_selection_check(&restore->selection, &restore->target, &restore->present, err);
	if (result)
		return result;
	result = ac_compare(&restore->target, &restore->present, collect, restore);
	if (result)
		return ac_fail_errno(err, -result, "compare with the backup");
	if (restore->request->is_dry)
		return 0;
	result = ac_tree_init(&restore->tree, &restore->target, err);
	if (result)
		return result;
	result = ac_tree_init(&restore->present_tree, &restore->present, err);
	if (!result) {
		result = ac_restore_apply(restore);
		if (!result && restore->conflicts)
			result = -EAGAIN;
		if (result)
			*err = restore->err;
		else
			result = ac_flush_finish(restore, err);
		ac_tree_fini(&restore->present_tree);
	}
	ac_tree_fini(&restore->tree);
	return result;
}

/* Two restores at once would undo each other. */
static int lock_restores(int store_fd, struct ac_err *err)
{
	ac_autoclose int fd = openat(
		store_fd, "restore-lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return ac_fail_errno(err, errno, "open the lock of restores");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return ac_fail(err, errno == EWOULDBLOCK ? EBUSY : errno,
			"another restore is running; wait until it is done");
	return ac_take_fd(&fd);
}

static void free_restore(struct ac_restore *restore)
{
	ac_flush_forget(restore);
	ac_manifest_fini(&restore->target);
	ac_manifest_fini(&restore->present);
	if (restore->shelf.packs)
		ac_shelf_fini(&restore->shelf);
	free(restore->pack_map);
	free(restore->tasks);
	pthread_mutex_destroy(&restore->lock);
	free(restore);
}

int ac_backup_restore(const struct ac_restore_request *request, struct ac_restore_outcome *outcome,
	struct ac_err *err)
{
	ac_autoclose int restores = lock_restores(request->store_fd, err);
	ac_autoclose int lock = restores < 0
					? -1
					: ac_store_lock(request->store_fd, false, LOCK_WAIT_S, err);

	if (restores < 0 || lock < 0)
		return -err->code;
	struct ac_restore *restore = calloc(1, sizeof *restore);
	struct ac_restore_outcome own; /* request may point into *outcome */

	if (!restore)
		return ac_fail_errno(err, ENOMEM, "restore");
	memset(&own, 0, sizeof own);
	restore->request = request;
	restore->outcome = &own;
	restore->selection = (struct ac_selection){ .paths = request->paths,
		.count = request->path_count };
	pthread_mutex_init(&restore->lock, NULL);
	int result = ac_manifest_load(&restore->target, request->store_fd, request->id, err);

	if (!result)
		result = refuse_live(restore, err);
	if (!result)
		result = see_present(restore, err);
	if (!result) {
		result = compare_and_apply(restore, err);
		if (result && own.undo_id[0])
			ac_fail_within(err, "what was there before is backup %s", own.undo_id);
	}
	free_restore(restore);
	if (!result)
		*outcome = own;
	return result;
}

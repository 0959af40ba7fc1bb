/* SPDX-License-Identifier: ISC */
/*
 * Write-back is begun for all files before the first is waited for: the first fsync then commits one
 * journal transaction with all of it, and the others find theirs committed (ext4, XFS).
 */
#include "backup_flush.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backup_restore.h"
#include "util.h"

#define SYNC_MAX 4096 /* things that were changed */

/* The directories need descriptors as well (backup_node.c: half of what there is). */
static size_t find_room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	return limit.rlim_cur / 8 < AC_FLUSH_FILES_MAX ? limit.rlim_cur / 8 : AC_FLUSH_FILES_MAX;
}

void ac_flush_file(struct ac_restore *restore, int *fd)
{
	struct ac_flush *flush = &restore->flush;

	pthread_mutex_lock(&restore->lock);
	if (!flush->room)
		flush->room = find_room();
	if (flush->count >= flush->room)
		flush->is_whole = true;
	else if (!flush->is_whole)
		flush->files[flush->count++] = ac_take_fd(fd);
	pthread_mutex_unlock(&restore->lock);
}

void ac_flush_whole(struct ac_restore *restore)
{
	pthread_mutex_lock(&restore->lock);
	restore->flush.is_whole = true;
	pthread_mutex_unlock(&restore->lock);
}

void ac_flush_forget(struct ac_restore *restore)
{
	struct ac_flush *flush = &restore->flush;

	while (flush->count)
		close(flush->files[--flush->count]);
}

static int fail(int code, const char *what, struct ac_err *err)
{
	return ac_fail_errno(err, code, "everything is restored, but %s may not be on disk", what);
}

static int sync_files(struct ac_restore *restore, struct ac_err *err)
{
	const struct ac_flush *flush = &restore->flush;

	for (size_t i = 0; i < flush->count; i++)
		(void)sync_file_range(flush->files[i], 0, 0, SYNC_FILE_RANGE_WRITE);
	for (size_t i = 0; i < flush->count; i++)
		if (fsync(flush->files[i]) < 0)
			return fail(errno, "a file", err);
	return 0;
}

/* 1: there is one that only syncfs reaches. */
static int sync_directory(struct ac_tree *tree, uint32_t directory, struct ac_err *err)
{
	int fd = ac_tree_pin(tree, directory);

	if (fd < 0)
		return 1; /* it denies its owner, or it was removed */
	int code = fsync(fd) < 0 ? errno : 0;

	ac_tree_unpin(tree, directory);
	if (code == EINVAL) /* not on this file system: fsync(2) */
		return 1;
	return code ? fail(code, "a directory", err) : 0;
}

static int sync_directories(struct ac_tree *tree, struct ac_err *err)
{
	int result = 0;

	for (uint32_t d = 1; !result && d < tree->manifest->directory_count; d++)
		if (tree->touched[d])
			result = sync_directory(tree, d, err);
	return result;
}

static int sync_roots(struct ac_restore *restore, struct ac_err *err)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	struct ac_restore_outcome *outcome = restore->outcome;

	for (uint64_t at = 0; at < restore->target.roots_length;
		at += strlen(restore->target.roots + at) + 1) {
		const char *root = restore->target.roots + at;
		ac_autoclose int fd = (int)syscall(SYS_openat2, AT_FDCWD, root, &how, sizeof how);

		if (fd < 0)
			outcome->is_synced = false; /* it may deny its owner */
		else if (syncfs(fd) < 0)
			return fail(errno, root, err);
	}
	return 0;
}

/* 1: something is left for syncfs. */
static int sync_few(struct ac_restore *restore, struct ac_err *err)
{
	if (restore->flush.is_whole)
		return 1;
	int result = sync_files(restore, err);

	if (!result)
		result = sync_directories(&restore->tree, err);
	return result ? result : sync_directories(&restore->present_tree, err);
}

/* A whole tree of 20,000 would take a third longer, and cp does not wait for it either. */
int ac_flush_finish(struct ac_restore *restore, struct ac_err *err)
{
	struct ac_restore_outcome *outcome = restore->outcome;
	int result = 0;

	outcome->is_synced = outcome->written + outcome->removed + outcome->repaired +
				     outcome->linked <=
			     SYNC_MAX;
	if (outcome->is_synced)
		result = sync_few(restore, err);
	return result > 0 ? sync_roots(restore, err) : result;
}

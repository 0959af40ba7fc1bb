/* SPDX-License-Identifier: ISC */
/*
 * Putting one thing back: made beside under a fresh name, complete with its metadata, then renamed
 * into place by directory descriptor.  An existing name is never opened for writing.
 */
#include "backup_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util.h"

int ac_restorer_init(struct ac_restorer *restorer, struct ac_restore *restore, struct ac_err *err)
{
	int result = ac_store_random(&restorer->names, sizeof restorer->names, err);

	restorer->restore = restore;
	return result ? result : ac_chunk_reader_init(&restorer->reader, &restore->shelf, err);
}

void ac_restorer_fini(struct ac_restorer *restorer)
{
	ac_chunk_reader_fini(&restorer->reader);
}

void ac_restore_name(struct ac_restorer *restorer, char name[sizeof AC_RESTORE_PREFIX + 16])
{
	snprintf(name, sizeof AC_RESTORE_PREFIX + 16, AC_RESTORE_PREFIX "%016llx",
		(unsigned long long)restorer->names++);
}

/* The ctime of a file with several names moves when one of them goes: ours may have gone. */
int ac_restore_check(const struct ac_spot *spot, const struct ac_entry *have, struct ac_err *err)
{
	struct statx st;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	bool is_there = !statx(spot->fd, spot->name, flags, AC_STATX_MASK, &st);

	if (!is_there && errno != ENOENT)
		return ac_fail_errno(err, errno, "look at %s", spot->name);
	if (!is_there && !have)
		return 0;
	if (is_there && have && st.stx_ino == have->inode &&
		(have->type == AC_ENTRY_DIRECTORY ||
			(st.stx_size == have->size && st.stx_mtime.tv_sec == have->mtime_s &&
				st.stx_mtime.tv_nsec == have->mtime_ns &&
				(have->links > 1 ||
					(st.stx_ctime.tv_sec == have->ctime_s &&
						st.stx_ctime.tv_nsec == have->ctime_ns)))))
		return 0;
	return ac_fail(err, EAGAIN,
		"%s was changed by somebody since the restore began; it is left as it is, run the "
		"restore again",
		spot->name);
}

/* count chunks from reference first on, to offset; *end is where they ended. */
static int write_chunks(struct ac_restorer *restorer, int fd, uint32_t first, uint64_t count,
	uint64_t *offset, struct ac_err *err)
{
	const struct ac_manifest *target = &restorer->restore->target;

	for (uint64_t i = 0; i < count; i++) {
		const struct ac_place *place = &target->places[first + i];
		const struct ac_place hint = { .pack = restorer->restore->pack_map[place->pack],
			.row = place->row };
		const unsigned char *bytes;
		uint32_t length;
		int result = ac_chunk_read(
			&restorer->reader, &target->hashes[first + i], &hint, &bytes, &length, err);

		if (result)
			return result;
		result = ac_store_write(fd, bytes, length, *offset);
		if (result)
			return ac_fail_errno(err, -result, "write");
		*offset += length;
	}
	return 0;
}

static int write_content(
	struct ac_restorer *restorer, int fd, const struct ac_entry *want, struct ac_err *err)
{
	const struct ac_side *side = ac_entry_find(want, AC_SIDE_EXTENTS);
	const struct ac_extent *extent = side ? ac_side_bytes(side) : NULL;
	uint32_t first = want->first;
	uint64_t end = 0;
	int result = 0;

	if (!side)
		result = write_chunks(restorer, fd, first, want->count, &end, err);
	for (uint32_t i = 0; side && !result && i < side->length / sizeof *extent; i++) {
		uint64_t count = (extent[i].length + AC_CHUNK_MAX - 1) / AC_CHUNK_MAX;

		end = extent[i].offset;
		result = write_chunks(restorer, fd, first, count, &end, err);
		first += (uint32_t)count;
		if (!result && end != extent[i].offset + extent[i].length)
			result = ac_fail(err, EBADMSG, "content has the wrong length");
	}
	if (!result && side && ftruncate(fd, (off_t)want->size) < 0)
		result = ac_fail_errno(err, errno, "set the size");
	if (!result && !side && end != want->size)
		result = ac_fail(err, EBADMSG, "content has the wrong length");
	return result;
}

static int put_file(struct ac_restorer *restorer, const struct ac_spot *spot,
	const struct ac_entry *want, const char *temporary, struct ac_err *err)
{
	ac_autoclose int fd = openat(spot->fd, temporary,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, want->mode & 0777);
	bool inherits = !spot->directory || restorer->restore->tree.inherits[spot->directory];

	if (fd < 0)
		return ac_fail_errno(err, errno, "make a file beside it");
	int result = write_content(restorer, fd, want, err);

	if (!result)
		result = ac_restore_metadata(
			restorer->restore, fd, want, spot->name, inherits, err);
	if (!result)
		ac_flush_file(restorer->restore, &fd);
	return result;
}

static int put_symlink(struct ac_restore *restore, const struct ac_spot *spot,
	const struct ac_entry *want, const char *temporary, struct ac_err *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = want->mtime_s, .tv_nsec = want->mtime_ns } };
	const struct ac_side *target = ac_entry_find(want, AC_SIDE_TARGET);
	struct stat st;

	if (symlinkat(ac_side_bytes(target), spot->fd, temporary) < 0)
		return ac_fail_errno(err, errno, "make a symlink");
	if (fstatat(spot->fd, temporary, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ac_fail_errno(err, errno, "stat the new symlink");
	if ((st.st_uid != want->uid || st.st_gid != want->gid) &&
		fchownat(spot->fd, temporary, st.st_uid == want->uid ? (uid_t)-1 : want->uid,
			want->gid, AT_SYMLINK_NOFOLLOW) < 0)
		ac_restore_note(restore, spot->name);
	if (utimensat(spot->fd, temporary, times, AT_SYMLINK_NOFOLLOW) < 0)
		return ac_fail_errno(err, errno, "set the times");
	return 0;
}

/* A fifo, a socket, or (root only) a device.  1: it cannot be made. */
static int put_special(struct ac_restore *restore, const struct ac_spot *spot,
	const struct ac_entry *want, const char *temporary, struct ac_err *err)
{
	static const mode_t types[] = { [AC_ENTRY_FIFO] = S_IFIFO,
		[AC_ENTRY_SOCKET] = S_IFSOCK,
		[AC_ENTRY_CHARACTER] = S_IFCHR,
		[AC_ENTRY_BLOCK] = S_IFBLK };
	bool is_device = want->type == AC_ENTRY_CHARACTER || want->type == AC_ENTRY_BLOCK;
	dev_t device = is_device ? makedev(want->first, want->count) : 0;

	if (mknodat(spot->fd, temporary, types[want->type] | S_IRUSR | S_IWUSR, device) < 0) {
		if (errno != EPERM || !is_device)
			return ac_fail_errno(err, errno, "make a special file");
		ac_restore_note(restore, spot->name);
		return 1;
	}
	ac_autoclose int fd = openat(spot->fd, temporary, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return ac_fail_errno(err, errno, "open what was just made");
	return ac_restore_metadata(restore, fd, want, spot->name, true, err);
}

/* A directory that was here has been removed before (it is not replaced by rename). */
static int take_place(const struct ac_spot *spot, const struct ac_task *task, const char *temporary,
	struct ac_err *err)
{
	bool is_gone = task->have && task->have->type == AC_ENTRY_DIRECTORY;
	const struct ac_entry *have = is_gone ? NULL : task->have;
	/* Where nothing may be, the rename itself sees to it. */
	int result = have ? ac_restore_check(spot, have, err) : 0;

	if (result)
		return result;
	if (renameat2(spot->fd, temporary, spot->fd, spot->name, have ? 0 : RENAME_NOREPLACE) < 0)
		return ac_fail_errno(err, errno == EEXIST ? EAGAIN : errno, "rename into place");
	return 0;
}

static int put_as(struct ac_restorer *restorer, const struct ac_spot *spot,
	const struct ac_entry *want, const char *name, struct ac_err *err)
{
	if (!spot->directory || want->type != AC_ENTRY_REGULAR)
		ac_flush_whole(restorer->restore);
	if (want->type == AC_ENTRY_REGULAR)
		return put_file(restorer, spot, want, name, err);
	if (want->type == AC_ENTRY_SYMLINK)
		return put_symlink(restorer->restore, spot, want, name, err);
	return put_special(restorer->restore, spot, want, name, err);
}

static int put_at(struct ac_restorer *restorer, const struct ac_spot *spot,
	const struct ac_task *task, struct ac_err *err)
{
	char temporary[sizeof AC_RESTORE_PREFIX + 16];
	bool is_unseen = restorer->restore->tree.is_unseen[spot->directory];
	const char *name = is_unseen ? spot->name : temporary;

	ac_restore_name(restorer, temporary);
	int result = put_as(restorer, spot, task->want, name, err);

	if (result == -EEXIST) /* somebody else's: it stays */
		return ac_fail(err, EAGAIN, "something was made there meanwhile; run it again");
	if (!result && !is_unseen)
		result = take_place(spot, task, temporary, err);
	/* 1: there is nothing to take away. */
	if (result < 0)
		unlinkat(spot->fd, name, 0);
	return result > 0 ? 0 : result;
}

int ac_restore_put(struct ac_restorer *restorer, const struct ac_task *task, struct ac_err *err)
{
	struct ac_restore *restore = restorer->restore;
	struct ac_spot spot;
	int result = ac_tree_go(&restore->tree, task->want_directory, task->want, &spot);

	if (result)
		return ac_fail_errno(err, -result, "open the directory");
	result = put_at(restorer, &spot, task, err);
	ac_tree_leave(&restore->tree, &spot);
	return result;
}

/* Below an existing directory it is made beside its place and gets its name when all is in it. */
int ac_restore_mkdir(struct ac_restorer *restorer, const struct ac_task *task, struct ac_err *err)
{
	struct ac_tree *tree = &restorer->restore->tree;
	const uint32_t directory = task->want->first;
	char temporary[sizeof AC_RESTORE_PREFIX + 16];
	struct ac_spot spot;
	int result = ac_tree_go(tree, task->want_directory, task->want, &spot);

	if (result)
		return ac_fail_errno(err, -result, "open the directory");
	if (!tree->is_unseen[spot.directory]) {
		ac_restore_name(restorer, temporary);
		spot.name = temporary;
		result = ac_tree_build_beside(tree, directory, temporary);
	}
	/* Below one that only the user can enter, the mode may be right at once. */
	mode_t mode = tree->is_unseen[spot.directory] ? task->want->mode & 0777 : 0;

	if (!result && mkdirat(spot.fd, spot.name, mode | 0700) < 0)
		result = -errno;
	ac_tree_leave(tree, &spot);
	if (result)
		return ac_fail_errno(
			err, result == -EEXIST ? EAGAIN : -result, "make the directory");
	tree->touched[directory] = tree->is_unseen[directory] = true;
	/* When it has its name, nothing below it may be asked for any more. */
	ac_flush_whole(restorer->restore);
	return 0;
}

int ac_restore_remove(struct ac_restore *restore, const struct ac_task *task, struct ac_err *err)
{
	/* By the target's directories where it has them, so that they are known to be touched. */
	bool by_target = task->want_directory != AC_NONE;
	struct ac_tree *tree = by_target ? &restore->tree : &restore->present_tree;
	uint32_t directory = by_target ? task->want_directory : task->have_directory;
	bool is_directory = task->have->type == AC_ENTRY_DIRECTORY;
	struct ac_spot spot;
	int result = ac_tree_go(tree, directory, task->have, &spot);

	if (result)
		return ac_fail_errno(err, -result, "open the directory");
	result = ac_restore_check(&spot, ac_entry_full(&restore->present, task->have), err);
	if (!result && unlinkat(spot.fd, spot.name, is_directory ? AT_REMOVEDIR : 0) < 0)
		result = ac_fail_errno(err, errno == ENOTEMPTY ? EAGAIN : errno, "remove");
	ac_tree_leave(tree, &spot);
	return result;
}

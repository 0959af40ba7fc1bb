/* SPDX-License-Identifier: ISC */
/*
 * The walk: one directory's names at a time, and back up by "..", which must be where we came from.
 * So neither depth nor a path's length counts, and only the current directory is open.
 *
 * Names of directories wait in memory.  Those of a directory that has too many are taken in slices, by
 * a hash: an agent must not be able to make what nobody can clean up.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "access_parts.h"
#include "util.h"

struct place { /* a directory on the way down */
	uint64_t inode;
	dev_t device;
	size_t start, at; /* of its names, those that were walked already */
	uint32_t slice, slices; /* a power of two */
};

#define SLICES_MAX ((uint32_t)1 << 31)

struct walk {
	const struct ac_tree_visit *visit;
	uint64_t mount, seed;
	struct place *places;
	size_t depth, places_room;
	char *names; /* of directories that wait, each ended by NUL; the deepest place's come last */
	size_t size, room;
};

int ac_object_look(int fd, struct ac_object *object)
{
	struct statx status = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID,
		    &status) != 0)
		return -errno;
	*object = (struct ac_object){
		.device = makedev(status.stx_dev_major, status.stx_dev_minor),
		.inode = status.stx_ino,
		.mount = status.stx_mnt_id,
		.mode = status.stx_mode,
		.uid = status.stx_uid,
		.gid = status.stx_gid,
	};
	return 0;
}

static struct place *deepest(const struct walk *walk)
{
	return &walk->places[walk->depth - 1];
}

/* Seeded: who makes the names must not be able to put them all into one slice. */
static bool is_in_slice(const struct walk *walk, const char *name)
{
	const struct place *place = deepest(walk);
	uint64_t hash = walk->seed;

	if (place->slices == 1)
		return true;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u; /* FNV-1a */
	return ((uint32_t)(hash >> 32) & (place->slices - 1)) == place->slice;
}

/* A directory leaves half of the room to those below it, and has some for one name always. */
static int keep_name(struct walk *walk, const char *name)
{
	size_t length = strlen(name) + 1, start = deepest(walk)->start;
	size_t most = walk->visit->names_max;
	size_t room_here = start < most ? (most - start) / 2 : 0;

	if (walk->size > start && walk->size - start + length > room_here)
		return -E2BIG;
	if (walk->size + length > walk->room) {
		size_t room = walk->room * 2 + 4096;
		char *names = realloc(walk->names, room);

		if (!names)
			return -ENOMEM;
		walk->names = names;
		walk->room = room;
	}
	memcpy(walk->names + walk->size, name, length);
	walk->size += length;
	return 0;
}

/* -EXDEV before the other mount is asked anything: a FUSE of the user's refuses root, or never answers. */
static int open_below(int directory, const char *name, int flags)
{
	const struct open_how how = { .flags = (unsigned)(O_PATH | O_NOFOLLOW | O_CLOEXEC | flags),
		.resolve = RESOLVE_NO_XDEV };
	int fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof how);

	return fd < 0 ? -errno : fd;
}

/* Directories wait until it is their turn; they are looked at when they are opened to be entered. */
static int meet(struct walk *walk, int directory, const char *name)
{
	struct ac_object object = { 0 };
	ac_autoclose int fd = open_below(directory, name, 0);

	if (fd < 0)
		return fd == -ENOENT || fd == -EXDEV ? 0 : fd;
	int result = ac_object_look(fd, &object);

	if (result)
		return result;
	if (S_ISDIR(object.mode))
		return keep_name(walk, name);
	result = walk->visit->visit(walk->visit->context, fd, &object);
	return result < 0 ? result : 0;
}

static int read_names(struct walk *walk, DIR *directory)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(directory);

		if (!entry)
			return -errno;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			!is_in_slice(walk, entry->d_name))
			continue;
		int result = meet(walk, dirfd(directory), entry->d_name);

		if (result)
			return result;
	}
}

static int read_directory(struct walk *walk, int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);

	if (!directory) {
		int result = -errno;

		if (copy >= 0)
			close(copy);
		return result;
	}
	int result = read_names(walk, directory);

	closedir(directory);
	return result;
}

static int read_slice(struct walk *walk, int fd)
{
	struct place *place = deepest(walk);

	for (;;) {
		walk->size = place->at = place->start;
		int result = read_directory(walk, fd);

		if (result != -E2BIG || place->slices == SLICES_MAX)
			return result;
		place->slices *= 2;
	}
}

static int enter(struct walk *walk, int fd, const struct ac_object *object)
{
	if (walk->depth == walk->places_room) {
		size_t room = walk->places_room * 2 + 64;
		struct place *places = reallocarray(walk->places, room, sizeof *places);

		if (!places)
			return -ENOMEM;
		walk->places = places;
		walk->places_room = room;
	}
	walk->places[walk->depth++] = (struct place){
		.device = object->device,
		.inode = object->inode,
		.start = walk->size,
		.at = walk->size,
		.slices = 1,
	};
	return read_slice(walk, fd);
}

static int go_up(const struct walk *walk, int *fd)
{
	const struct place *place = deepest(walk);
	struct ac_object object = { 0 };
	int up = openat(*fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (up < 0)
		return -errno;
	close(*fd);
	*fd = up;
	int result = ac_object_look(up, &object);

	if (result)
		return result;
	return object.device == place->device && object.inode == place->inode &&
			       object.mount == walk->mount
		       ? 0
		       : -ESTALE;
}

static int go_down(struct walk *walk, int *fd, const char *name)
{
	struct ac_object object = { 0 };
	ac_autoclose int below = open_below(*fd, name, O_DIRECTORY);

	/* No directory any more, or a mount: whatever took its place came later. */
	if (below == -ENOENT || below == -ENOTDIR || below == -ELOOP || below == -EXDEV)
		return 0;
	int result = below < 0 ? below : ac_object_look(below, &object);

	if (result)
		return result;
	result = walk->visit->visit(walk->visit->context, below, &object);
	if (result)
		return result < 0 ? result : 0;
	close(*fd);
	*fd = ac_take_fd(&below);
	return enter(walk, *fd, &object);
}

static int step(struct walk *walk, int *fd)
{
	struct place *place = deepest(walk);

	if (place->at == walk->size && ++place->slice < place->slices)
		return read_slice(walk, *fd);
	if (place->at == walk->size) {
		walk->size = place->start;
		walk->depth--;
		return walk->depth ? go_up(walk, fd) : 0;
	}
	/* A copy: what is below may need more room. */
	ac_autofree char *name = strdup(walk->names + place->at);

	if (!name)
		return -ENOMEM;
	place->at += strlen(name) + 1;
	return go_down(walk, fd, name);
}

int ac_tree_visit(int root, const struct ac_tree_visit *visit)
{
	struct walk walk = { .visit = visit };
	struct ac_object object = { 0 };
	ac_autoclose int fd = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int result = fd < 0 ? -errno : ac_object_look(fd, &object);

	if (result)
		return result;
	walk.mount = object.mount;
	(void)!getrandom(&walk.seed, sizeof walk.seed, 0);
	result = enter(&walk, fd, &object);
	while (!result && walk.depth)
		result = step(&walk, &fd);
	free(walk.places);
	free(walk.names);
	return result;
}

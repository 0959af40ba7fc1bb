/* SPDX-License-Identifier: ISC */
/*
 * Removal of everything below a directory, by descriptors.
 *
 * openat2 with RESOLVE_NO_XDEV refuses to step into a mount, also into a bind mount of the same
 * file system, so a tree that holds one is left with -EBUSY or -EXDEV and nothing foreign is lost.
 */
#include "safefile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "util.h"

#define DEPTH_MAX 128 /* each level holds one descriptor */
#define PASSES_MAX 16 /* somebody keeps adding entries: give up */

static void closedir_pointer(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static int open_subdirectory(int parent_fd, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, parent_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int remove_entries(int fd, unsigned depth, struct ac_err *err);

static int remove_entry(int fd, const char *name, unsigned depth, struct ac_err *err)
{
	int subdirectory, rc;

	if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return ac_fail_errno(err, errno, "remove %s", name);
	if (unlinkat(fd, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return ac_fail_errno(err, errno, "remove directory %s", name);
	subdirectory = open_subdirectory(fd, name);
	if (subdirectory < 0)
		return ac_fail_errno(err, -subdirectory, "open directory %s to empty it", name);
	rc = remove_entries(subdirectory, depth + 1, err);
	if (rc < 0)
		return rc;
	if (unlinkat(fd, name, AT_REMOVEDIR) < 0)
		return ac_fail_errno(err, errno, "remove directory %s", name);
	return 0;
}

/* One pass over the directory; returns how many entries it saw, or -errno. */
static int remove_pass(int fd, DIR *directory, unsigned depth, struct ac_err *err)
{
	const struct dirent *entry;
	int seen = 0;

	rewinddir(directory);
	while ((entry = readdir(directory))) {
		int rc;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		seen = 1;
		rc = remove_entry(fd, entry->d_name, depth, err);
		if (rc < 0)
			return rc;
	}
	return seen;
}

/* Takes fd. */
static int remove_entries(int fd, unsigned depth, struct ac_err *err)
{
	__attribute__((cleanup(closedir_pointer))) DIR *directory = NULL;
	unsigned pass;

	if (depth < DEPTH_MAX)
		directory = fdopendir(fd);
	if (!directory) {
		int code = depth < DEPTH_MAX ? errno : ELOOP;

		close(fd);
		return ac_fail_errno(err, code, "list a directory at depth %u", depth);
	}
	for (pass = 0; pass < PASSES_MAX; pass++) {
		int seen = remove_pass(dirfd(directory), directory, depth, err);

		if (seen <= 0)
			return seen;
	}
	return ac_fail(err, EBUSY, "entries keep appearing in a directory that is being emptied");
}

int ac_remove_below(int directory_fd, struct ac_err *err)
{
	/* A descriptor of our own: the position of the caller's stays, and it may be O_PATH. */
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ac_fail_errno(err, errno, "open the directory to empty");
	return remove_entries(fd, 0, err);
}

/* SPDX-License-Identifier: ISC */
/*
 * Where a name leads: component by component, below the root of the process that used it, without
 * ever following a link of the kernel's own: each symlink is read as text and walked again.
 *
 * The cell is frozen meanwhile, so nothing moves.  Nothing is opened for reading: O_PATH only.  What
 * does not exist is taken as it is typed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "path.h"
#include "util.h"

#define LINKS_MAX 40

struct walk {
	int root_fd;
	pid_t pid;
	bool follow; /* the last component, too */
	unsigned links;
	char done[AC_PATH_MAX]; /* canonical so far */
	char rest[AC_PATH_MAX]; /* still to go */
};

static int look(const struct walk *walk, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(
		SYS_openat2, walk->root_fd, path[1] ? path + 1 : ".", &how, sizeof(how));
}

/* /proc/self is ours when we look at it; it must be theirs. */
static void mend_self(struct walk *walk, const char *self)
{
	char mended[AC_PATH_MAX];
	size_t length = strlen(self);

	if (strncmp(walk->done, self, length) || (walk->done[length] && walk->done[length] != '/'))
		return;
	if (snprintf(mended, sizeof(mended), "/proc/%d%s", (int)walk->pid, walk->done + length) <
		(int)sizeof(mended))
		memcpy(walk->done, mended, sizeof(mended));
}

/* Puts the link's text before what is left to walk. */
static int insert_link(struct walk *walk, const char *link)
{
	char joined[AC_PATH_MAX];
	char *slash;

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if (snprintf(joined, sizeof(joined), "%s%s%s", link, *walk->rest ? "/" : "", walk->rest) >=
		(int)sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(walk->rest, joined, sizeof(joined));
	slash = strrchr(walk->done, '/');
	if (*link == '/' || !slash || slash == walk->done)
		strcpy(walk->done, "/");
	else
		*slash = 0;
	return 0;
}

/* One component is on walk->done; if it is a symlink, it gives way to its text. */
static int follow_link(struct walk *walk)
{
	char link[AC_PATH_MAX];
	ac_autoclose int fd = look(walk, walk->done);
	struct stat st;
	ssize_t length;

	if (fd < 0 || fstat(fd, &st) || !S_ISLNK(st.st_mode))
		return 0;
	if (!walk->follow && !*walk->rest)
		return 0;
	length = readlinkat(fd, "", link, sizeof(link) - 1);
	if (length <= 0)
		return 0;
	link[length] = 0;
	/* "socket:[123]", "pipe:[45]", "/memfd:x (deleted)": no names of files. */
	if (link[0] != '/' && strstr(link, ":["))
		return 0;
	return insert_link(walk, link);
}

static int step(struct walk *walk)
{
	char component[256], joined[AC_PATH_MAX];
	size_t length = strcspn(walk->rest, "/");
	char *rest = walk->rest + length;

	if (length >= sizeof(component))
		return -ENAMETOOLONG;
	memcpy(component, walk->rest, length);
	component[length] = 0;
	rest += strspn(rest, "/");
	memmove(walk->rest, rest, strlen(rest) + 1);
	if (!length)
		return 0;
	if (ac_path_join(joined, sizeof(joined), walk->done, component))
		return -ENAMETOOLONG;
	memcpy(walk->done, joined, sizeof(joined));
	mend_self(walk, "/proc/self");
	mend_self(walk, "/proc/thread-self");
	return follow_link(walk);
}

/* Where a relative name starts: the process's directory, or one of its descriptors. */
static int start_at(const struct ac_report *report, struct walk *walk)
{
	char name[64];
	ssize_t length;

	strcpy(walk->done, "/");
	if (!report->relative || report->target[0] == '/')
		return 0;
	if (report->directory == AT_FDCWD)
		(void)snprintf(name, sizeof(name), "/proc/%d/cwd", (int)report->pid);
	else
		(void)snprintf(
			name, sizeof(name), "/proc/%d/fd/%d", (int)report->pid, report->directory);
	length = readlink(name, walk->done, sizeof(walk->done) - 1);
	if (length <= 0 || walk->done[0] != '/')
		return -ENOENT;
	walk->done[length] = 0;
	return ac_path_is_canonical(walk->done) ? 0 : -ENOENT;
}

int ac_lead(const struct ac_report *report, char path[AC_PATH_MAX])
{
	char name[64];
	ac_autoclose int root_fd = -1;
	struct walk walk = { .pid = report->pid, .follow = report->follow };
	int rc = start_at(report, &walk);

	if (rc)
		return rc;
	(void)snprintf(name, sizeof(name), "/proc/%d/root", (int)report->pid);
	root_fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	walk.root_fd = root_fd;
	(void)snprintf(walk.rest, sizeof(walk.rest), "%s", report->target);
	while (!rc && *walk.rest)
		rc = step(&walk);
	if (!rc)
		memcpy(path, walk.done, sizeof(walk.done));
	return rc;
}

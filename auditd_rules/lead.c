/* SPDX-License-Identifier: ISC */
/*
 * Where a name leads: component by component on descriptors, from where the process itself would
 * start, as the kernel would go.  O_PATH only: no file is opened for reading, no device is touched.
 *
 * The cell is frozen meanwhile, so nothing moves.  Symlinks are read as text and walked again; links
 * of /proc are followed by the kernel, which alone knows where they lead, except /proc/self, which
 * must be theirs and not ours.  The name of what is found is the kernel's own, as the cell sees it.
 *
 * A process that ended at once may be gone before the freeze: another one of its cell has the same
 * root, so all but the way through what was its own (descriptors, /proc/self) can still be walked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cell.h"
#include "path.h"
#include "util.h"

#define LINKS_MAX 40
#define STEPS_MAX 4096
#define ENTRIES_MAX 65536 /* of a directory; everybody waits meanwhile */
#define LINKS_IN_MAX 8192

struct walk {
	pid_t pid;
	bool borrowed; /* pid is not the one that went, but another of its cell */
	uid_t uid; /* the session's, and its gid */
	uid_t owner; /* as in the report */
	bool follow; /* the last component, too */
	bool barred, missing;
	unsigned links, steps;
	int fd; /* where we are */
	uint64_t came; /* the directory of the last component that could be looked for */
	char rest[AC_PATH_MAX]; /* still to go */
};

static int open_of(pid_t pid, const char *what)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, what);
	return open(name, O_PATH | O_CLOEXEC);
}

static int move_to(struct walk *walk, int fd)
{
	if (fd < 0)
		return -errno;
	close(walk->fd);
	walk->fd = fd;
	return 0;
}

static bool is_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* ".." of the cell's root is the root. */
static int go_up(struct walk *walk)
{
	ac_autoclose int root = open_of(walk->pid, "root");
	struct stat here, top;

	if (root < 0 || fstat(root, &top) || fstat(walk->fd, &here))
		return -errno;
	if (here.st_dev == top.st_dev && here.st_ino == top.st_ino)
		return 0;
	return move_to(walk, openat(walk->fd, "..", O_PATH | O_CLOEXEC));
}

/* Puts the link's text before what is left to walk. */
static int insert(struct walk *walk, const char *text)
{
	char joined[AC_PATH_MAX];

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if (snprintf(joined, sizeof(joined), "%s%s%s", text, *walk->rest ? "/" : "", walk->rest) >=
		(int)sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(walk->rest, joined, sizeof(joined));
	return *text == '/' ? move_to(walk, open_of(walk->pid, "root")) : 0;
}

static int enter_proc(struct walk *walk, const char *component)
{
	bool own = !strcmp(component, "self") || !strcmp(component, "thread-self");
	char name[64];

	if (own && walk->borrowed)
		return -ESRCH;
	if (!strcmp(component, "self"))
		(void)snprintf(name, sizeof(name), "%d", (int)walk->pid);
	else if (!strcmp(component, "thread-self"))
		(void)snprintf(name, sizeof(name), "%d/task/%d", (int)walk->pid, (int)walk->pid);
	else
		return move_to(walk, openat(walk->fd, component, O_PATH | O_CLOEXEC));
	return insert(walk, name);
}

/* The component is a symlink: text to walk, or the kernel's own link. */
static int follow_link(struct walk *walk, int link_fd, const char *component)
{
	char text[AC_PATH_MAX];
	ssize_t length;

	if (is_proc(link_fd))
		return enter_proc(walk, component);
	length = readlinkat(link_fd, "", text, sizeof(text) - 1);
	if (length <= 0)
		return length ? -errno : -ENOENT;
	text[length] = 0;
	return insert(walk, text);
}

static int enter(struct walk *walk, const char *component)
{
	ac_autoclose int fd = openat(walk->fd, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode) && (walk->follow || *walk->rest))
		return follow_link(walk, fd, component);
	return move_to(walk, ac_take_fd(&fd));
}

/* Takes the next component off the rest. */
static int next(struct walk *walk, char component[256])
{
	size_t length = strcspn(walk->rest, "/");
	char *rest = walk->rest + length;

	if (length >= 256)
		return -ENAMETOOLONG;
	memcpy(component, walk->rest, length);
	component[length] = 0;
	rest += strspn(rest, "/");
	memmove(walk->rest, rest, strlen(rest) + 1);
	return 0;
}

static int name_of(int fd, char name[AC_PATH_MAX])
{
	ssize_t length = readlink(ac_fd_name(fd).text, name, AC_PATH_MAX - 1);

	if (length <= 0)
		return length ? -errno : -ENOENT;
	name[length] = 0;
	return name[0] == '/' && length < AC_PATH_MAX - 1 ? 0 : -ENAMETOOLONG;
}

/* What is not there (any more) lies where its name says, below what is. */
static int name_missing(struct walk *walk, const char *component, char path[AC_PATH_MAX])
{
	char base[AC_PATH_MAX], rest[AC_PATH_MAX + 256];
	int rc = name_of(walk->fd, base);

	walk->missing = !*walk->rest;
	(void)snprintf(rest, sizeof(rest), "%s/%s", component, walk->rest);
	return rc ? rc : ac_path_join(path, AC_PATH_MAX, base, rest);
}

static int start(const struct ac_report *report, pid_t other, struct walk *walk)
{
	char what[32] = "root";

	(void)snprintf(
		walk->rest, sizeof(walk->rest), "%s", report->target + strspn(report->target, "/"));
	if (report->relative && report->target[0] != '/' && report->directory == AT_FDCWD)
		(void)strcpy(what, "cwd");
	else if (report->relative && report->target[0] != '/')
		(void)snprintf(what, sizeof(what), "fd/%d", report->directory);
	walk->fd = open_of(walk->pid, what);
	if (walk->fd < 0 && !strcmp(what, "root")) {
		walk->borrowed = true;
		walk->pid = other;
		walk->fd = open_of(walk->pid, what);
	}
	return walk->fd < 0 ? -errno : 0;
}

/* Does the directory refuse this (S_IXOTH, ...) to the session?  Modes as the view maps them. */
static bool refuses(const struct walk *walk, const struct stat *st, mode_t others)
{
	bool is_owner = st->st_uid == walk->uid || (walk->owner && st->st_uid == walk->owner);
	mode_t wanted = is_owner ? others << 6 : st->st_gid == walk->uid ? others << 3 : others;

	return (st->st_mode & wanted) != wanted;
}

/* At a directory where the next component is looked for. */
static void look(struct walk *walk)
{
	struct stat st;

	if (fstat(walk->fd, &st) || !S_ISDIR(st.st_mode))
		return;
	walk->barred = walk->barred || refuses(walk, &st, S_IXOTH);
	if (!walk->barred && !*walk->rest)
		walk->came = st.st_ino;
}

static int walk_on(struct walk *walk, char path[AC_PATH_MAX])
{
	char component[256];
	int rc = 0;

	while (!rc && *walk->rest) {
		if (++walk->steps > STEPS_MAX)
			return -ELOOP;
		rc = next(walk, component);
		if (rc || !*component || !strcmp(component, "."))
			continue;
		look(walk);
		rc = strcmp(component, "..") ? enter(walk, component) : go_up(walk);
		if (rc == -ENOENT || rc == -ENOTDIR || rc == -EACCES)
			return name_missing(walk, component, path);
	}
	return rc ? rc : name_of(walk->fd, path);
}

static int follow(struct walk *walk, struct ac_lead *lead)
{
	int rc = walk_on(walk, lead->path);
	struct stat st;

	lead->barred = walk->barred;
	lead->missing = walk->missing;
	lead->came = walk->came;
	lead->own = lead->shut = false;
	lead->inode = 0;
	if (rc || fstat(walk->fd, &st))
		return rc;
	lead->inode = st.st_ino;
	lead->own = st.st_uid == walk->uid;
	lead->shut = refuses(walk, &st, S_IWOTH | S_IXOTH);
	return 0;
}

static struct walk walk_of(const struct ac_report *report)
{
	return (struct walk){ .pid = report->pid,
		.uid = report->uid,
		.owner = report->owner,
		.follow = report->follow,
		.fd = -1 };
}

int ac_lead(const struct ac_report *report, pid_t other, struct ac_lead *lead)
{
	struct walk walk = walk_of(report);
	int rc = start(report, other, &walk);

	if (!rc)
		rc = follow(&walk, lead);
	if (walk.fd >= 0)
		close(walk.fd);
	return rc;
}

static int follow_entry(const struct walk *at, const char *name, struct ac_lead *link)
{
	struct walk walk = *at;
	int rc = -ENAMETOOLONG;

	walk.fd = fcntl(at->fd, F_DUPFD_CLOEXEC, 0);
	if (walk.fd < 0)
		return -errno;
	if (snprintf(walk.rest, sizeof(walk.rest), "%s", name) < (int)sizeof(walk.rest))
		rc = follow(&walk, link);
	close(walk.fd);
	return rc;
}

static DIR *read_directory(const struct walk *walk)
{
	ac_autoclose int fd = open(ac_fd_name(walk->fd).text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (directory)
		(void)ac_take_fd(&fd);
	return directory;
}

static int follow_links(
	const struct walk *walk, void (*take)(void *data, const struct ac_lead *link), void *data)
{
	static struct ac_lead link; /* the guardian is one thread; too large for a stack */
	DIR *directory = read_directory(walk);
	unsigned entries = 0, links = 0;
	const struct dirent *entry;
	int rc = directory ? 0 : -errno;

	while (!rc && (entry = readdir(directory))) {
		bool may_be = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;

		if (++entries > ENTRIES_MAX || links > LINKS_IN_MAX)
			rc = -E2BIG;
		else if (may_be && ++links && !follow_entry(walk, entry->d_name, &link))
			take(data, &link);
	}
	if (directory)
		(void)closedir(directory);
	return rc;
}

int ac_lead_links(const struct ac_report *report, pid_t other, struct ac_lead *directory,
	void (*take)(void *data, const struct ac_lead *link), void *data)
{
	struct walk walk = walk_of(report);
	int rc = start(report, other, &walk);

	if (!rc)
		rc = follow(&walk, directory);
	/* The kernel was there: what its name goes through says nothing of what goes on from there. */
	walk.barred = walk.missing = false;
	walk.links = walk.steps = 0;
	walk.came = 0;
	if (!rc)
		rc = follow_links(&walk, take, data);
	if (walk.fd >= 0)
		close(walk.fd);
	return rc;
}

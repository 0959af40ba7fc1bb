/* SPDX-License-Identifier: ISC */
/* The log of modes that were opened up, and giving them back. */
#include "backup_force.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_node.h"
#include "backup_walk.h"
#include "escape.h"
#include "safefile.h"
#include "util.h"

void ac_force_init(struct ac_force_log *log, int store_fd, struct ac_opener *opener)
{
	memset(log, 0, sizeof *log);
	log->store_fd = store_fd;
	log->opener = opener;
	log->fd = -1;
	pthread_mutex_init(&log->lock, NULL);
}

void ac_force_fini(struct ac_force_log *log)
{
	if (log->fd >= 0) {
		close(log->fd);
		unlinkat(log->store_fd, log->name, 0);
	}
	log->fd = -1;
	pthread_mutex_destroy(&log->lock);
}

/* Under the lock. */
static int open_log(struct ac_force_log *log)
{
	char temporary[AC_STORE_NAME_MAX];

	if (log->fd >= 0)
		return 0;
	if (log->store_fd < 0)
		return -EACCES;
	log->fd = ac_store_temporary(log->store_fd, temporary, NULL);
	if (log->fd < 0)
		return log->fd;
	ac_store_join(log->name, AC_FORCE_PREFIX, temporary + strlen(AC_STORE_TEMPORARY));
	if (renameat(log->store_fd, temporary, log->store_fd, log->name) < 0)
		return -errno;
	return 0;
}

static char *line_dup(const struct ac_node *node, const char *name, const struct statx *st)
{
	ac_autofree char *below = ac_node_path_dup(node, name);
	ac_autofree char *path = NULL;
	char *line = NULL;

	if (!below || asprintf(&path, "%s/%s", node->root->path, below) < 0) {
		path = NULL;
		return NULL;
	}
	size_t room = 3 * strlen(path) + 1;
	ac_autofree char *escaped = malloc(room);

	if (!escaped)
		return NULL;
	ac_escape(escaped, room, path, strlen(path));
	if (asprintf(&line, "%" PRIu64 " %" PRIu64 " %o %s\n", ac_statx_device(st),
		    (uint64_t)st->stx_ino, (unsigned)st->stx_mode, escaped) < 0)
		return NULL;
	return line;
}

int ac_force_note(struct ac_force_log *log, const struct ac_node *node, const char *name,
	const struct statx *st)
{
	ac_autofree char *line = line_dup(node, name, st);

	if (!line)
		return -ENOMEM;
	pthread_mutex_lock(&log->lock);
	int result = open_log(log);

	if (!result)
		result = ac_write_all(log->fd, line, strlen(line));
	pthread_mutex_unlock(&log->lock);
	return result;
}

/* An O_PATH descriptor of an absolute path of any length, no symlink followed. */
static int open_long_path(char *path)
{
	ac_autoclose int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *rest = path, *name;

	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		if (!name[0])
			continue;
		int next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		close(fd);
		fd = next;
	}
	return fd < 0 ? -errno : ac_take_fd(&fd);
}

/* One number and the space behind it. */
static bool take_number(char **text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(*text, &end, base);
	if (errno || end == *text || *end != ' ')
		return false;
	*text = end + 1;
	return true;
}

/* Only when it is still that very thing and its mode is what a forced one has. */
static void give_back(char *line)
{
	uint64_t device, inode, mode;
	struct statx st;

	if (!take_number(&line, 10, &device) || !take_number(&line, 10, &inode) ||
		!take_number(&line, 8, &mode) || ac_unescape(line, strlen(line) + 1, line) < 0)
		return;
	ac_autoclose int fd = open_long_path(line);

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, AC_STATX_MASK, &st) < 0 || st.stx_ino != inode ||
		ac_statx_device(&st) != device ||
		st.stx_mode != (mode | ac_force_bits((mode_t)mode & S_IFMT)))
		return;
	if (chmod(ac_fd_name(fd).text, (mode_t)mode & 07777) < 0)
		(void)errno; /* it was the user's to change */
}

int ac_force_undo(int store_fd, const char *name, struct ac_err *err)
{
	ac_autoclose int fd = openat(store_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "open %s", name);
	ac_autofree char *text = malloc((size_t)st.st_size + 1);
	ssize_t length = text ? ac_read_all(fd, text, (size_t)st.st_size) : -ENOMEM;

	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read %s", name);
	/* Last first: a directory's own line precedes those of what is in it, and to reach these
	 * it must still be open. */
	while (length > 0) {
		text[--length] = '\0'; /* the newline; a line cut by the kill ends in nothing */
		char *start = memrchr(text, '\n', (size_t)length);

		start = start ? start + 1 : text;
		give_back(start);
		length = start - text;
	}
	if (unlinkat(store_fd, name, 0) < 0 && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove %s", name);
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * Reading what denies its own owner, without a change to it.
 *
 * A file of mode 0000 is as much part of a project as any other.  Its owner could give himself the
 * permission and take it back, but that moves its ctime.  So where root starts a backup, a second
 * process, the opener, keeps one capability, CAP_DAC_READ_SEARCH, and uses it for three things that
 * are the owner's to allow: looking a name up in a directory of the user's, opening a file or
 * directory of the user's for reading, and reading one's user.* attributes.  It has the user's ids,
 * parses nothing but requests of one fixed size, and raises the capability for one system call at
 * a time, after it has seen by the descriptor whose thing it is.  Whoever takes over the process
 * that asks gains nothing by it that a chmod would not give him.
 */
#ifndef AC_BACKUP_OPENER_H
#define AC_BACKUP_OPENER_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ac_identity;

struct ac_opener {
	int fd; /* one packet there, one back */
	pid_t pid;
	pthread_mutex_t lock;
	bool is_gone; /* under the lock: it has answered nothing and never will */
};

/* As root, before any thread; the opener keeps no descriptor but its socket.  0 or -errno; the
 * opener may be stopped in either case. */
int ac_opener_start(struct ac_opener *opener, const struct ac_identity *who);
void ac_opener_stop(struct ac_opener *opener);

/*
 * Each of these may be called with NULL and by several threads.  -EPIPE: there is no opener, or
 * not any more; -EACCES: it is not the user's to allow, or not of a kind that is opened.
 */
/* An O_PATH descriptor of a name in a directory: by oneself, or else by the opener. */
int ac_opener_look(struct ac_opener *opener, int directory_fd, const char *name);
/* What handle is (a regular file or directory of the user's), open for reading. */
int ac_opener_read(struct ac_opener *opener, int handle);
/* The value of an attribute "user.*" of an open thing.  Its length. */
ssize_t ac_opener_attribute(
	struct ac_opener *opener, int fd, const char *name, void *value, size_t room);
bool ac_opener_is_there(struct ac_opener *opener);

/* --- Between the two processes --- */

enum ac_opener_kind { AC_OPENER_LOOK = 1, AC_OPENER_READ, AC_OPENER_ATTRIBUTE };

struct ac_opener_request { /* with one descriptor */
	uint32_t kind;
	char name[NAME_MAX + 1];
};

struct ac_opener_reply { /* with one descriptor when LOOK or READ succeeded; then a value */
	int32_t result;
};

#define AC_OPENER_VALUE_MAX 65536 /* XATTR_SIZE_MAX */

int ac_opener_send(int fd, const void *head, size_t head_length, const void *rest,
	size_t rest_length, int passed_fd);
/* *passed_fd: what came with it, or -1.  The length; 0 at the end; -EBADMSG: more than was asked. */
ssize_t ac_opener_receive(
	int fd, void *head, size_t head_length, void *rest, size_t rest_length, int *passed_fd);
/* Until the other end is closed. */
void ac_opener_serve(int fd, uid_t owner);

#endif

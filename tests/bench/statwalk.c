/* SPDX-License-Identifier: ISC */
/*
 * The bound that a second backup is measured against: every name below a directory, stat'ed by
 * descriptor, with two threads, and nothing else.  Prints the number of things seen.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct listed {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

struct job {
	struct job *next;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct job *stack;
static unsigned idle, threads = 2;
static _Atomic unsigned long seen;

static void push(int fd)
{
	struct job *job = malloc(sizeof *job);

	if (!job)
		exit(1);
	job->fd = fd;
	pthread_mutex_lock(&lock);
	job->next = stack;
	stack = job;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void walk(int fd)
{
	_Alignas(8) char bytes[32768];
	unsigned long count = 0;
	long length;

	while ((length = syscall(SYS_getdents64, fd, bytes, sizeof bytes)) > 0)
		for (long at = 0; at < length;) {
			const struct listed *listed = (const void *)(bytes + at);
			struct stat st;

			at += listed->length;
			if (!strcmp(listed->name, ".") || !strcmp(listed->name, ".."))
				continue;
			count++;
			if (listed->type == DT_DIR) {
				int child = openat(fd, listed->name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

				if (child >= 0)
					push(child);
			} else {
				fstatat(fd, listed->name, &st, AT_SYMLINK_NOFOLLOW);
			}
		}
	seen += count;
	close(fd);
}

static void *work(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		idle++;
		while (!stack && idle < threads)
			pthread_cond_wait(&wake, &lock);
		struct job *job = stack;

		if (!job) {
			pthread_cond_broadcast(&wake);
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		idle--;
		stack = job->next;
		pthread_mutex_unlock(&lock);
		walk(job->fd);
		free(job);
	}
}

int main(int argc, char **argv)
{
	pthread_t other;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return 2;
	push(fd);
	pthread_create(&other, NULL, work, NULL);
	work(NULL);
	pthread_join(other, NULL);
	printf("%lu\n", seen);
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * One thread, one mutex.  It never touches what the guardian owns: it gets descriptors and a time.
 */
#include "errand.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "names.h"
#include "util.h"

#define STACK_SIZE 65536 /* the listener's memory is locked */
#define FDS_MAX 16
#define ROUND_NS 2000000 /* shorter than a grace period: the kernel does not get to forget */

struct ac_errands {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool stopping;
	int64_t moves_until_ms;
	unsigned fd_count;
	int fds[FDS_MAX];
};

/* The one of the unified hierarchy, which may be mounted in either place. */
static int open_own_cgroup(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char line[AC_PATH_MAX], path[AC_PATH_MAX + 64];
	ac_autofclose FILE *file = fopen("/proc/self/cgroup", "re");
	int fd = -1;

	while (fd < 0 && file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		for (size_t i = 0; fd < 0 && i < AC_COUNT(roots); i++) {
			snprintf(path, sizeof path, "%s%s/cgroup.procs", roots[i], line + 3);
			fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		}
	}
	return fd;
}

/* "0" is the writer: it stays where it is. */
static void move_nowhere(int cgroup_fd)
{
	const struct timespec moment = { .tv_nsec = ROUND_NS };

	(void)!pwrite(cgroup_fd, "0", 1, 0);
	nanosleep(&moment, NULL);
}

enum errand { NOTHING, MOVE, CLOSE };

/* Moves before closing: a session waits for those.  The clock is asked once: between two looks at it the
 * time could run out, and what was no move would be the closing of a descriptor that is not there. */
static enum errand next_errand(const struct ac_errands *errands)
{
	if (ac_clock_ms(CLOCK_MONOTONIC) < errands->moves_until_ms)
		return MOVE;
	return errands->fd_count ? CLOSE : NOTHING;
}

/* The mutex is held, but for what takes long. */
static void run_errands(struct ac_errands *errands)
{
	enum errand what;
	int cgroup_fd = -1;

	while ((what = next_errand(errands)) != NOTHING) {
		int fd = what == CLOSE ? errands->fds[--errands->fd_count] : -1;

		pthread_mutex_unlock(&errands->mutex);
		if (fd >= 0)
			close(fd);
		if (what == MOVE && cgroup_fd < 0)
			cgroup_fd = open_own_cgroup();
		if (what == MOVE)
			move_nowhere(cgroup_fd);
		pthread_mutex_lock(&errands->mutex);
		if (what == MOVE && cgroup_fd < 0)
			errands->moves_until_ms = 0; /* no cgroup of version 2 to be seen */
	}
	if (cgroup_fd >= 0)
		close(cgroup_fd);
}

static void *run(void *context)
{
	struct ac_errands *errands = context;

	pthread_mutex_lock(&errands->mutex);
	while (!errands->stopping) {
		run_errands(errands);
		if (!errands->stopping)
			pthread_cond_wait(&errands->wake, &errands->mutex);
	}
	errands->moves_until_ms = 0;
	run_errands(errands);
	pthread_mutex_unlock(&errands->mutex);
	return NULL;
}

/* Signals are the guardian's. */
static int start_thread(struct ac_errands *errands)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int rc = pthread_attr_init(&attributes);

	if (rc)
		return rc;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	rc = pthread_create(&errands->thread, &attributes, run, errands);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return rc;
}

struct ac_errands *ac_errands_start(void)
{
	struct ac_errands *errands = calloc(1, sizeof *errands);

	if (!errands)
		return NULL;
	pthread_mutex_init(&errands->mutex, NULL);
	pthread_cond_init(&errands->wake, NULL);
	if (start_thread(errands) == 0)
		return errands;
	free(errands);
	return NULL;
}

void ac_errands_stop(struct ac_errands *errands)
{
	if (!errands)
		return;
	pthread_mutex_lock(&errands->mutex);
	errands->stopping = true;
	errands->moves_until_ms = 0;
	pthread_cond_signal(&errands->wake);
	pthread_mutex_unlock(&errands->mutex);
	pthread_join(errands->thread, NULL);
	free(errands);
}

void ac_errands_expect_move(struct ac_errands *errands)
{
	if (!errands)
		return;
	pthread_mutex_lock(&errands->mutex);
	errands->moves_until_ms = ac_clock_ms(CLOCK_MONOTONIC) + AC_ERRAND_MOVES_MS;
	pthread_cond_signal(&errands->wake);
	pthread_mutex_unlock(&errands->mutex);
}

void ac_errands_close(struct ac_errands *errands, int fd)
{
	bool taken = false;

	if (errands) {
		pthread_mutex_lock(&errands->mutex);
		taken = errands->fd_count < FDS_MAX;
		if (taken)
			errands->fds[errands->fd_count++] = fd;
		pthread_cond_signal(&errands->wake);
		pthread_mutex_unlock(&errands->mutex);
	}
	if (!taken)
		close(fd);
}

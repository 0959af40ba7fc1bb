/* SPDX-License-Identifier: ISC */
/* The first thread is the caller, with its own tools; where there is little to do, it is the only one. */
#include "backup_crew.h"

#include "backup_restore.h"

#define ALONE 64 /* items that are not worth a thread */
#define RUN_MAX 1024

static bool take_run(struct ac_restore *restore, size_t *from, size_t *to)
{
	const struct ac_job *job = restore->job;

	pthread_mutex_lock(&restore->lock);
	*from = *to = restore->next;
	while (*to < job->count && *to - *from < RUN_MAX &&
		job->group(restore, job->items[*to]) == job->group(restore, job->items[*from]))
		++*to;
	restore->next = *to;
	pthread_mutex_unlock(&restore->lock);
	return *to > *from;
}

static void *work(void *context)
{
	struct ac_restorer *restorer = context;
	struct ac_restore *restore = restorer->restore;
	size_t from, to;

	while (!atomic_load(&restore->stop) && take_run(restore, &from, &to))
		for (; from < to; from++)
			if (restore->job->act(restorer, restore->job->items[from])) {
				atomic_store(&restore->stop, true);
				break;
			}
	return NULL;
}

int ac_crew_run(struct ac_restorer *first, const struct ac_job *job)
{
	struct ac_restore *restore = first->restore;
	unsigned started = 1, wanted = job->count < ALONE ? 1 : ac_walk_workers();
	struct ac_restorer others[AC_WALKERS_MAX];
	pthread_t threads[AC_WALKERS_MAX];

	restore->job = job;
	restore->next = 0;
	for (; started < wanted; started++) {
		if (ac_restorer_init(&others[started], restore, NULL))
			break;
		if (pthread_create(&threads[started], NULL, work, &others[started])) {
			ac_restorer_fini(&others[started]);
			break;
		}
	}
	work(first);
	for (unsigned i = 1; i < started; i++) {
		pthread_join(threads[i], NULL);
		ac_restorer_fini(&others[i]);
	}
	return atomic_load(&restore->stop) ? -restore->err.code : 0;
}

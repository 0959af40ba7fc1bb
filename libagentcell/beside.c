/* SPDX-License-Identifier: ISC */
/* A thread for one piece of work. */
#include "beside.h"

static void *run(void *context)
{
	struct ac_beside *beside = context;

	beside->result = beside->work(beside->context, &beside->err);
	return NULL;
}

void ac_beside_start(
	struct ac_beside *beside, int (*work)(void *context, struct ac_err *err), void *context)
{
	beside->work = work;
	beside->context = context;
	beside->result = 0;
	beside->err.code = 0;
	beside->has_thread = !pthread_create(&beside->thread, NULL, run, beside);
}

int ac_beside_join(struct ac_beside *beside, struct ac_err *err)
{
	if (beside->has_thread)
		pthread_join(beside->thread, NULL);
	else
		run(beside);
	if (beside->result)
		*err = beside->err;
	return beside->result;
}

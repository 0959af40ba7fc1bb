/* SPDX-License-Identifier: ISC */
/*
 * What must hold of every single step of the lifecycle table, said without looking at the table.
 */
#ifndef CLAIMS_H
#define CLAIMS_H

#include "lifecycle.h"

/* Failures of one state before it is left (or, from TERMINATE on, before one call gives up). */
extern const unsigned char claim_retries[AC_STATE_COUNT];

/* NULL, or the first claim that the step life --event--> next breaks. */
const char *claim_broken(struct ac_life life, unsigned event, struct ac_life next);

/* NULL, or what is_valid, is_alive, retry_delay, status get wrong for this life. */
const char *claim_broken_about(struct ac_life life);

const char *claim_event_name(unsigned event);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * The shipped lifecycle.c with its two tables writable, and every single-cell edit of them.
 */
#ifndef MUTABLE_H
#define MUTABLE_H

#include <stddef.h>

unsigned mutant_count(void);
/* Makes edit number i (from 0) on the table of this process.  For good: fork before. */
void mutant_apply(unsigned i);
/* "DRAIN.lost = TERMINATE", as the list of equivalents names it. */
void mutant_describe(unsigned i, char text[], size_t size);

#endif

/* SPDX-License-Identifier: ISC */
/*
 * What the listener takes away from itself before it does anything: capabilities that it has no use
 * for, new privileges, and system calls that only an intruder would make from here.
 */
#ifndef AC_CONFINE_H
#define AC_CONFINE_H

#include "err.h"

/* For this process and all that it forks; call before there are threads. */
int ac_confine(struct ac_err *err);

#endif

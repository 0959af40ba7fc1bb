/* SPDX-License-Identifier: ISC */
/* The variables that sudo must not log: root left them in the view, in a file of the session's own. */
#ifndef LAUNCH_ENVIRONMENT_H
#define LAUNCH_ENVIRONMENT_H

#include "cell.h"

/* environment and what the file adds to it, where the file wins; without a file environment itself.
 * The vector and its strings stay until exec. */
int launch_environment(
	const struct ac_cell *cell, char *environment[], char ***result, struct ac_err *err);

#endif

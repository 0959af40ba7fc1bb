/* SPDX-License-Identifier: ISC */
/* The keys of a harness profile that put something into the view; called by harness.c only. */
#ifndef AC_HARNESS_PLACE_H
#define AC_HARNESS_PLACE_H

#include "config.h"

int ac_harness_take_files(struct ac_harness *harness, const char *text, struct ac_err *err);
int ac_harness_take_seeds(struct ac_harness *harness, const char *text, struct ac_err *err);
int ac_harness_take_credential(struct ac_harness *harness, const char *text, struct ac_err *err);
int ac_harness_take_keep(struct ac_harness *harness, const char *text, struct ac_err *err);
int ac_harness_take_packages(struct ac_harness *harness, const char *text, struct ac_err *err);

/* [keys]: NAME = absolute path, or one below a home. */
int ac_harness_add_key(
	struct ac_harness *harness, const char *name, const char *value, struct ac_err *err);
/* [environment] and [keys]: one variable, once. */
int ac_settings_add(
	struct ac_settings *settings, const char *name, const char *value, struct ac_err *err);

#endif

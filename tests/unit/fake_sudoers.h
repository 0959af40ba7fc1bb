/* SPDX-License-Identifier: ISC */
/* What the fake sudoers.so is told to answer, and what it saw; reached by dlsym("fake"). */
#ifndef FAKE_SUDOERS_H
#define FAKE_SUDOERS_H

#include <sudo_plugin.h>

struct fake {
	int open_result, check_result, list_result, validate_result, init_result;
	const char *errstr; /* handed out by every failing call */
	char **command_info, **argv, **environment;
	unsigned opened, closed, checked, listed, validated, invalidated, inited, versions;
	int close_status, close_error, removed_credentials;
	void *event_alloc; /* as it was at open */
	char *env_add[16]; /* as check_policy saw it */
	const void *settings;
	const void *init_account;
};

#endif

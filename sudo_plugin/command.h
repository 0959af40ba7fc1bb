/* SPDX-License-Identifier: ISC */
/*
 * What sudo is told to run: command_info, argv and environment of an agent session, each a new
 * NULL-terminated vector built from an allow-list.  sudo keeps pointers into them until it exits and
 * frees nothing, so they are allocated once and stay.
 */
#ifndef AC_COMMAND_H
#define AC_COMMAND_H

#include "config.h"
#include "err.h"
#include "policy.h"
#include "request.h"

/* NULL on want of memory or when a key that must be there could not be set: never run without
 * runas_uid, which would mean root. */
char **ac_command_info_dup(const struct ac_session_policy *session,
	const struct ac_request *request, char *const sudoers_info[], int launcher_fd);

char **ac_command_argv_dup(
	const struct ac_session_policy *session, int launcher_fd, char *const argv[]);

char **ac_command_environment_dup(const struct ac_session_policy *session,
	const struct ac_harness *harness, char *const user_env[]);

/* The rest of the environment: what the profile lets through, and keys from files.  sudo's own logs
 * show the environment of a command, so these must reach the launcher in another way. */
char **ac_command_private_dup(const struct ac_policy *policy, const struct ac_harness *harness,
	const struct ac_settings *keys, char *const user_env[]);

/* A key of sudoers' answer that an agent session cannot honour (NOEXEC, a SELinux role ...), as words
 * for the refusal, or NULL. */
const char *ac_command_unsupported(char *const sudoers_info[]);

#endif

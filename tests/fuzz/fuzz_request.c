/* SPDX-License-Identifier: ISC */
/*
 * sudo's vectors as a hostile user could shape them: settings[], user_info[], env_add[], the
 * environment and sudoers' command_info.  The input is split at NUL bytes; the first byte of each
 * string says which vector it goes into.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../sudo_plugin/command.h"
#include "../../sudo_plugin/request.h"
#include "../../sudo_plugin/terms.h"

#define STRINGS_MAX 24

enum { SETTINGS, USER_INFO, ENV_ADD, ENVIRONMENT, COMMAND_INFO, ARGUMENTS, VECTORS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ac_session_policy session;
static struct ac_harness harness;

static void fill_session(const struct ac_request *request)
{
	static const char id[] = "0123456789ab";
	struct ac_names *allowlist = &session.policy.env_allowlist;

	memset(&session, 0, sizeof session);
	memcpy(session.plan.session_id, id, sizeof id);
	memcpy(session.policy.session_id, id, sizeof id);
	strcpy(session.policy.role_user, "agentcell-worker");
	strcpy(session.plan.cwd, "/home/dev/p");
	strcpy(session.plan.command, "/usr/bin/true");
	if (request->user)
		strncpy(session.plan.user, request->user, sizeof session.plan.user - 1);
	session.policy.uid = session.policy.gid = 70001;
	strcpy(allowlist->name[0], "LC_*");
	strcpy(allowlist->name[1], "TERM");
	strcpy(allowlist->name[2], "*");
	allowlist->count = 3;
}

static void free_vector(char **vector)
{
	for (size_t i = 0; vector && vector[i]; i++)
		free(vector[i]);
	free(vector);
}

/* Whatever was put in, no agent runs as root, with another loader, or with an option left over. */
static void check_vectors(char **info, char **environment)
{
	static const char *const never[] = { "LD_PRELOAD", "GIT_DIR", "SUDO_USER", "BASH_ENV" };

	if (info && (!ac_vector_get(info, "runas_uid") ||
			    strcmp(ac_vector_get(info, "runas_uid"), "70001") != 0 ||
			    ac_vector_get(info, "chroot") || ac_vector_get(info, "execfd")))
		abort();
	for (size_t i = 0; environment && i < sizeof never / sizeof never[0]; i++)
		if (ac_vector_get(environment, never[i]))
			abort();
}

static void run(char *vectors[VECTORS][STRINGS_MAX + 1])
{
	static char text[1 << 16];
	struct ac_request request = { .environment = vectors[ENVIRONMENT] };
	struct ac_err err;

	if (ac_wishes_take(&request.wishes, vectors[ENV_ADD], vectors[ENVIRONMENT], &err) != 0)
		return;
	for (size_t i = 0; vectors[ENV_ADD][i]; i++)
		if (strncmp(vectors[ENV_ADD][i], "AGENTCELL_", 10) == 0)
			abort(); /* sudoers must not see it */
	if (ac_request_read(&request, vectors[SETTINGS], vectors[USER_INFO], &err) != 0)
		return;
	fill_session(&request);
	(void)ac_command_unsupported(vectors[COMMAND_INFO]);
	char **info = ac_command_info_dup(&session, &request, vectors[COMMAND_INFO], 9);
	char **argv = ac_command_argv_dup(&session, 9, vectors[ARGUMENTS]);
	char **environment = ac_command_environment_dup(&session, &harness, vectors[ENVIRONMENT]);

	check_vectors(info, environment);
	(void)ac_terms_format(text, sizeof text, &session);
	free_vector(info);
	free_vector(argv);
	free_vector(environment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *vectors[VECTORS][STRINGS_MAX + 1] = { { NULL } };
	size_t counts[VECTORS] = { 0 };
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (size_t at = 0; at < size; at += strlen(copy + at) + 1) {
		unsigned which = (unsigned char)copy[at] % VECTORS;

		if (copy[at] && counts[which] < STRINGS_MAX)
			vectors[which][counts[which]++] = copy + at + 1;
	}
	run(vectors);
	free(copy);
	return 0;
}

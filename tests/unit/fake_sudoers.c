/* SPDX-License-Identifier: ISC */
/* Stands where sudoers.so would be: answers as told, remembers what it was asked. */
#include "fake_sudoers.h"

#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

extern struct fake fake;
extern struct policy_plugin sudoers_policy;
extern struct audit_plugin sudoers_audit;
extern struct io_plugin sudoers_io;

EXPORTED struct fake fake = { .open_result = 1,
	.check_result = 1,
	.list_result = 1,
	.validate_result = 1,
	.init_result = 1 };

static int say(int result, const char **errstr)
{
	if (result != 1 && errstr && fake.errstr)
		*errstr = fake.errstr;
	return result;
}

static int fake_open(unsigned int version, sudo_conv_t conversation, sudo_printf_t print,
	char *const settings[], char *const user_info[], char *const user_env[],
	char *const plugin_options[], const char **errstr)
{
	(void)version;
	(void)conversation;
	(void)print;
	(void)user_info;
	(void)user_env;
	(void)plugin_options;
	fake.opened++;
	fake.settings = settings;
	fake.event_alloc = (void *)sudoers_policy.event_alloc;
	return say(fake.open_result, errstr);
}

static void fake_close(int exit_status, int error)
{
	fake.closed++;
	fake.close_status = exit_status;
	fake.close_error = error;
}

static int fake_version(int verbose)
{
	fake.versions++;
	return verbose >= 0;
}

static int fake_check(int argc, char *const argv[], char *env_add[], char **command_info[],
	char **argv_out[], char **user_env_out[], const char **errstr)
{
	size_t i = 0;

	(void)argc;
	(void)argv;
	fake.checked++;
	for (; env_add && env_add[i] && i < 15; i++)
		fake.env_add[i] = env_add[i];
	fake.env_add[i] = NULL;
	*command_info = fake.command_info;
	*argv_out = fake.argv;
	*user_env_out = fake.environment;
	return say(fake.check_result, errstr);
}

static int fake_list(
	int argc, char *const argv[], int verbose, const char *user, const char **errstr)
{
	(void)argc;
	(void)argv;
	(void)verbose;
	(void)user;
	fake.listed++;
	return say(fake.list_result, errstr);
}

static int fake_validate(const char **errstr)
{
	fake.validated++;
	return say(fake.validate_result, errstr);
}

static void fake_invalidate(int remove)
{
	fake.invalidated++;
	fake.removed_credentials = remove;
}

static int fake_init(struct passwd *account, char **user_env_out[], const char **errstr)
{
	(void)user_env_out;
	fake.inited++;
	fake.init_account = account;
	return say(fake.init_result, errstr);
}

EXPORTED struct policy_plugin sudoers_policy = {
	.type = SUDO_POLICY_PLUGIN,
	.version = SUDO_API_VERSION,
	.open = fake_open,
	.close = fake_close,
	.show_version = fake_version,
	.check_policy = fake_check,
	.list = fake_list,
	.validate = fake_validate,
	.invalidate = fake_invalidate,
	.init_session = fake_init,
};

EXPORTED struct audit_plugin sudoers_audit = { .type = SUDO_AUDIT_PLUGIN };
EXPORTED struct io_plugin sudoers_io = { .type = SUDO_IO_PLUGIN };

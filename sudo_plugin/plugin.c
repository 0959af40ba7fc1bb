/* SPDX-License-Identifier: ISC */
/*
 * sudoers_agentcell: the policy plugin that sudo loads.  Asks sudoers about every request and hands
 * its answer on untouched, unless sudoers resolved the request to the role account: then agent.c
 * decides into what the user switches.
 *
 * The symbol must begin with "sudoers_", or sudo's audit plugin logs every denial twice; it must not
 * be "sudoers_policy", which would shadow the real one.  errstr must live until close(): it points to
 * the static error here.  sudo loads and asks one plugin per process, so static state is right.
 */
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "refuse.h"
#include "request.h"
#include "sudoers.h"
#include "switch.h"
#include "util.h"

#define AC_VERSION_TEXT "agentcell policy plugin version 1.0\n"

static struct {
	struct policy_plugin *sudoers;
	const struct ac_switch *agent_switch; /* loaded when first needed */
	struct ac_agent *agent;
	struct ac_request request;
	struct ac_switch_answer answer;
	struct ac_err error;
	char *const *settings, *const *user_info, *const *user_env;
	sudo_printf_t print;
	char role[AC_NAME_MAX];
	bool is_agent; /* sudoers resolved to the role account and agent.c accepted */
	bool is_open;
} plugin;

/* Declared here, defined last as sudo's own plugins do.  Not const: sudo writes event_alloc. */
extern struct policy_plugin sudoers_agentcell __attribute__((visibility("default")));

static int fail(const char **errstr)
{
	if (errstr)
		*errstr = plugin.error.text;
	return -1;
}

static void read_role(char *const options[])
{
	const char *role = options ? ac_vector_get(options, "role") : NULL;

	snprintf(plugin.role, sizeof plugin.role, "%s", role && *role ? role : "agentcell-worker");
}

static void warn_missing_line(void)
{
	const char *line = ac_sudoers_missing_line();

	if (!line)
		return;
	openlog("sudo", 0, LOG_AUTHPRIV);
	syslog(LOG_ALERT,
		"agentcell: /etc/sudo.conf lacks the line \"%s\": commands are not logged", line);
	closelog();
}

static int plugin_open(unsigned int version, sudo_conv_t conversation, sudo_printf_t print,
	char *const settings[], char *const user_info[], char *const user_env[],
	char *const plugin_options[], const char **errstr)
{
	plugin.sudoers = ac_sudoers_policy(&plugin.error);
	if (!plugin.sudoers)
		return fail(errstr);
	plugin.settings = settings;
	plugin.user_info = user_info;
	plugin.user_env = user_env;
	plugin.print = print;
	read_role(plugin_options);
	warn_missing_line();
	plugin.request.environment = user_env;
	/* For the log line of a refusal before the request is read as a whole. */
	plugin.request.user = ac_vector_get(user_info, "user");
	plugin.request.cwd = ac_vector_get(user_info, "cwd");
	plugin.request.tty = ac_vector_get(user_info, "tty");
	plugin.sudoers->event_alloc = sudoers_agentcell.event_alloc;
	plugin.is_open = true;
	return plugin.sudoers->open(version, conversation, print, settings, user_info, user_env,
		plugin_options, errstr);
}

static void plugin_close(int exit_status, int error)
{
	if (plugin.is_agent)
		plugin.agent_switch->close(plugin.agent, exit_status, error);
	/* sudoers may set its own close to NULL: read it now. */
	if (plugin.is_open && plugin.sudoers->close)
		plugin.sudoers->close(exit_status, error);
}

static int plugin_show_version(int verbose)
{
	if (plugin.print)
		plugin.print(SUDO_CONV_INFO_MSG, AC_VERSION_TEXT);
	return plugin.sudoers->show_version ? plugin.sudoers->show_version(verbose) : 1;
}

static uid_t role_uid(void)
{
	const struct passwd *entry = getpwnam(plugin.role);

	return entry ? entry->pw_uid : (uid_t)-1;
}

/* Is the account that sudoers resolved to the role?  By its answer, never by what was typed.  Root,
 * the common case, costs no look-up. */
static bool answer_is_role(char *const info[])
{
	static const char *const keys[] = { "runas_uid", "runas_euid" };
	const char *user = ac_vector_get(info, "runas_user");

	if (user && strcmp(user, plugin.role) == 0)
		return true;
	for (size_t i = 0; i < AC_COUNT(keys); i++) {
		const char *text = ac_vector_get(info, keys[i]);
		unsigned long uid;

		if (text && ac_number_parse(text, (uid_t)-2, &uid) == 0 && uid != 0 &&
			uid == role_uid())
			return true;
	}
	return false;
}

static int refuse(char *const argv[], const char **errstr, int result)
{
	ac_refuse_log(&plugin.request, plugin.role, argv, &plugin.error);
	if (errstr)
		*errstr = plugin.error.text;
	/* sudo 1.9.13 hands errstr to the audit plugins only: the person would see nothing. */
	if (plugin.print)
		plugin.print(SUDO_CONV_ERROR_MSG, "agentcell: %s\n", plugin.error.text);
	return result;
}

/* The session range lies above this (agentcell.conf(5)): for all other accounts nothing is loaded. */
#define LOWEST_SESSION_ID 60000

/* Nobody enters a session's account from outside, whatever sudoers allows. */
static int check_session_range(char *const info[], struct ac_err *err)
{
	static const char *const keys[] = { "runas_uid", "runas_euid", "runas_gid", "runas_egid" };

	for (size_t i = 0; i < AC_COUNT(keys); i++) {
		const char *text = ac_vector_get(info, keys[i]);
		unsigned long id;

		if (!text || ac_number_parse(text, (uid_t)-2, &id) != 0 || id < LOWEST_SESSION_ID)
			continue;
		plugin.agent_switch = ac_switch_load(err);
		if (!plugin.agent_switch)
			return -err->code;
		if (plugin.agent_switch->is_session_id((uid_t)id))
			return ac_fail(err, EPERM,
				"%s %lu belongs to agent sessions; nobody may switch into one",
				keys[i], id);
	}
	return 0;
}

static bool names_role(const char *typed)
{
	unsigned long uid;

	if (!typed)
		return false;
	return strcmp(typed, plugin.role) == 0 ||
	       (*typed == '#' && ac_number_parse(typed + 1, (uid_t)-2, &uid) == 0 &&
		       uid == role_uid());
}

/* sudoers accepted a command for the role account. */
static int switch_to_agent(char *const info[], char *const argv[], struct ac_err *err)
{
	const struct ac_switch_host host = { plugin.print, sudoers_agentcell.event_alloc,
		plugin.role };
	const char *line = ac_sudoers_missing_line();

	if (line)
		return ac_fail(err, EPERM,
			"/etc/sudo.conf lacks \"%s\"; without it commands are not "
			"logged",
			line);
	if (ac_request_read(&plugin.request, plugin.settings, plugin.user_info, err) != 0)
		return -1;
	plugin.agent_switch = ac_switch_load(err);
	if (!plugin.agent_switch)
		return -1;
	plugin.agent = plugin.agent_switch->create(&host);
	if (!plugin.agent) {
		ac_fail_errno(err, ENOMEM, "no memory for an agent session");
		return -1;
	}
	return plugin.agent_switch->check(
		plugin.agent, &plugin.request, info, argv, &plugin.answer, err);
}

static int plugin_check_policy(int argc, char *const argv[], char *env_add[], char **command_info[],
	char **argv_out[], char **user_env_out[], const char **errstr)
{
	const char *typed = ac_vector_get(plugin.settings, "runas_user");
	struct ac_wishes *wishes = &plugin.request.wishes;
	bool has_wishes = names_role(typed);

	if (plugin.is_agent) { /* an intercepted sub-command of an agent session */
		ac_fail(&plugin.error, EPERM, "sub-commands of an agent session are not sudo's");
		return fail(errstr);
	}
	/* sudoers would refuse AGENTCELL_PATHS=... to users without SETENV. */
	if (has_wishes && ac_wishes_take(wishes, env_add, plugin.user_env, &plugin.error) != 0)
		return refuse(argv, errstr, -1);
	int result = plugin.sudoers->check_policy(
		argc, argv, env_add, command_info, argv_out, user_env_out, errstr);
	if (result != 1)
		return result;
	if (!answer_is_role(*command_info)) {
		if (check_session_range(*command_info, &plugin.error) != 0)
			return refuse(*argv_out, errstr, 0);
		return result;
	}
	if (!has_wishes && ac_wishes_take(wishes, NULL, plugin.user_env, &plugin.error) != 0)
		return refuse(*argv_out, errstr, -1);
	result = switch_to_agent(*command_info, *argv_out, &plugin.error);
	if (result != 1)
		return refuse(*argv_out, errstr, result < 0 ? -1 : 0);
	plugin.is_agent = true;
	*command_info = plugin.answer.command_info;
	*argv_out = plugin.answer.argv;
	*user_env_out = plugin.answer.environment;
	return 1;
}

static int plugin_list(
	int argc, char *const argv[], int verbose, const char *user, const char **errstr)
{
	return plugin.sudoers->list(argc, argv, verbose, user, errstr);
}

static int plugin_validate(const char **errstr)
{
	return plugin.sudoers->validate(errstr);
}

static void plugin_invalidate(int rmcred)
{
	plugin.sudoers->invalidate(rmcred);
}

static int plugin_init_session(struct passwd *pwd, char **user_env_out[], const char **errstr)
{
	if (!plugin.is_agent)
		return plugin.sudoers->init_session
			       ? plugin.sudoers->init_session(pwd, user_env_out, errstr)
			       : 1;
	/* Without an account sudoers opens no PAM session of its own but still logs and closes. */
	if (plugin.sudoers->init_session &&
		plugin.sudoers->init_session(NULL, user_env_out, errstr) != 1)
		return -1;
	if (plugin.agent_switch->open(plugin.agent, &plugin.error) == 1)
		return 1;
	return refuse(plugin.answer.argv, errstr, -1);
}

static void plugin_register_hooks(int version, int (*register_hook)(struct sudo_hook *hook))
{
	struct policy_plugin *sudoers = ac_sudoers_policy(NULL);

	if (sudoers && sudoers->register_hooks)
		sudoers->register_hooks(version, register_hook);
}

static void plugin_deregister_hooks(int version, int (*deregister_hook)(struct sudo_hook *hook))
{
	struct policy_plugin *sudoers = ac_sudoers_policy(NULL);

	if (sudoers && sudoers->deregister_hooks)
		sudoers->deregister_hooks(version, deregister_hook);
}

struct policy_plugin sudoers_agentcell = {
	.type = SUDO_POLICY_PLUGIN,
	.version = SUDO_API_VERSION,
	.open = plugin_open,
	.close = plugin_close,
	.show_version = plugin_show_version,
	.check_policy = plugin_check_policy,
	.list = plugin_list,
	.validate = plugin_validate,
	.invalidate = plugin_invalidate,
	.init_session = plugin_init_session,
	.register_hooks = plugin_register_hooks,
	.deregister_hooks = plugin_deregister_hooks,
};

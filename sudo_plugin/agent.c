/* SPDX-License-Identifier: ISC */
/*
 * The agent switch up to the point where sudo knows what to run: configuration, plan, uid lease,
 * session directory, policy on disk, terms.  From the uid lease on, a failure gives everything back.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account.h"
#include "command.h"
#include "escape.h"
#include "landlock.h"
#include "log.h"
#include "plan.h"
#include "plan_harness.h"
#include "terms.h"
#include "util.h"
#include "wire.h"

#define HELLO_TIMEOUT_MS 5000

static struct ac_agent *create(const struct ac_switch_host *host)
{
	struct ac_agent *agent = calloc(1, sizeof *agent);

	if (!agent)
		return NULL;
	agent->host = *host;
	agent->launcher_fd = -1;
	agent->outside = (struct ac_host)AC_HOST_NONE;
	ac_session_init(&agent->session, NULL);
	return agent;
}

static int read_configuration(struct ac_agent *agent, const char *command, struct ac_err *err)
{
	agent->config = agent->session.config = ac_config_read_dup(AC_CONFIG_FILE, err);
	if (!agent->config)
		return -err->code;
	if (strcmp(agent->config->role_user, agent->host.role) != 0)
		return ac_fail(err, EINVAL,
			"%s names the role account %s, but the plugin's line in sudo.conf says "
			"role=%s",
			AC_CONFIG_FILE, agent->config->role_user, agent->host.role);
	agent->harness = ac_harness_pick_dup(AC_HARNESS_DIRECTORY, agent->request->wishes.harness,
		command, agent->config->default_harness, err);
	return agent->harness ? 0 : -err->code;
}

/* No listener, no agent: asked before anything is made. */
static int greet_listener(struct ac_agent *agent, struct ac_err *err)
{
	struct ac_wire message;
	int fd = ac_wire_connect(err);

	if (fd < 0)
		return ac_fail_within(err, "the listener does not answer; start agentcelld");
	agent->session.listener_fd = fd;
	ac_wire_make(&message, AC_WIRE_HELLO, "", 0, "");
	int result = ac_wire_send(fd, &message, NULL, 0, err);

	if (!result)
		result = ac_wire_receive(fd, &message, NULL, NULL, NULL, HELLO_TIMEOUT_MS, err);
	if (result)
		return ac_fail_within(err, "the listener does not answer; see agentcelld's log");
	if (message.type != AC_WIRE_WELCOME)
		return ac_fail(err, EPERM, "the listener takes no session: %s",
			message.type == AC_WIRE_REFUSED ? message.text : "unexpected answer");
	return 0;
}

/* One end goes to the listener, the other stays open over exec: the launcher speaks through it. */
static int make_launcher_socket(struct ac_agent *agent, struct ac_err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return ac_fail_errno(err, errno, "cannot make the launcher's socket");
	agent->session.launcher_fd = pair[0];
	/* Above 2 in any case, and without close-on-exec, which sudo's preserve_fds would keep. */
	agent->launcher_fd = fcntl(pair[1], F_DUPFD, 3);
	close(pair[1]);
	if (agent->launcher_fd < 0)
		return ac_fail_errno(err, errno, "cannot make the launcher's socket");
	return 0;
}

static int lease(struct ac_agent *agent, struct ac_err *err)
{
	struct ac_session *session = &agent->session;
	char *id = session->policy->plan.session_id;
	uid_t uid;
	int result = ac_session_id_make(id, err);

	if (!result)
		result = ac_journal_create(id, &session->journal, err);
	if (result)
		return result;
	/* Journal before act: the lease is found again through the session that it names. */
	result = ac_journal_append(&session->journal, session->life);
	if (result)
		return ac_fail_errno(err, -result, "cannot write the journal of session %s", id);
	result = ac_account_lease(id, agent->config->uid_first, agent->config->uid_last, &uid, err);
	if (!result)
		ac_plan_name(session->policy, agent->config, uid);
	return result;
}

/* Gives back what was made before the policy was on disk; nothing else can exist yet. */
static void give_back(struct ac_agent *agent)
{
	struct ac_session *session = &agent->session;
	struct ac_err ignored;

	if (session->policy && session->policy->policy.uid)
		ac_account_release(
			session->policy->plan.session_id, session->policy->policy.uid, &ignored);
	if (session->journal.fd >= 0)
		ac_journal_remove(&session->journal, &ignored);
	ac_session_fini(session);
	if (agent->launcher_fd >= 0)
		close(ac_take_fd(&agent->launcher_fd));
}

static int drive_policy(struct ac_agent *agent, struct ac_err *err)
{
	struct ac_session *session = &agent->session;
	int result = ac_drive(&session->life, &ac_session_ops, session, AC_STATE_BACKUP);

	if (result || session->life.state != AC_STATE_BACKUP) {
		*err = session->err;
		return ac_fail_within(err, "no session");
	}
	return 0;
}

static int build_vectors(
	struct ac_agent *agent, char *const sudoers_info[], char *const argv[], struct ac_err *err)
{
	const struct ac_session_policy *policy = agent->session.policy;

	agent->answer.command_info = ac_command_info_dup(
		policy, agent->request, sudoers_info, agent->launcher_fd);
	agent->answer.argv = ac_command_argv_dup(policy, agent->launcher_fd, argv);
	agent->answer.environment = ac_command_environment_dup(
		policy, agent->harness, agent->request->environment);
	agent->private_environment = ac_command_private_dup(
		&policy->policy, agent->harness, &agent->keys, agent->request->environment);
	if (!agent->answer.command_info || !agent->answer.argv || !agent->answer.environment ||
		!agent->private_environment)
		return ac_fail(err, ENOMEM,
			"out of memory (or too many variables) while the command "
			"was prepared");
	return 0;
}

static void show_terms(struct ac_agent *agent)
{
	size_t size = ac_terms_format((char[1]){ 0 }, 1, agent->session.policy) + 1;
	ac_autofree char *text = malloc(size);

	if (!text)
		return;
	ac_terms_format(text, size, agent->session.policy);
	agent->host.print(SUDO_CONV_ERROR_MSG, "%s", text);
	if (ac_landlock_abi() < AC_LANDLOCK_LOGS)
		agent->host.print(SUDO_CONV_ERROR_MSG,
			"  %-11sby the audit rules alone: this kernel does not report what "
			"Landlock "
			"refuses\n",
			"watched");
	if (!agent->config->firewall_enabled)
		agent->host.print(SUDO_CONV_ERROR_MSG,
			"agentcell: WARNING: the firewall is off (firewall.enabled = no)\n");
}

/* Asked early, since sudo's own message ("unable to execute") would name the user's command. */
static int check_launcher(struct ac_err *err)
{
	struct stat status;
	ac_autoclose int fd = open(AC_LAUNCHER, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) != 0)
		return ac_fail_errno(
			err, errno, "cannot find %s; install agentcell again", AC_LAUNCHER);
	if (!S_ISREG(status.st_mode) || status.st_uid != 0 ||
		status.st_mode & (S_IWGRP | S_IWOTH) || !(status.st_mode & S_IXOTH))
		return ac_fail(err, EPERM,
			"%s must be a program of root's that everybody can run and nobody else can "
			"write",
			AC_LAUNCHER);
	return 0;
}

static void show_note(void *context, const char *text)
{
	struct ac_agent *agent = context;
	char line[3 * AC_ERR_TEXT_MAX];

	ac_escape(line, sizeof line, text, strlen(text));
	agent->host.print(SUDO_CONV_ERROR_MSG, "agentcell: note: %s\n", line);
}

static int prepare(struct ac_agent *agent, char *const sudoers_info[], struct ac_err *err)
{
	const struct ac_plan_input input = {
		.config = agent->config,
		.harness = agent->harness,
		.request = agent->request,
		.command = ac_vector_get(sudoers_info, "command"),
		.cwd = ac_vector_get(sudoers_info, "cwd"),
		.note = show_note,
		.note_context = agent,
	};
	int result = check_launcher(err);

	if (!result)
		result = ac_plan_make(&input, agent->session.policy, err);
	if (!result)
		result = ac_keys_take(
			&agent->session.policy->plan, agent->harness, &agent->keys, err);
	if (!result)
		result = greet_listener(agent, err);
	if (!result)
		result = make_launcher_socket(agent, err);
	if (!result)
		result = lease(agent, err);
	if (!result)
		result = drive_policy(agent, err);
	return result;
}

static int check_request(const struct ac_request *request, char *const sudoers_info[],
	char *const argv[], struct ac_err *err)
{
	const char *command = ac_vector_get(sudoers_info, "command");
	const char *unsupported = ac_command_unsupported(sudoers_info);

	if (request->forbidden)
		return ac_fail(err, EPERM, "not for an agent session: sudo %s", request->forbidden);
	if (unsupported)
		return ac_fail(err, EPERM, "not for an agent session: %s", unsupported);
	if (!command || !*command || !argv || !argv[0])
		return ac_fail(err, EINVAL, "sudoers gave no command to run");
	return 0;
}

static int check(struct ac_agent *agent, const struct ac_request *request,
	char *const sudoers_info[], char *const argv[], struct ac_switch_answer *answer,
	struct ac_err *err)
{
	agent->request = request;
	if (check_request(request, sudoers_info, argv, err) != 0 ||
		read_configuration(agent, ac_vector_get(sudoers_info, "command"), err) != 0)
		return 0;
	agent->session.policy = calloc(1, sizeof *agent->session.policy);
	if (!agent->session.policy) {
		ac_fail_errno(err, ENOMEM, "no memory for the session policy");
		return -1;
	}
	if (prepare(agent, sudoers_info, err) != 0 ||
		build_vectors(agent, sudoers_info, argv, err) != 0) {
		give_back(agent);
		return 0;
	}
	agent->pid = getpid();
	*answer = agent->answer;
	show_terms(agent);
	return 1;
}

#define DEFAULT_FIRST 70000
#define DEFAULT_LAST 70999

static bool is_session_id(uid_t uid)
{
	ac_autofree struct ac_config *config = calloc(1, sizeof *config);
	struct ac_err ignored;

	if (!config || ac_config_read(AC_CONFIG_FILE, config, &ignored) != 0)
		return uid >= DEFAULT_FIRST && uid <= DEFAULT_LAST;
	return uid >= config->uid_first && uid <= config->uid_last;
}

extern const struct ac_switch ac_switch;
__attribute__((visibility("default"))) const struct ac_switch ac_switch = {
	.create = create,
	.check = check,
	.open = ac_agent_open,
	.close = ac_agent_close,
	.is_session_id = is_session_id,
};

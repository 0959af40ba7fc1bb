/* SPDX-License-Identifier: ISC */
/*
 * init_session and close(): the PAM session "agentcell" builds and destroys the cell; this file opens
 * and closes it, brings sudo's own process back to the host right after the fork, and reacts when the
 * listener goes away.
 *
 * In init_session sudo has already taken the command's gid, groups and umask; the child takes only the
 * uid later.  So whatever is changed here is put back exactly.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <security/pam_appl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "util.h"

/* What a forked sudo (pty monitor, command) must not hold: the journal's lock and the connection
 * whose end means that sudo is gone. */
static struct ac_agent *forking_agent;

static void close_in_child(void)
{
	struct ac_agent *agent = forking_agent;

	if (!agent)
		return;
	close(agent->session.journal.fd);
	close(agent->session.listener_fd);
	close(agent->session.cgroup_fd);
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses,
	void *closure)
{
	struct ac_agent *agent = closure;

	*responses = calloc((size_t)count, sizeof **responses);
	if (!*responses)
		return PAM_BUF_ERR;
	for (int i = 0; i < count; i++) {
		int style = messages[i]->msg_style;

		/* A session asks nothing; a module that prompts here would hang a batch job. */
		if (style != PAM_ERROR_MSG && style != PAM_TEXT_INFO) {
			free(*responses);
			*responses = NULL;
			return PAM_CONV_ERR;
		}
		agent->host.print(SUDO_CONV_ERROR_MSG, "%s\n", messages[i]->msg);
	}
	return PAM_SUCCESS;
}

static int put(struct ac_agent *agent, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int put(struct ac_agent *agent, const char *name, const char *format, ...)
{
	char value[64], entry[128];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof value, format, args);
	va_end(args);
	snprintf(entry, sizeof entry, "%s=%s", name, value);
	return pam_putenv(agent->pam, entry);
}

/* The module lives in this same process: it is told which descriptors belong to the session. */
static int tell_module(struct ac_agent *agent)
{
	const struct ac_session *session = &agent->session;
	int result = put(agent, "AGENTCELL_SESSION", "%s", session->policy->plan.session_id);

	result |= put(agent, "AGENTCELL_JOURNAL_FD", "%d", session->journal.fd);
	result |= put(agent, "AGENTCELL_DIRECTORY_FD", "%d", session->journal.directory_fd);
	result |= put(agent, "AGENTCELL_LISTENER_FD", "%d", session->listener_fd);
	result |= put(agent, "AGENTCELL_LAUNCHER_FD", "%d", session->launcher_fd);
	return result;
}

/* What must not stand in sudo's logs goes to the launcher by way of the view. */
static int tell_private(struct ac_agent *agent)
{
	int result = PAM_SUCCESS;

	for (char **entry = agent->private_environment; result == PAM_SUCCESS && *entry; entry++) {
		char *text = NULL;

		if (asprintf(&text, AC_PRIVATE_PREFIX "%s", *entry) < 0)
			return PAM_BUF_ERR;
		result = pam_putenv(agent->pam, text);
		explicit_bzero(text, strlen(text));
		free(text);
	}
	return result;
}

static char *add_names(char *list, char *const *environment)
{
	for (; list && environment && *environment; environment++) {
		char *longer = NULL;
		int length = (int)strcspn(*environment, "=");

		if (asprintf(&longer, "%s%.*s ", list, length, *environment) < 0)
			longer = NULL;
		free(list);
		list = longer;
	}
	return list;
}

/* The names of all variables that the session will have: they are kept with its backup. */
static int tell_names(struct ac_agent *agent)
{
	char *list = strdup("AGENTCELL_VARIABLES=");

	list = add_names(list, agent->answer.environment);
	list = add_names(list, agent->private_environment);
	int result = list ? pam_putenv(agent->pam, list) : PAM_BUF_ERR;

	free(list);
	return result;
}

static int check_service(struct ac_err *err)
{
	static const char path[] = "/etc/pam.d/" AC_PAM_SERVICE;

	/* Without it PAM falls back to "other", whose session succeeds without our module. */
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
		return ac_fail_errno(
			err, errno, "the PAM service %s cannot be read; install it again", path);
	return 0;
}

static int open_pam(struct ac_agent *agent, struct ac_err *err)
{
	const struct ac_session_policy *policy = agent->session.policy;
	struct pam_conv conversation = { converse, agent };
	int result = check_service(err);

	if (result)
		return result;
	result = pam_start(AC_PAM_SERVICE, policy->policy.role_user, &conversation, &agent->pam);
	if (result != PAM_SUCCESS)
		return ac_fail(err, EPERM, "cannot start the PAM service %s: %s", AC_PAM_SERVICE,
			pam_strerror(NULL, result));
	pam_set_item(agent->pam, PAM_RUSER, policy->plan.user);
	if (agent->request->tty)
		pam_set_item(agent->pam, PAM_TTY, agent->request->tty);
	if (tell_module(agent) != PAM_SUCCESS || tell_private(agent) != PAM_SUCCESS ||
		tell_names(agent) != PAM_SUCCESS)
		return ac_fail_errno(err, ENOMEM, "cannot hand the session to PAM");
	result = pam_open_session(agent->pam, 0);
	if (result != PAM_SUCCESS) {
		const char *reason = pam_getenv(agent->pam, "AGENTCELL_ERROR");

		return ac_fail(err, EPERM, "no session: %s",
			reason ? reason : pam_strerror(agent->pam, result));
	}
	agent->is_pam_open = true;
	const char *ready = pam_getenv(agent->pam, "AGENTCELL_READY");

	if (!ready || strcmp(ready, policy->plan.session_id) != 0)
		return ac_fail(err, EPERM,
			"the PAM service %s did not run pam_agentcell.so: no cell, no "
			"agent",
			AC_PAM_SERVICE);
	return 0;
}

static void return_to_host(struct ac_agent *agent)
{
	if (agent->is_away)
		ac_host_return(&agent->outside);
	agent->is_away = false;
}

static void on_forked(int fd, int what, void *closure)
{
	(void)fd;
	(void)what;
	return_to_host(closure);
}

static void kill_cell(struct ac_agent *agent)
{
	int fd = openat(agent->session.cgroup_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1", 1) != 1)
		agent->host.print(
			SUDO_CONV_ERROR_MSG, "agentcell: cannot kill the session's processes\n");
	close(fd);
}

/* Readable means a message for close(), or the end of the listener: then nobody watches any more. */
static void on_listener(int fd, int what, void *closure)
{
	struct ac_agent *agent = closure;
	char byte;
	ssize_t length = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	(void)what;
	if (length > 0) {
		agent->listener_event->del(agent->listener_event);
		return;
	}
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	agent->listener_event->del(agent->listener_event);
	kill_cell(agent);
}

static int add_event(struct ac_agent *agent, struct sudo_plugin_event **event, int fd, int events,
	sudo_plugin_ev_callback_t callback)
{
	struct timespec now = { 0, 0 };

	*event = agent->host.event_alloc ? agent->host.event_alloc() : NULL;
	if (!*event || (*event)->set(*event, fd, events, callback, agent) != 1)
		return -1;
	return (*event)->add(*event, fd < 0 ? &now : NULL) == 1 ? 0 : -1;
}

/* sudo's init_session runs with the user's own limits, and a small RLIMIT_FSIZE would kill sudo in
 * the middle of its work. */
static void raise_limits(void)
{
	static const int kinds[] = { RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_AS,
		RLIMIT_DATA, RLIMIT_STACK, RLIMIT_NPROC };

	for (size_t i = 0; i < AC_COUNT(kinds); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)kinds[i], &limit) != 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)kinds[i], &limit);
	}
}

static int number_from_pam(struct ac_agent *agent, const char *name)
{
	unsigned long number;

	return ac_number_parse(pam_getenv(agent->pam, name), 1 << 20, &number) == 0 ? (int)number
										    : -1;
}

static int open_session(struct ac_agent *agent, struct ac_err *err)
{
	int result = ac_host_remember(&agent->outside, err);

	if (!result && !agent->host.event_alloc)
		result = ac_fail(
			err, ENOSYS, "this sudo has no event loop for plugins (1.9.0 needed)");
	if (!result)
		result = open_pam(agent, err);
	agent->is_away = agent->is_pam_open;
	if (result)
		return result;
	agent->session.cgroup_fd = number_from_pam(agent, "AGENTCELL_CGROUP_FD");
	if (add_event(agent, &agent->home_event, -1, SUDO_PLUGIN_EV_TIMEOUT, on_forked) != 0 ||
		add_event(agent, &agent->listener_event, agent->session.listener_fd,
			SUDO_PLUGIN_EV_READ | SUDO_PLUGIN_EV_PERSIST, on_listener) != 0)
		return ac_fail_errno(err, ENOMEM, "cannot register with sudo's event loop");
	return 0;
}

/* Set-up that ended before the module took over (no PAM service, -b): end it by the lifecycle. */
static void abandon(struct ac_agent *agent, const struct ac_err *err)
{
	struct ac_session *session = &agent->session;
	struct ac_err ignored;

	session->err = *err;
	ac_drive_event(&session->life, &ac_session_ops, session, AC_EVENT_REFUSE);
	if (session->life.state == AC_STATE_ENDED)
		ac_session_finish(session, &ignored);
}

static void end_pam(struct ac_agent *agent, int status)
{
	if (!agent->pam)
		return;
	put(agent, "AGENTCELL_STATUS", "%d", status);
	if (agent->is_pam_open)
		pam_close_session(agent->pam, 0);
	agent->is_pam_open = false;
	pam_end(agent->pam, PAM_SUCCESS);
	agent->pam = NULL;
}

static bool module_took_over(struct ac_agent *agent)
{
	return agent->pam && (pam_getenv(agent->pam, "AGENTCELL_TAKEN") ||
				     pam_getenv(agent->pam, "AGENTCELL_READY"));
}

static int check_process(const struct ac_agent *agent, struct ac_err *err)
{
	if (getpid() != agent->pid)
		return ac_fail(err, EPERM,
			"not for an agent session: sudo -b (a session needs its sudo in the "
			"foreground)");
	if (pthread_atfork(NULL, NULL, close_in_child) != 0)
		return ac_fail_errno(err, ENOMEM, "cannot prepare for the fork");
	return 0;
}

int ac_agent_open(struct ac_agent *agent, struct ac_err *err)
{
	raise_limits();
	int result = check_process(agent, err);

	if (!result) {
		forking_agent = agent;
		result = open_session(agent, err);
	}
	if (!result) {
		/* The listener has its end; ours would keep the pair alive. */
		close(ac_take_fd(&agent->session.launcher_fd));
		return 1;
	}
	return_to_host(agent);
	if (!module_took_over(agent))
		abandon(agent, err);
	end_pam(agent, -1);
	return -1;
}

void ac_agent_close(struct ac_agent *agent, int status, int error)
{
	return_to_host(agent);
	end_pam(agent, error ? -1 : status);
}

/* SPDX-License-Identifier: ISC */
/*
 * The socket: sudo's connections, and people's questions.
 *
 * Anyone may connect; only root may register a session, and a user sees and ends only her own.  One
 * malformed message ends the connection, and a connection's end ends its session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "cell.h"
#include "describe.h"
#include "util.h"
#include "wire.h"

#define CLIENTS_MAX 1024
#define CLIENTS_PER_USER 16
#define BACKLOG 64
#define SOCKET_MODE 0666

struct ac_client {
	struct ac_client *next;
	struct ac_source source;
	uid_t uid;
	pid_t pid;
	struct ac_cell *cell; /* that it registered */
};

static struct ac_client *client_of(struct ac_source *source)
{
	return (struct ac_client *)((char *)source - offsetof(struct ac_client, source));
}

/* What was sent and not read would, at the close, reset the connection: then the other side might get
 * an error instead of the ENDED that waits for it. */
static void drop_unread(int fd)
{
	char byte;

	(void)shutdown(fd, SHUT_RD);
	while (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) > 0)
		;
}

void ac_client_close(struct ac_guardian *guardian, struct ac_client *client)
{
	struct ac_client **link = &guardian->clients;

	while (*link && *link != client)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = client->next;
	guardian->client_count--;
	if (client->cell) {
		client->cell->client = NULL;
		ac_cell_end(client->cell, AC_EVENT_LOST, "the connection to sudo was lost");
	} else if (client->uid == 0) {
		guardian->owner_gone = true; /* a sudo that died before it registered, perhaps */
	}
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (cell->killer == client)
			cell->killer = NULL;
	drop_unread(client->source.fd);
	ac_source_close(&client->source);
	free(client);
}

void ac_client_detach(struct ac_client *client)
{
	client->cell = NULL;
}

static int say(struct ac_client *client, enum ac_wire_type type, const char *session_id,
	int32_t value, const char *text)
{
	struct ac_wire message;

	ac_wire_make(&message, type, session_id, value, text);
	return ac_wire_send(client->source.fd, &message, NULL, 0, NULL);
}

void ac_client_end(struct ac_client *client, const char *session_id, int cause, const char *report)
{
	(void)say(client, AC_WIRE_ENDED, session_id, cause, report);
}

/* The process that a pidfd stands for, or -1. */
static pid_t pid_of(int pidfd)
{
	char path[64], line[256];
	int pid = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	ac_autofclose FILE *info = fopen(path, "re");

	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "Pid: %d", &pid) == 1) /* NOLINT(cert-err34-c): the kernel's */
			break;
	return pid;
}

static int refuse(struct ac_client *client, const struct ac_wire *message, const char *why)
{
	syslog(LOG_NOTICE, "refused: %s", why);
	return say(client, AC_WIRE_REFUSED, message->session_id, 0, why);
}

static int hello(
	struct ac_guardian *guardian, struct ac_client *client, const struct ac_wire *message)
{
	if (guardian->health.wrong)
		return refuse(client, message, guardian->health.wrong);
	return say(client, AC_WIRE_WELCOME, "", 0, AC_GUARDIAN_VERSION);
}

static int expect(struct ac_guardian *guardian, const struct ac_client *client)
{
	if (client->uid)
		return -EPERM;
	ac_errands_expect_move(guardian->errands);
	return 0;
}

static int register_session(struct ac_guardian *guardian, struct ac_client *client,
	const struct ac_wire *message, int fds[AC_WIRE_FDS_MAX], unsigned fd_count)
{
	struct ac_err err = { 0 };
	const char *wrong = NULL;

	if (client->uid)
		wrong = "only root registers sessions";
	else if (fd_count != 2)
		wrong = "REGISTER carries two descriptors: sudo's pidfd and a socket";
	else if (client->cell)
		wrong = "this connection has registered a session already";
	else if (pid_of(fds[0]) != client->pid)
		wrong = "the pidfd is not that of the process that connected";
	if (wrong) {
		for (unsigned i = 0; i < fd_count; i++)
			close(fds[i]);
		return refuse(client, message, wrong);
	}
	ac_errands_expect_move(guardian->errands);
	client->cell = ac_cell_register(
		guardian, message->session_id, client->pid, fds[0], fds[1], &err);
	if (!client->cell)
		return refuse(client, message, err.text);
	client->cell->client = client;
	return say(client, AC_WIRE_REGISTERED, message->session_id, 0, "");
}

static int arm(
	struct ac_guardian *guardian, struct ac_client *client, const struct ac_wire *message)
{
	struct ac_err err = { 0 };

	if (!client->cell || strcmp(client->cell->id, message->session_id) != 0)
		return refuse(client, message, "this connection has not registered that session");
	if (ac_cell_arm(guardian, client->cell, &err))
		return refuse(client, message, err.text);
	return say(client, AC_WIRE_ARMED, message->session_id, 0, "");
}

static int exited(struct ac_client *client, const struct ac_wire *message)
{
	if (!client->cell || strcmp(client->cell->id, message->session_id) != 0)
		return -EBADMSG;
	ac_cell_end(client->cell, AC_EVENT_EXIT,
		message->value < 0 ? "the command was never started" : "the command has ended");
	return 0;
}

static bool may_see(const struct ac_client *client, const struct ac_cell *cell)
{
	return client->uid == 0 ||
	       (cell->session.policy && cell->session.policy->plan.user_uid == client->uid);
}

static int list_one(struct ac_guardian *guardian, struct ac_client *client, struct ac_cell *cell)
{
	json_object *object = ac_cell_describe(guardian, cell, AC_WIRE_TEXT_MAX);
	int rc;

	if (!object)
		return -ENOMEM;
	rc = say(client, AC_WIRE_LISTED, cell->id, 1,
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
	return rc;
}

static int list(struct ac_guardian *guardian, struct ac_client *client)
{
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (cell->session.policy && may_see(client, cell) &&
			list_one(guardian, client, cell))
			return -EIO;
	return say(client, AC_WIRE_LISTED, "", 0, "");
}

static int kill_session(
	struct ac_guardian *guardian, struct ac_client *client, const struct ac_wire *message)
{
	struct ac_cell *cell = ac_cell_find(guardian, message->session_id);

	/* Other users' sessions do not exist. */
	if (!cell || !may_see(client, cell) || !cell->owned)
		return refuse(client, message, "there is no such session of yours");
	cell->killer = client;
	ac_cell_end(cell, AC_EVENT_EXIT, "ended on request");
	return 0;
}

static int handle(struct ac_guardian *guardian, struct ac_client *client,
	const struct ac_wire *message, int fds[AC_WIRE_FDS_MAX], unsigned fd_count)
{
	if (message->type == AC_WIRE_REGISTER)
		return register_session(guardian, client, message, fds, fd_count);
	for (unsigned i = 0; i < fd_count; i++)
		close(fds[i]);
	if (fd_count)
		return -EBADMSG;
	switch ((enum ac_wire_type)message->type) {
	case AC_WIRE_HELLO:
		return hello(guardian, client, message);
	case AC_WIRE_ARM:
		return arm(guardian, client, message);
	case AC_WIRE_EXITED:
		return exited(client, message);
	case AC_WIRE_EXPECT:
		return expect(guardian, client);
	case AC_WIRE_LIST:
		return list(guardian, client);
	case AC_WIRE_KILL:
		return kill_session(guardian, client, message);
	case AC_WIRE_REGISTER:
	case AC_WIRE_WELCOME:
	case AC_WIRE_REFUSED:
	case AC_WIRE_REGISTERED:
	case AC_WIRE_ARMED:
	case AC_WIRE_READY:
	case AC_WIRE_GO:
	case AC_WIRE_ENDED:
	case AC_WIRE_NOTICE:
	case AC_WIRE_LISTED:
	case AC_WIRE_TYPE_COUNT:
		break;
	}
	return -EBADMSG; /* not for us */
}

static void client_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_client *client = client_of(source);
	int fds[AC_WIRE_FDS_MAX] = { -1, -1 };
	unsigned fd_count = 0;
	struct ac_wire message;

	if (ac_wire_receive(source->fd, &message, fds, &fd_count, NULL, 0, NULL) ||
		handle(guardian, client, &message, fds, fd_count))
		ac_client_close(guardian, client);
}

static bool is_crowd(const struct ac_guardian *guardian, uid_t uid)
{
	unsigned count = 0;

	for (const struct ac_client *client = guardian->clients; client; client = client->next)
		count += client->uid == uid;
	return guardian->client_count >= CLIENTS_MAX || (uid && count >= CLIENTS_PER_USER);
}

static void accept_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	ac_autoclose int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct ac_client *client;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
		is_crowd(guardian, peer.uid))
		return;
	/* A session's own uid has no business here, whatever the view let through. */
	if (peer.uid >= guardian->config->uid_first && peer.uid <= guardian->config->uid_last)
		return;
	client = calloc(1, sizeof(*client));
	if (!client)
		return;
	client->uid = peer.uid;
	client->pid = peer.pid;
	if (ac_source_add(guardian, &client->source, fd, client_ready, NULL)) {
		free(client);
		return;
	}
	(void)ac_take_fd(&fd);
	client->next = guardian->clients;
	guardian->clients = client;
	guardian->client_count++;
}

/* A socket that nobody listens at any more is the predecessor's; anything else stays. */
static int clear_path(struct ac_err *err)
{
	struct stat st;
	int fd;

	if (lstat(AC_SOCKET, &st))
		return errno == ENOENT ? 0 : ac_fail_errno(err, errno, "look at %s", AC_SOCKET);
	if (!S_ISSOCK(st.st_mode))
		return ac_fail(err, EEXIST, "%s is there and is no socket", AC_SOCKET);
	fd = ac_wire_connect(NULL);
	if (fd >= 0) {
		close(fd);
		return ac_fail(err, EADDRINUSE, "another listener serves %s", AC_SOCKET);
	}
	return unlink(AC_SOCKET) ? ac_fail_errno(err, errno, "remove %s", AC_SOCKET) : 0;
}

int ac_client_listen(struct ac_guardian *guardian, struct ac_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = AC_SOCKET };
	int fd, rc = clear_path(err);

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return ac_fail_errno(err, errno, "make a socket");
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
		chmod(AC_SOCKET, SOCKET_MODE) || listen(fd, BACKLOG)) {
		rc = ac_fail_errno(err, errno, "listen at %s", AC_SOCKET);
		close(fd);
		return rc;
	}
	return ac_source_add(guardian, &guardian->listener, fd, accept_ready, err);
}

/* SPDX-License-Identifier: ISC */
/*
 * Sessions' networks, and what others do to our table there.
 *
 * The order is freeze, look, then thaw or end.  Until the freeze the guard's table lets nothing out that
 * our own table has not let pass (libagentcell/firewall.h), so that a flushed ruleset opens nothing.
 */
#include "network.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "cell.h"
#include "firewall.h"
#include "netns.h"
#include "nftables_news.h"
#include "util.h"

struct ac_network {
	struct ac_network *next;
	struct ac_guardian *guardian;
	struct ac_source news;
	struct ac_guard *guard; /* NULL: this kernel has no owned tables */
	uint64_t inode;
	unsigned cells;
	bool own; /* the listener's; stays */
};

static struct ac_network *find(const struct ac_guardian *guardian, uint64_t inode)
{
	for (struct ac_network *network = guardian->networks; network; network = network->next)
		if (network->inode == inode)
			return network;
	return NULL;
}

static void drop(struct ac_guardian *guardian, struct ac_network *network)
{
	struct ac_network **link = &guardian->networks;

	while (*link && *link != network)
		link = &(*link)->next;
	if (*link)
		*link = network->next;
	ac_source_close(&network->news);
	ac_guard_close(network->guard);
	free(network);
}

static void doubt_all(const struct ac_network *network)
{
	for (struct ac_cell *cell = network->guardian->cells; cell; cell = cell->next)
		cell->doubted |= cell->network == network && !cell->ending;
}

/* Which sessions an element speaks of: its key begins with the uid or ends with the cgroup. */
static bool concerns(const struct ac_cell *cell, const struct ac_nftables_element *element)
{
	uint32_t uid = cell->uid, big = htobe32(cell->uid);
	uint64_t cgroup = cell->cgroup_id;

	if (element->length >= sizeof(uid) && (!memcmp(element->key, &uid, sizeof(uid)) ||
						      !memcmp(element->key, &big, sizeof(big))))
		return true;
	return element->length >= sizeof(cgroup) &&
	       !memcmp(element->key + element->length - sizeof(cgroup), &cgroup, sizeof(cgroup));
}

static void doubt_some(const struct ac_network *network, const struct ac_nftables_element *element)
{
	for (struct ac_cell *cell = network->guardian->cells; cell; cell = cell->next)
		cell->doubted |= cell->network == network && !cell->ending &&
				 concerns(cell, element);
}

static void forget(const struct ac_network *network)
{
	for (struct ac_cell *cell = network->guardian->cells; cell; cell = cell->next)
		if (cell->network == network && !cell->suspect)
			cell->doubted = false;
}

static void confirm(const struct ac_network *network)
{
	for (struct ac_cell *cell = network->guardian->cells; cell; cell = cell->next)
		if (cell->network == network)
			cell->suspect |= cell->doubted;
}

/* What a transaction said counts when it is over, and was not our own. */
static void take_news(void *context, const struct ac_news *news)
{
	const struct ac_network *network = context;

	switch (news->kind) {
	case AC_NEWS_TABLE:
		doubt_all(network);
		break;
	case AC_NEWS_ELEMENT:
		doubt_some(network, news->element);
		break;
	case AC_NEWS_DONE:
		if (news->by == (uint32_t)syscall(SYS_gettid))
			forget(network);
		else
			confirm(network);
		break;
	case AC_NEWS_LOST:
		doubt_all(network);
		confirm(network);
		break;
	}
}

static int check(struct ac_session *session, void *context)
{
	struct ac_cell *cell = context;

	return ac_firewall_check(cell->uid, &cell->addresses, &session->err);
}

static void look_at(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_err *err = &cell->session.err;
	int rc = ac_session_in_network(&cell->session, check, cell, err);

	cell->doubted = cell->suspect = false;
	if (!rc) {
		ac_cell_freeze(guardian, cell);
		return;
	}
	syslog(LOG_ALERT, "session %s: %s", cell->id, err->text);
	if (ac_keep_lost(guardian, cell->id, err->text, "the session ends", err))
		syslog(LOG_ALERT, "%s", err->text);
	cell->unheld = true; /* stays frozen until it is dead */
	ac_cell_end(cell, AC_EVENT_LOST, "its firewall was changed");
}

/* For those who come: what is there is ours to put back, in our own namespace. */
static void reload(struct ac_guardian *guardian)
{
	struct ac_err err;

	if (ac_firewall_load(guardian->config->uid_first, guardian->config->uid_last, &err))
		syslog(LOG_ALERT, "%s", err.text);
}

static void news_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_network *network = (struct ac_network *)((char *)source -
							   offsetof(struct ac_network, news));

	ac_news_read(source->fd, take_news, network);
	confirm(network); /* a transaction whose end is still to come */
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (cell->suspect)
			ac_cell_freeze(guardian, cell);
	for (struct ac_cell *cell = guardian->cells; cell; cell = cell->next)
		if (cell->suspect)
			look_at(guardian, cell);
	if (network->own && ac_firewall_is_loaded() != 1)
		reload(guardian);
}

static int set_up(void *context)
{
	struct ac_network *network = context;
	struct ac_guardian *guardian = network->guardian;
	struct ac_err err = { 0 };
	int fd = ac_news_subscribe(&err);

	if (fd < 0)
		return ac_fail(&guardian->network_err, -fd, "%s", err.text);
	if (ac_guard_open(guardian->config->uid_first, guardian->config->uid_last, &network->guard,
		    &err) &&
		network->own)
		syslog(LOG_WARNING,
			"%s: when another program removes our table, sessions are frozen and "
			"ended, but a packet may get out before",
			err.text);
	return ac_source_add(guardian, &network->news, fd, news_ready, &guardian->network_err);
}

static struct ac_network *make(
	struct ac_guardian *guardian, int fd, uint64_t inode, struct ac_err *err)
{
	struct ac_network *network = calloc(1, sizeof(*network));

	if (!network) {
		(void)ac_fail_errno(err, ENOMEM, "no memory for a network");
		return NULL;
	}
	network->guardian = guardian;
	network->inode = inode;
	network->own = fd < 0;
	network->news.fd = -1;
	network->next = guardian->networks;
	guardian->networks = network;
	guardian->network_err.code = 0;
	if (ac_netns_run(fd, set_up, network, &guardian->network_err)) {
		*err = guardian->network_err;
		drop(guardian, network);
		return NULL;
	}
	return network;
}

int ac_network_init(struct ac_guardian *guardian, struct ac_err *err)
{
	struct stat status;
	int rc;

	if (!guardian->config->firewall_enabled)
		return 0;
	rc = ac_firewall_load(guardian->config->uid_first, guardian->config->uid_last, err);
	if (rc)
		return rc;
	if (stat("/proc/thread-self/ns/net", &status))
		return ac_fail_errno(err, errno, "look at our own network namespace");
	return make(guardian, -1, status.st_ino, err) ? 0 : -err->code;
}

void ac_network_fini(struct ac_guardian *guardian)
{
	while (guardian->networks)
		drop(guardian, guardian->networks);
}

static int take_namespace(struct ac_cell *cell, struct stat *status, struct ac_err *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)cell->sudo_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, status)) {
		(void)ac_fail_errno(err, errno, "open %s", path);
		if (fd >= 0)
			close(fd);
		return -err->code;
	}
	cell->session.network_namespace_fd = fd;
	return 0;
}

int ac_network_join(struct ac_guardian *guardian, struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_session_policy *policy = cell->session.policy;
	struct stat status = { .st_ino = 0 };
	int rc;

	if (!policy->policy.firewall_enabled)
		return 0;
	rc = take_namespace(cell, &status, err);
	if (rc)
		return rc;
	/* The plan's is where the elements are, and where the session is looked for after a crash. */
	if (status.st_ino != policy->plan.network)
		return ac_fail(err, EPERM, "sudo has moved to another network namespace");
	cell->network = find(guardian, status.st_ino);
	if (!cell->network)
		cell->network = make(
			guardian, cell->session.network_namespace_fd, status.st_ino, err);
	if (!cell->network)
		return -err->code;
	cell->network->cells++;
	return 0;
}

void ac_network_leave(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_network *network = cell->network;

	cell->network = NULL;
	if (network && !--network->cells && !network->own)
		drop(guardian, network);
}

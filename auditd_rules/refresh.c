/* SPDX-License-Identifier: ISC */
/*
 * Questions, and putting answers in force.  The judge hears of a change first, then the firewall, then
 * the cell by its hosts file: nothing is open that the judge does not know, and no name leads to what
 * is not open yet.
 */
#include "refresh.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "cell.h"
#include "hosts.h"
#include "util.h"

#define CHANGE_TRIES 3

static struct ac_refresh_times times_of(const struct ac_guardian *guardian)
{
	const struct ac_config *config = guardian->config;

	return (struct ac_refresh_times){ config->refresh_interval_s * 1000,
		config->refresh_overlap_s * 1000, config->refresh_stale_s * 1000 };
}

void ac_refresh_init(struct ac_refresh *refresh)
{
	refresh->mounts_fd = refresh->resolver.source.fd = -1;
}

static void add_name(struct ac_refresh *refresh, const char *host, uint64_t now, uint64_t next)
{
	for (unsigned i = 0; i < refresh->count; i++)
		if (!strcmp(refresh->name[i].host, host))
			return;
	struct ac_refresh_name *name = &refresh->name[refresh->count++];

	memcpy(name->host, host, sizeof(name->host));
	name->good_ms = now;
	name->next_ms = next;
}

int ac_refresh_begin(struct ac_cell *cell, struct ac_err *err)
{
	const struct ac_policy *policy = &cell->session.policy->policy;
	struct ac_refresh_times times = times_of(cell->guardian);
	uint64_t now = ac_now_ms();
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)cell->sudo_pid);
	cell->refresh.mounts_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (cell->refresh.mounts_fd < 0)
		return ac_fail_errno(err, errno, "open %s", path);
	for (unsigned i = 0; i < policy->endpoint_count; i++)
		if (!policy->endpoints[i].family)
			add_name(&cell->refresh, policy->endpoints[i].host, now,
				now + times.interval_ms);
	return 0;
}

void ac_refresh_end(struct ac_cell *cell)
{
	ac_resolver_stop(cell->guardian, &cell->refresh.resolver);
	cell->refresh.count = 0;
	cell->refresh.pending = cell->refresh.sweep = false;
}

void ac_refresh_fini(struct ac_cell *cell)
{
	ac_refresh_end(cell);
	if (cell->refresh.mounts_fd >= 0)
		close(ac_take_fd(&cell->refresh.mounts_fd));
}

static int set_elements(struct ac_session *session, void *addresses)
{
	return ac_firewall_add(session->policy->policy.uid, addresses, &session->err);
}

static int put_in_force(struct ac_cell *cell, struct ac_err *err)
{
	struct ac_session *session = &cell->session;
	const struct ac_policy *policy = &session->policy->policy;
	int rc = 0;

	ac_watch_declare(cell->guardian->watch, &cell->addresses, &cell->refresh.next);
	if (policy->firewall_enabled) {
		rc = ac_session_in_network(session, set_elements, &cell->addresses, &session->err);
		if (rc)
			*err = session->err;
	}
	if (!rc)
		rc = ac_hosts_update(
			session->journal.directory_fd, policy, &cell->addresses, false, err);
	return rc;
}

/* What cannot be changed is tried again, each second; a firewall that is not ours any more ends it. */
static void change(struct ac_cell *cell)
{
	struct ac_refresh *refresh = &cell->refresh;
	struct ac_err err = { 0 };

	refresh->pending = put_in_force(cell, &err) != 0;
	if (!refresh->pending) {
		refresh->failures = 0;
		refresh->sweep = true;
		return;
	}
	syslog(LOG_ERR, "session %s: %s", cell->id, err.text);
	if (++refresh->failures >= CHANGE_TRIES)
		ac_cell_end(cell, AC_EVENT_LOST, "its endpoints could not be kept up to date");
}

/* A second later nobody reads any more what was there before. */
static void sweep(struct ac_cell *cell)
{
	const struct ac_session *session = &cell->session;
	struct ac_err err;

	if (ac_hosts_update(session->journal.directory_fd, &session->policy->policy,
		    &cell->addresses, true, &err))
		syslog(LOG_ERR, "session %s: %s", cell->id, err.text);
	else
		cell->refresh.sweep = false;
}

/* The end of a round: everything that it brought goes in force at once. */
static void conclude(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_refresh *refresh = &cell->refresh;
	struct ac_refresh_times times = times_of(guardian);
	uint64_t now = ac_now_ms();
	struct ac_err err;

	for (unsigned i = 0; i < refresh->count; i++) {
		if (refresh->name[i].asked)
			ac_refresh_fail(&refresh->name[i], "was not answered in time", &times, now,
				&refresh->news);
		refresh->name[i].asked = false;
	}
	ac_refresh_expire(
		&refresh->next, refresh->name, refresh->count, &times, now, &refresh->news);
	if (ac_refresh_has_change(&refresh->news))
		change(cell);
	if ((ac_refresh_has_change(&refresh->news) || refresh->news.refused[0] ||
		    refresh->news.failed[0]) &&
		ac_keep_resolved(guardian, cell, &refresh->news, &err))
		ac_cell_end(cell, AC_EVENT_LOST, "the log could not be written");
}

static void begin_round(struct ac_cell *cell)
{
	memset(&cell->refresh.news, 0, sizeof(cell->refresh.news));
	cell->refresh.next = cell->addresses;
}

static struct ac_refresh_name *find_asked(struct ac_refresh *refresh, const char *host)
{
	for (unsigned i = 0; i < refresh->count; i++)
		if (refresh->name[i].asked && !strcmp(refresh->name[i].host, host))
			return &refresh->name[i];
	return NULL;
}

static void answer_ready(struct ac_guardian *guardian, struct ac_source *source)
{
	struct ac_cell *cell = (struct ac_cell *)((char *)source -
						  offsetof(
							  struct ac_cell, refresh.resolver.source));
	struct ac_refresh *refresh = &cell->refresh;
	struct ac_refresh_times times = times_of(guardian);
	struct ac_lookup lookup;
	struct ac_refresh_name *name;
	int rc = ac_resolver_take(&refresh->resolver, &lookup);

	if (rc > 0 && (name = find_asked(refresh, lookup.host))) {
		name->asked = false;
		ac_refresh_merge(&cell->session.policy->policy, &refresh->next, name, &lookup,
			&times, ac_now_ms(), &refresh->news);
	}
	if (rc >= 0)
		return;
	ac_resolver_stop(guardian, &refresh->resolver);
	conclude(guardian, cell);
}

static void ask(struct ac_guardian *guardian, struct ac_cell *cell, uint64_t now)
{
	struct ac_refresh *refresh = &cell->refresh;
	const char *hosts[AC_ENDPOINTS_MAX];
	struct ac_err err;
	unsigned count = 0;
	int rc;

	for (unsigned i = 0; i < refresh->count; i++)
		if (refresh->name[i].next_ms <= now)
			hosts[count++] = refresh->name[i].host;
	if (!count)
		return;
	rc = ac_resolver_start(guardian, &refresh->resolver, cell->session.network_namespace_fd,
		refresh->mounts_fd, hosts, count, answer_ready, &err);
	if (rc == -EAGAIN)
		return; /* another second */
	begin_round(cell);
	for (unsigned i = 0; i < refresh->count; i++)
		refresh->name[i].asked = refresh->name[i].next_ms <= now;
	if (rc) {
		syslog(LOG_ERR, "session %s: %s", cell->id, err.text);
		conclude(guardian, cell); /* as if nobody had answered */
	}
}

/* Is anything to be asked, or may something be over?  A round costs a copy of all addresses. */
static bool is_due(const struct ac_cell *cell, uint64_t now)
{
	const struct ac_refresh *refresh = &cell->refresh;

	for (unsigned i = 0; i < refresh->count; i++)
		if (refresh->name[i].next_ms <= now || refresh->name[i].failures)
			return true;
	for (unsigned i = 0; i < cell->addresses.count; i++)
		if (cell->addresses.address[i].state == AC_ADDRESS_LEFT)
			return true;
	return false;
}

void ac_refresh_second(struct ac_guardian *guardian, struct ac_cell *cell)
{
	struct ac_refresh *refresh = &cell->refresh;
	uint64_t now = ac_now_ms();

	if (refresh->sweep)
		sweep(cell);
	if (refresh->resolver.pid) {
		if (now < refresh->resolver.deadline_ms)
			return;
		ac_resolver_stop(guardian, &refresh->resolver);
		conclude(guardian, cell);
		return;
	}
	if (refresh->pending) {
		change(cell);
		return;
	}
	if (!is_due(cell, now))
		return;
	begin_round(cell);
	conclude(guardian, cell); /* what is over by now */
	if (!cell->asked)
		ask(guardian, cell, now);
}

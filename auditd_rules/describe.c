/* SPDX-License-Identifier: ISC */
/*
 * A session in words: who, what, since when, and what the firewall has counted for it.  The counters are
 * read from the kernel, in the session's network namespace, when somebody asks.
 */
#include "describe.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "firewall.h"

#define ENDPOINT_ROOM 160 /* bytes that one endpoint takes at most */

static void add_string(json_object *object, const char *name, const char *value)
{
	(void)json_object_object_add(object, name, json_object_new_string(value ? value : ""));
}

static void add_number(json_object *object, const char *name, uint64_t value)
{
	(void)json_object_object_add(object, name, json_object_new_int64((int64_t)value));
}

static void add_basics(struct ac_guardian *guardian, struct ac_cell *cell, json_object *object)
{
	const struct ac_session_policy *session = cell->session.policy;
	struct ac_watched *watched = &guardian->watched;

	if (!ac_watch_read(guardian->watch, cell->uid, watched))
		memset(watched, 0, sizeof(*watched));
	add_string(object, "session_id", cell->id);
	add_string(object, "user", session->plan.user);
	add_string(object, "os_user", session->policy.os_user);
	add_number(object, "uid", cell->uid);
	add_string(object, "harness", session->plan.harness);
	add_string(object, "status", ac_life_status(cell->session.life));
	add_string(object, "state", ac_state_name(cell->session.life.state));
	add_string(object, "cause", ac_cause_name(cell->session.life.cause));
	add_number(object, "started", session->plan.started);
	add_number(object, "wall_clock_s", session->policy.limits.wall_clock_s);
	add_number(object, "events", watched->events);
	add_number(object, "denied", watched->denied);
	add_string(object, "backup_id", session->policy.backup_id);
}

static json_object *describe_flow(const struct ac_flow *flow)
{
	json_object *object = json_object_new_object();
	char number[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 4];
	bool whole = flow->address.prefix == (flow->address.family == AF_INET ? 32 : 128);

	if (!object ||
		!inet_ntop(flow->address.family, flow->address.bytes, number, sizeof(number)))
		return object;
	(void)snprintf(text, sizeof(text), whole ? "%s" : "%s/%u", number, flow->address.prefix);
	add_string(object, "address", text);
	add_number(object, "port", flow->address.port);
	add_number(object, "packets", flow->packets);
	add_number(object, "bytes", flow->bytes);
	return object;
}

static int read_flows(struct ac_session *session, void *context)
{
	return ac_firewall_flows(session->policy->policy.uid, context, &session->err);
}

/* Not there: the firewall is off, or cannot be asked. */
static void add_firewall(struct ac_cell *cell, json_object *object, size_t room)
{
	json_object *firewall = json_object_new_object(), *list = json_object_new_array();
	struct ac_flows *flows = calloc(1, sizeof(*flows));
	unsigned fit = (unsigned)(room / ENDPOINT_ROOM), i = 0;

	if (!firewall || !list || !flows ||
		ac_session_in_network(&cell->session, read_flows, flows, &cell->session.err)) {
		json_object_put(firewall);
		json_object_put(list);
		free(flows);
		return;
	}
	for (; i < flows->count && i < fit; i++)
		(void)json_object_array_add(list, describe_flow(&flows->flow[i]));
	add_number(firewall, "refused", flows->refused);
	(void)json_object_object_add(firewall, "endpoints", list);
	add_number(firewall, "omitted", flows->count - i);
	(void)json_object_object_add(object, "firewall", firewall);
	free(flows);
}

json_object *ac_cell_describe(struct ac_guardian *guardian, struct ac_cell *cell, size_t size)
{
	json_object *object = json_object_new_object();
	size_t used;

	if (!object)
		return NULL;
	add_basics(guardian, cell, object);
	add_string(object, "firewall_rule", cell->session.policy->policy.firewall_rule);
	(void)json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN, &used);
	used += 96; /* what stands around the list */
	if (cell->network && used < size)
		add_firewall(cell, object, size - used);
	return object;
}

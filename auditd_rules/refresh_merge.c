/* SPDX-License-Identifier: ISC */
/* What an answer means for the addresses.  Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "refresh.h"
#include "util.h"

static void tell(char text[AC_REFRESH_NEWS_MAX], const char *host, const char *what)
{
	size_t used = strlen(text);
	int length = snprintf(
		text + used, AC_REFRESH_NEWS_MAX - used, "%s%s %s", used ? ", " : "", host, what);

	if (length < 0 || (size_t)length >= AC_REFRESH_NEWS_MAX - used)
		memcpy(text + AC_REFRESH_NEWS_MAX - 5, " ...", 5);
}

static void tell_address(char text[AC_REFRESH_NEWS_MAX], const struct ac_address *address)
{
	char number[AC_ADDRESS_TEXT_MAX];

	ac_address_format(address, number);
	tell(text, address->host, number);
}

bool ac_refresh_has_change(const struct ac_refresh_news *news)
{
	return news->added[0] || news->left[0] || news->closed[0];
}

static void set_state(struct ac_address *address, enum ac_address_state state, uint64_t now_ms)
{
	address->state = (uint8_t)state;
	address->since_ms = now_ms;
}

static bool is_same(const struct ac_address *a, const struct ac_address *b)
{
	return a->family == b->family && a->port == b->port && a->prefix == b->prefix &&
	       !memcmp(a->bytes, b->bytes, sizeof(a->bytes)) && !strcmp(a->host, b->host);
}

/* A place for one more: at the end, or that of what matters least.  NULL: every one is in use. */
static struct ac_address *find_place(struct ac_addresses *addresses, struct ac_refresh_news *news)
{
	struct ac_address *place = NULL;

	if (addresses->count < AC_ADDRESSES_MAX)
		return &addresses->address[addresses->count++];
	for (unsigned i = 0; i < addresses->count; i++) {
		struct ac_address *address = &addresses->address[i];

		if (address->state == AC_ADDRESS_CURRENT || !address->host[0])
			continue;
		if (!place || address->state > place->state ||
			(address->state == place->state && address->since_ms < place->since_ms))
			place = address;
	}
	if (place && place->state == AC_ADDRESS_LEFT)
		tell_address(news->closed, place);
	return place;
}

static void take_address(struct ac_addresses *addresses, const struct ac_address *wanted,
	uint64_t now_ms, struct ac_refresh_news *news)
{
	struct ac_address *place = NULL;

	for (unsigned i = 0; i < addresses->count && !place; i++)
		if (is_same(&addresses->address[i], wanted))
			place = &addresses->address[i];
	if (place && place->state == AC_ADDRESS_CURRENT)
		return;
	if (!place)
		place = find_place(addresses, news);
	if (!place) {
		tell(news->failed, wanted->host, "has too many addresses");
		return;
	}
	*place = *wanted;
	set_state(place, AC_ADDRESS_CURRENT, now_ms);
	tell_address(news->added, place);
}

static bool is_answer(const struct ac_lookup *lookup, const struct ac_address *address)
{
	for (unsigned i = 0; i < lookup->count; i++)
		if (lookup->address[i].family == address->family &&
			!memcmp(lookup->address[i].bytes, address->bytes,
				address->family == AF_INET ? 4 : 16))
			return true;
	return false;
}

static void leave(struct ac_addresses *addresses, const char *host, const struct ac_lookup *lookup,
	uint64_t now_ms, struct ac_refresh_news *news)
{
	for (unsigned i = 0; i < addresses->count; i++) {
		struct ac_address *address = &addresses->address[i];

		if (address->state != AC_ADDRESS_CURRENT || strcmp(address->host, host) != 0 ||
			is_answer(lookup, address))
			continue;
		set_state(address, AC_ADDRESS_LEFT, now_ms);
		tell_address(news->left, address);
	}
}

/* Each refusal once, until the name leads to another one. */
static void note_refusal(struct ac_refresh_name *name, const struct ac_address *address,
	const char *why, struct ac_refresh_news *news)
{
	char number[AC_ADDRESS_TEXT_MAX], text[AC_ADDRESS_TEXT_MAX + 64];

	ac_address_format(address, number);
	if (!strcmp(number, name->refused))
		return;
	memcpy(name->refused, number, sizeof(number));
	snprintf(text, sizeof(text), "%s (%.60s)", number, why);
	tell(news->refused, name->host, text);
}

/* How many of the answers the endpoint may lead to. */
static unsigned take_answers(const struct ac_endpoint *endpoint, struct ac_addresses *addresses,
	struct ac_refresh_name *name, const struct ac_lookup *lookup, uint64_t now_ms,
	struct ac_refresh_news *news)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < lookup->count; i++) {
		struct ac_address address = ac_address_of(lookup, i, endpoint);
		const char *why = ac_addresses_refuse(addresses, &address);

		if (why) {
			note_refusal(name, &address, why, news);
			continue;
		}
		take_address(addresses, &address, now_ms, news);
		taken++;
	}
	return taken;
}

static uint64_t pause_of(const struct ac_lookup *lookup, const struct ac_refresh_times *times)
{
	uint64_t pause = lookup->ttl_s ? (uint64_t)lookup->ttl_s * 1000 : times->interval_ms;

	if (pause > AC_REFRESH_LONGEST_MS)
		pause = AC_REFRESH_LONGEST_MS;
	return pause < times->interval_ms ? times->interval_ms : pause;
}

void ac_refresh_fail(struct ac_refresh_name *name, const char *reason,
	const struct ac_refresh_times *times, uint64_t now_ms, struct ac_refresh_news *news)
{
	if (!name->failures++)
		tell(news->failed, name->host, reason);
	name->next_ms = now_ms + times->interval_ms;
}

void ac_refresh_merge(const struct ac_policy *policy, struct ac_addresses *addresses,
	struct ac_refresh_name *name, const struct ac_lookup *lookup,
	const struct ac_refresh_times *times, uint64_t now_ms, struct ac_refresh_news *news)
{
	unsigned taken = 0;

	if (lookup->code || !lookup->count) {
		ac_refresh_fail(name, lookup->code ? lookup->reason : "has no address", times,
			now_ms, news);
		return;
	}
	for (unsigned i = 0; i < policy->endpoint_count; i++)
		if (!policy->endpoints[i].family && !strcmp(policy->endpoints[i].host, name->host))
			taken += take_answers(
				&policy->endpoints[i], addresses, name, lookup, now_ms, news);
	if (!taken) { /* all of it is refused: no reason to give up what is there */
		ac_refresh_fail(name, "leads only to where a name may not", times, now_ms, news);
		return;
	}
	leave(addresses, name->host, lookup, now_ms, news);
	name->failures = 0;
	name->good_ms = now_ms;
	name->next_ms = now_ms + pause_of(lookup, times);
}

static bool is_stale(const struct ac_address *address, const struct ac_refresh_name names[],
	unsigned count, const struct ac_refresh_times *times, uint64_t now_ms)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(names[i].host, address->host))
			return names[i].failures && now_ms - names[i].good_ms >= times->stale_ms;
	return false;
}

void ac_refresh_expire(struct ac_addresses *addresses, const struct ac_refresh_name names[],
	unsigned count, const struct ac_refresh_times *times, uint64_t now_ms,
	struct ac_refresh_news *news)
{
	for (unsigned i = 0; i < addresses->count; i++) {
		struct ac_address *address = &addresses->address[i];

		if (!address->host[0] || address->state == AC_ADDRESS_CLOSED)
			continue;
		if ((address->state == AC_ADDRESS_LEFT &&
			    now_ms - address->since_ms >= times->overlap_ms) ||
			is_stale(address, names, count, times, now_ms)) {
			set_state(address, AC_ADDRESS_CLOSED, now_ms);
			tell_address(news->closed, address);
		}
	}
}

// SPDX-License-Identifier: ISC
/*
 * The rules, in nft's language.
 *
 * They look at the uid range first and at positive matches only: a packet without a socket (the
 * kernel's own resets, forwarded ones) matches no `meta skuid` at all and must leave untouched.
 * Sets for single addresses are hashes, so that adding is as fast with 1000 sessions as with one;
 * prefixes have sets of their own, whose every change copies the set.
 */
#include "firewall_rules.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "util.h"

struct text { /* of rules, and how many they are */
	FILE *stream;
	unsigned rules;
	const int *levels; /* of sessions' cgroups, ended by 0 */
};

__attribute__((format(printf, 2, 3))) static void rule(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(text->stream, format, arguments);
	va_end(arguments);
	fputc('\n', text->stream);
	text->rules++;
}

static void say(struct text *text, const char *line)
{
	fputs(line, text->stream);
	fputc('\n', text->stream);
}

/* nft has no `meta mark set meta skuid`, since the types differ: hence the map. */
static void write_sets(struct text *text, uid_t first, uid_t last)
{
	say(text, "set session { typeof meta skuid; counter; }"); /* of refused packets */
	say(text, "set allow4 { typeof meta skuid . ip daddr . tcp dport; counter; }");
	say(text, "set allow6 { typeof meta skuid . ip6 daddr . tcp dport; counter; }");
	say(text, "set range4 { typeof meta skuid . ip daddr . tcp dport; flags interval; "
		  "counter; }");
	say(text, "set range6 { typeof meta skuid . ip6 daddr . tcp dport; flags interval; "
		  "counter; }");
	say(text, "set seen4 { typeof meta mark . ip daddr; size 65535; flags dynamic,timeout; "
		  "timeout 2s; }");
	say(text, "set seen6 { typeof meta mark . ip6 daddr; size 65535; flags dynamic,timeout; "
		  "timeout 2s; }");
	fputs("map marks { typeof meta skuid : meta mark; elements = {", text->stream);
	for (uid_t uid = first; uid <= last; uid++)
		fprintf(text->stream, "%u:%u,\n", uid, uid);
	say(text, "} }");
}

/* Recorded with the uid as mark, so that the record can be told whose it is; one destination cannot
 * drown another in the audit stream. */
static void write_refusal(struct text *text)
{
	say(text, "chain refuse {");
	rule(text, "meta l4proto tcp reject with tcp reset");
	rule(text, "reject with icmpx admin-prohibited");
	say(text, "}\nchain deny {");
	rule(text, "update @seen4 { meta mark . ip daddr limit rate 10/second burst 20 packets } "
		   "log level audit");
	rule(text, "update @seen6 { meta mark . ip6 daddr limit rate 10/second burst 20 packets } "
		   "log level audit");
	rule(text, "goto refuse");
	say(text, "}");
}

static const char *const families[] = { "", "6" };

/*
 * An opening packet to a session that met the remains of an earlier connection (write_knock) is judged
 * when the session answers, by who sent it.
 */
static void write_answering(struct text *text)
{
	say(text, "chain answering {");
	rule(text, "meta mark set tcp dport . tcp sport map @unsure goto known");
	say(text, "}\nchain known {");
	rule(text, "meta skuid . meta mark @hosts return");
	rule(text, "goto refuse");
	say(text, "}");
}

static void write_output(struct text *text, uid_t first, uid_t last)
{
	bool loopback = text->levels;

	static const char *const accepting[] = { "ip daddr . tcp dport @allow4",
		"ip6 daddr . tcp dport @allow6", "ip daddr . tcp dport @range4",
		"ip6 daddr . tcp dport @range6" };

	say(text, "chain cell {");
	for (unsigned i = 0; i < AC_COUNT(accepting); i++)
		rule(text, "meta skuid . %s meta mark set meta mark | 0x%x accept", accepting[i],
			AC_FIREWALL_PASSED);
	if (loopback)
		rule(text, "oif lo tcp flags & (syn | ack) == syn | ack jump answering");
	rule(text, "meta mark set meta skuid map @marks");
	if (loopback)
		rule(text, "oif lo meta mark %u-%u accept", first, last);
	else /* It may well be meant for the session itself: no record. */
		rule(text, "oif lo goto refuse");
	/* The answer to somebody outside who knocks: no act of the agent, so no record. */
	rule(text, "tcp flags & (syn | ack) == syn | ack drop");
	rule(text, "meta skuid @session");
	rule(text, "goto deny");
	say(text, "}\nchain output { type filter hook output priority filter; policy accept;");
	rule(text, "meta skuid %u-%u goto cell", first, last);
	if (loopback)
		rule(text, "oif lo tcp flags & (syn | ack) == syn meta mark 0 jump label");
	say(text, "}");
}

/* The packet is for a socket of the session that sent it.  Each level is one look-up of the socket; an
 * id stands at one level only. */
static void accept_own(struct text *text)
{
	for (const int *level = text->levels; *level; level++)
		rule(text, "meta mark . socket cgroupv2 level %d @own accept", *level);
}

/*
 * A packet on lo with a session's mark.  TCP is judged where it opens; what follows is not looked at.
 * A port where nobody listens may be asked: the kernel says no, and nothing is recorded.
 *
 * An opening packet may meet the remains of an earlier connection (TIME_WAIT), which no longer tell
 * whose they were, and be handed on to whoever listens there now.  So it is let pass and noted, and
 * the answer decides: it must come from the session and be for a socket of the session.
 */
static void write_inside(struct text *text)
{
	static const char opening[] = "ip%s saddr . tcp sport . ip%s daddr . tcp dport";
	static const char answering[] = "ip%s daddr . tcp dport . ip%s saddr . tcp sport";

	say(text, "chain answered {");
	accept_own(text);
	rule(text, "goto refuse");
	say(text, "}\nchain answers {");
	for (int i = 0; i < 2; i++) {
		char key[128];

		snprintf(key, sizeof(key), answering, families[i], families[i]);
		rule(text, "%s @waiting%d delete @waiting%d { %s } goto answered", key, i ? 6 : 4,
			i ? 6 : 4, key);
	}
	say(text, "}\nchain inside {");
	rule(text, "tcp flags & (syn | ack) == syn | ack jump answers");
	rule(text, "tcp flags & (syn | ack) != syn accept");
	accept_own(text);
	rule(text, "socket wildcard { 0, 1 } goto deny");
	for (int i = 0; i < 2; i++) {
		char key[128];

		snprintf(key, sizeof(key), opening, families[i], families[i]);
		rule(text, "socket transparent 0 add @waiting%d { %s } accept", i ? 6 : 4, key);
	}
	rule(text, "socket transparent { 0, 1 } goto refuse");
	rule(text, "meta l4proto { 6, 17, 1, 58 } accept");
	rule(text, "goto deny");
	say(text, "}");
}

/*
 * Somebody else opens a TCP connection on loopback; the label says who.  A server of a session is for its
 * visitors only.  Remains of an earlier connection do not tell whose they were: see write_answering().
 */
static void write_knock(struct text *text)
{
	say(text, "chain pass {");
	rule(text, "meta mark & 0x%x != 0 meta mark set 0", AC_FIREWALL_LABEL_BIT);
	say(text, "}\nchain visit {");
	for (const int *level = text->levels; *level; level++)
		rule(text, "meta mark . socket cgroupv2 level %d @visitors goto pass", *level);
	rule(text, "goto refuse");
	say(text, "}\nchain knock {");
	for (const int *level = text->levels; *level; level++)
		rule(text, "socket cgroupv2 level %d @cells goto visit", *level);
	rule(text, "socket wildcard { 0, 1 } goto pass"); /* there is one, in no session */
	/* An update of an element keeps what it says. */
	rule(text, "socket transparent 0 delete @unsure { tcp sport . tcp dport : meta mark } "
		   "add @unsure { tcp sport . tcp dport : meta mark }");
	rule(text, "goto pass");
	say(text, "}");
}

static void write_loopback_sets(struct text *text)
{
	say(text, "set own { type mark . cgroupsv2; }");
	say(text, "set cells { type cgroupsv2; }");
	say(text, "set visitors { type mark . cgroupsv2; }");
	say(text, "set hosts { typeof meta skuid . meta mark; }");
	for (int i = 0; i < 2; i++)
		fprintf(text->stream,
			"set waiting%d { typeof ip%s saddr . tcp sport . ip%s daddr . tcp dport; "
			"size 65535; flags dynamic,timeout; timeout 10s; }\n",
			i ? 6 : 4, families[i], families[i]);
	/* By ports alone: one pair is in use once, or its last user stands here. */
	say(text, "map unsure { typeof tcp sport . tcp dport : meta mark; size 65535; "
		  "flags dynamic,timeout; timeout 10s; }");
	say(text, "chain label {\n}");
	text->rules++;
}

/* Everybody's packets come by here: what concerns no session is out after one rule from the network,
 * after three on loopback. */
static void write_input(struct text *text, uid_t first, uid_t last)
{
	write_inside(text);
	write_knock(text);
	say(text, "chain opening {");
	rule(text, "tcp flags & ack == ack goto answers");
	rule(text, "goto knock");
	say(text, "}\nchain input { type filter hook input priority filter; policy accept;");
	rule(text, "iif != lo accept");
	rule(text, "meta mark %u-%u goto inside", first, last);
	rule(text, "tcp flags & syn == syn goto opening");
	say(text, "}");
}

char *ac_firewall_rules_dup(uid_t first, uid_t last, const int *levels)
{
	bool loopback = levels;
	ac_autofree char *body = NULL;
	char *table = NULL;
	size_t size;
	struct text text = { .stream = open_memstream(&body, &size), .levels = levels };
	FILE *whole;

	if (!text.stream)
		return NULL;
	write_sets(&text, first, last);
	write_refusal(&text);
	if (loopback) {
		write_loopback_sets(&text);
		write_answering(&text);
	}
	write_output(&text, first, last);
	if (loopback)
		write_input(&text, first, last);
	if (fclose(text.stream) || !(whole = open_memstream(&table, &size)))
		return NULL;
	fprintf(whole,
		"add table inet agentcell\ndelete table inet agentcell\n"
		"table inet agentcell {\ncomment \"agentcell %d %u-%u %u %u\"\n%s}\n",
		AC_FIREWALL_VERSION, first, last, loopback, text.rules, body);
	if (fclose(whole)) {
		free(table);
		return NULL;
	}
	return table;
}

char *ac_guard_rules_dup(uid_t first, uid_t last)
{
	char *text = NULL;

	if (asprintf(&text,
		    "table inet agentcell-guard {\nflags owner\nchain cell {\n"
		    "meta mark & 0x%x != 0 meta mark set meta mark & 0x%x accept\n"
		    "oif lo meta mark %u-%u accept\n"
		    "counter drop\n"
		    "}\nchain output { type filter hook output priority filter + 5; policy "
		    "accept;\n"
		    "meta skuid %u-%u goto cell\n}\n}\n",
		    AC_FIREWALL_PASSED, ~AC_FIREWALL_PASSED, first, last, first, last) < 0)
		return NULL;
	return text;
}

// SPDX-License-Identifier: ISC
/*
 * The table of rules and the elements of one session.
 *
 * Rules look at the uid range first and at positive matches only: a packet without a socket (the
 * kernel's own resets, forwarded ones) matches no `meta skuid` at all and must leave untouched.
 * Sets for single addresses are hashes, so that adding is as fast with 1000 sessions as with one;
 * prefixes have sets of their own, whose every change copies the set.
 */
#include "firewall.h"

#include <errno.h>
#include <nftables/libnftables.h>
#include <stdarg.h>
#include <string.h>

#include "nftables.h"
#include "util.h"

#define VERSION 1
#define RANGE_MAX 65536
#define DEEPEST_CGROUP 8

struct text { /* of rules, and how many they are */
	FILE *stream;
	unsigned rules;
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

static void write_sets(FILE *stream, uid_t first, uid_t last, bool loopback)
{
	fputs("set allow4 { typeof meta skuid . ip daddr . tcp dport; }\n"
	      "set allow6 { typeof meta skuid . ip6 daddr . tcp dport; }\n"
	      "set range4 { typeof meta skuid . ip daddr . tcp dport; flags interval; }\n"
	      "set range6 { typeof meta skuid . ip6 daddr . tcp dport; flags interval; }\n"
	      "set seen4 { typeof meta mark . ip daddr; size 65535; flags dynamic,timeout; "
	      "timeout 1m; }\n"
	      "set seen6 { typeof meta mark . ip6 daddr; size 65535; flags dynamic,timeout; "
	      "timeout 1m; }\n",
		stream);
	if (loopback)
		fputs("set own { type mark . cgroupsv2; }\n", stream);
	/* nft has no `meta mark set meta skuid`: the types differ. */
	fputs("map marks { typeof meta skuid : meta mark; elements = {", stream);
	for (uid_t uid = first; uid <= last; uid++)
		fprintf(stream, "%u:%u,\n", uid, uid);
	fputs("} }\n", stream);
}

static void write_output(struct text *text, uid_t first, uid_t last, bool loopback)
{
	fputs("chain deny {\n", text->stream);
	rule(text, "update @seen4 { meta mark . ip daddr limit rate 10/second burst 20 packets } "
		   "log level audit");
	rule(text, "update @seen6 { meta mark . ip6 daddr limit rate 10/second burst 20 packets } "
		   "log level audit");
	rule(text, "meta l4proto tcp reject with tcp reset");
	rule(text, "reject with icmpx admin-prohibited");
	fputs("}\nchain cell {\n", text->stream);
	rule(text, "meta skuid . ip daddr . tcp dport @allow4 accept");
	rule(text, "meta skuid . ip6 daddr . tcp dport @allow6 accept");
	rule(text, "meta skuid . ip daddr . tcp dport @range4 accept");
	rule(text, "meta skuid . ip6 daddr . tcp dport @range6 accept");
	rule(text, "meta mark set meta skuid map @marks");
	if (loopback)
		rule(text, "oif lo meta mark %u-%u accept", first, last);
	else /* only answers, to a user who came to the cell's listener */
		rule(text, "oif lo tcp flags & (syn | ack) != syn accept");
	/* The answer to somebody outside who knocks: no act of the agent, so no record. */
	rule(text, "tcp flags & (syn | ack) == syn | ack drop");
	rule(text, "goto deny");
	fputs("}\nchain output { type filter hook output priority filter; policy accept;\n",
		text->stream);
	rule(text, "meta skuid %u-%u goto cell", first, last);
	fputs("}\n", text->stream);
}

/* Arrived on lo with a session's mark: an opening packet must be for a socket of that session.  What
 * follows is not looked at: a socket that is still being opened has no cgroup. */
static void write_input(struct text *text, uid_t first, uid_t last)
{
	fputs("chain inside {\n", text->stream);
	rule(text, "tcp flags & (syn | ack) != syn accept");
	for (int level = 2; level <= DEEPEST_CGROUP; level++)
		rule(text, "meta mark . socket cgroupv2 level %d @own accept", level);
	rule(text, "goto deny");
	fputs("}\nchain input { type filter hook input priority filter; policy accept;\n",
		text->stream);
	rule(text, "iif lo meta mark %u-%u goto inside", first, last);
	fputs("}\n", text->stream);
}

/* The whole table as nft's own text: heap, or NULL. */
static char *write_table(uid_t first, uid_t last, bool loopback)
{
	ac_autofree char *body = NULL;
	char *table = NULL;
	size_t size;
	struct text text = { .stream = open_memstream(&body, &size) };
	FILE *whole;

	if (!text.stream)
		return NULL;
	write_sets(text.stream, first, last, loopback);
	write_output(&text, first, last, loopback);
	if (loopback)
		write_input(&text, first, last);
	if (fclose(text.stream) || !(whole = open_memstream(&table, &size)))
		return NULL;
	fprintf(whole,
		"add table inet agentcell\ndelete table inet agentcell\n"
		"table inet agentcell {\ncomment \"agentcell %d %u-%u %u %u\"\n%s}\n",
		VERSION, first, last, loopback, text.rules, body);
	if (fclose(whole)) {
		free(table);
		return NULL;
	}
	return table;
}

static int run(const char *text, struct ac_err *err)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	const char *answer;
	int code = 0;

	if (!nft)
		return ac_fail(err, ENOMEM, "start libnftables");
	nft_ctx_buffer_output(nft);
	nft_ctx_buffer_error(nft);
	if (nft_run_cmd_from_buffer(nft, text)) {
		answer = nft_ctx_get_error_buffer(nft);
		code = ac_fail(err, EPROTO, "change the nft table inet agentcell: %.*s",
			(int)strcspn(answer, "\n"), answer);
	}
	nft_ctx_free(nft);
	return code;
}

struct loaded { /* what the table's comment says */
	unsigned version, first, last, loopback, rules;
};

/* "agentcell <version> <first>-<last> <loopback> <rules>" and nothing else. */
static bool parse_comment(const char *comment, struct loaded *loaded)
{
	unsigned *const numbers[] = { &loaded->version, &loaded->first, &loaded->last,
		&loaded->loopback, &loaded->rules };
	char again[128];
	char *at;

	if (strncmp(comment, "agentcell ", 10) != 0)
		return false;
	at = strchr(comment, ' ');
	for (unsigned i = 0; at && i < AC_COUNT(numbers); i++)
		*numbers[i] = (unsigned)strtoul(*at ? at + 1 : at, &at, 10);
	snprintf(again, sizeof(again), "agentcell %u %u-%u %u %u", loaded->version, loaded->first,
		loaded->last, loaded->loopback, loaded->rules);
	return !strcmp(comment, again);
}

/* 1 when the kernel holds the table, whole; 0; or -errno. */
static int read_loaded(struct loaded *loaded)
{
	char comment[128];
	int code = ac_nftables_comment(comment, sizeof(comment));
	int rules;

	if (code)
		return code == -ENOENT || code == -ESHUTDOWN ? 0 : code;
	if (!parse_comment(comment, loaded) || loaded->version != VERSION)
		return 0;
	rules = ac_nftables_rules();
	return rules < 0 ? rules : (unsigned)rules == loaded->rules;
}

int ac_firewall_is_loaded(void)
{
	struct loaded loaded = { 0 };

	return read_loaded(&loaded);
}

int ac_firewall_has_loopback(void)
{
	struct loaded loaded = { 0 };
	int code = read_loaded(&loaded);

	return code == 1 ? loaded.loopback == 1 : code ? code : -ENOENT;
}

int ac_firewall_load(uid_t first, uid_t last, struct ac_err *err)
{
	struct loaded loaded = { 0 };
	int code = read_loaded(&loaded);

	if (first > last || !first || last - first >= RANGE_MAX)
		return ac_fail(err, EINVAL, "uid_range %u-%u: not a range of at most %d uids",
			first, last, RANGE_MAX);
	if (code == 1 && loaded.first == first && loaded.last == last)
		return 0;
	if (code < 0)
		return ac_fail_errno(err, -code,
			"ask the kernel for its nft table inet agentcell (nf_tables missing, or no "
			"CAP_NET_ADMIN)");
	for (int loopback = 1; loopback >= 0; loopback--) {
		ac_autofree char *text = write_table(first, last, loopback);

		if (!text)
			return ac_fail(err, ENOMEM, "write the nft table");
		code = run(text, err);
		if (!code)
			break;
	}
	if (code)
		return code;
	if (read_loaded(&loaded) != 1 || loaded.first != first || loaded.last != last)
		return ac_fail(err, EPROTO,
			"the nft table inet agentcell was loaded, but the kernel "
			"does not hold it whole: another program changes nft tables");
	return 0;
}

int ac_firewall_unload(struct ac_err *err)
{
	return run("add table inet agentcell\ndelete table inet agentcell\n", err);
}

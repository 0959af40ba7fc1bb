// SPDX-License-Identifier: ISC
/*
 * Loading the table of rules, and seeing whether the kernel still holds it whole: its comment tells
 * version, range and the number of rules.
 */
#include "firewall.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "firewall_rules.h"
#include "nft.h"
#include "nftables.h"
#include "util.h"

#define RANGE_MAX 65536

/* Nothing but the expression that tells whose a socket is (Linux 5.13, nft 1.0), and gone at once. */
static const char socket_probe[] = "table inet agentcell-probe {\nset ids { type cgroupsv2; }\n"
				   "chain probe { socket cgroupv2 level 2 @ids accept; }\n}\n"
				   "delete table inet agentcell-probe\n";

static int run_nft(const char *text, struct ac_err *err)
{
	struct ac_nft *nft = NULL;
	int code = ac_nft_open(&nft, err);

	if (!code)
		code = ac_nft_run(nft, text, err);
	ac_nft_close(nft);
	return code ? ac_fail_within(err, "change the nft table inet agentcell") : 0;
}

/* libnftables ends a process (exit(111)) whose real uid is not its effective one, as sudo's is. */
static int run(const char *text, struct ac_err *err)
{
	uid_t real = getuid();
	int code;

	if (setresuid(geteuid(), (uid_t)-1, (uid_t)-1))
		return ac_fail_errno(err, errno, "become root for libnftables");
	code = run_nft(text, err);
	if (setresuid(real, (uid_t)-1, (uid_t)-1))
		abort(); /* sudo must not go on as somebody else than it was */
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
	if (!parse_comment(comment, loaded) || loaded->version != AC_FIREWALL_VERSION)
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

static int add_label(struct ac_err *err)
{
	int code = ac_nftables_add_label("label", ~0u, AC_FIREWALL_LABEL_BIT);

	return code ? ac_fail_errno(err, -code, "label who opens connections on loopback") : 0;
}

static int load(uid_t first, uid_t last, const int *levels, struct ac_err *err)
{
	ac_autofree char *text = ac_firewall_rules_dup(first, last, levels);
	int code = text ? run(text, err) : ac_fail(err, ENOMEM, "write the nft table");

	return !code && levels ? add_label(err) : code;
}

/*
 * Without loopback only where the kernel cannot tell whose socket it is; whatever else is wrong is not
 * made less by having fewer rules.
 */
static int load_best(uid_t first, uid_t last, struct ac_err *err)
{
	int levels[AC_CGROUP_LEVELS_MAX + 1];
	struct ac_err why;
	int code;

	ac_cgroup_levels(levels);
	code = load(first, last, levels, err);
	if (code && run(socket_probe, &why))
		code = load(first, last, NULL, err);
	return code;
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
	code = load_best(first, last, err);
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

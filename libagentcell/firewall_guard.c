// SPDX-License-Identifier: ISC
/*
 * The table of the guard.  It is owned by the netlink socket that made it, so that socket, and with it the
 * context of libnftables, stays open for as long as the guard stands.
 */
#include <errno.h>

#include "firewall.h"
#include "firewall_rules.h"
#include "nft.h"
#include "util.h"

struct ac_guard {
	struct ac_nft *nft;
};

int ac_guard_open(uid_t first, uid_t last, struct ac_guard **guard, struct ac_err *err)
{
	ac_autofree char *text = ac_guard_rules_dup(first, last);
	struct ac_guard *made = calloc(1, sizeof(*made));
	int code;

	if (!text || !made) {
		ac_guard_close(made);
		return ac_fail(err, ENOMEM, "make the firewall's guard");
	}
	code = ac_nft_open(&made->nft, err);
	if (!code)
		code = ac_nft_run(made->nft, text, err);
	if (code) {
		ac_guard_close(made);
		return ac_fail_within(err, "make the nft table inet agentcell-guard");
	}
	*guard = made;
	return 0;
}

void ac_guard_close(struct ac_guard *guard)
{
	if (guard)
		ac_nft_close(guard->nft);
	free(guard);
}

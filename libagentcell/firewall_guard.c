// SPDX-License-Identifier: ISC
/*
 * The table of the guard.  It is owned by the netlink socket that made it, so that socket, and with it the
 * context of libnftables, stays open for as long as the guard stands.
 */
#include <errno.h>
#include <nftables/libnftables.h>
#include <string.h>

#include "firewall.h"
#include "firewall_rules.h"
#include "util.h"

struct ac_guard {
	struct nft_ctx *nft;
};

static int load(struct ac_guard *guard, const char *text, struct ac_err *err)
{
	const char *answer;

	nft_ctx_buffer_output(guard->nft);
	nft_ctx_buffer_error(guard->nft);
	if (!nft_run_cmd_from_buffer(guard->nft, text))
		return 0;
	answer = nft_ctx_get_error_buffer(guard->nft);
	return ac_fail(err, EOPNOTSUPP, "make the nft table inet agentcell-guard: %.*s",
		(int)strcspn(answer, "\n"), answer);
}

int ac_guard_open(uid_t first, uid_t last, struct ac_guard **guard, struct ac_err *err)
{
	ac_autofree char *text = ac_guard_rules_dup(first, last);
	struct ac_guard *made = calloc(1, sizeof(*made));
	int code;

	if (made)
		made->nft = nft_ctx_new(NFT_CTX_DEFAULT);
	if (!text || !made || !made->nft) {
		ac_guard_close(made);
		return ac_fail(err, ENOMEM, "make the firewall's guard");
	}
	code = load(made, text, err);
	if (code) {
		ac_guard_close(made);
		return code;
	}
	*guard = made;
	return 0;
}

void ac_guard_close(struct ac_guard *guard)
{
	if (guard && guard->nft)
		nft_ctx_free(guard->nft);
	free(guard);
}

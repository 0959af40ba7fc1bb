/* SPDX-License-Identifier: ISC */
/*
 * The library stays loaded once it is: it hands the addresses of its allocators to libgmp, which others
 * in the same process (another PAM module's TLS) may go on using.
 */
#include "nft.h"

#include <dlfcn.h>
#include <errno.h>
#include <nftables/libnftables.h>
#include <string.h>

#include "util.h"

#define LIBRARY "libnftables.so.1"

struct ac_nft {
	struct nft_ctx *context;
	__typeof__(&nft_ctx_new) new;
	__typeof__(&nft_ctx_free) free;
	__typeof__(&nft_ctx_buffer_output) buffer_output;
	__typeof__(&nft_ctx_buffer_error) buffer_error;
	__typeof__(&nft_ctx_get_error_buffer) get_error_buffer;
	__typeof__(&nft_run_cmd_from_buffer) run_cmd_from_buffer;
};

static int load(struct ac_nft *nft, struct ac_err *err)
{
	const struct {
		const char *name;
		void *place;
	} symbols[] = {
		{ "nft_ctx_new", &nft->new },
		{ "nft_ctx_free", &nft->free },
		{ "nft_ctx_buffer_output", &nft->buffer_output },
		{ "nft_ctx_buffer_error", &nft->buffer_error },
		{ "nft_ctx_get_error_buffer", &nft->get_error_buffer },
		{ "nft_run_cmd_from_buffer", &nft->run_cmd_from_buffer },
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!library) {
		(void)ac_fail(
			err, ELIBACC, "load nft's library (package libnftables1): %s", dlerror());
		return -ELIBACC;
	}
	for (unsigned i = 0; i < AC_COUNT(symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol) {
			(void)ac_fail(err, ELIBBAD, "%s lacks %s: install it again", LIBRARY,
				symbols[i].name);
			return -ELIBBAD;
		}
		memcpy(symbols[i].place, &symbol, sizeof(symbol)); /* POSIX: functions too */
	}
	return 0;
}

int ac_nft_open(struct ac_nft **nft, struct ac_err *err)
{
	ac_autofree struct ac_nft *made = calloc(1, sizeof(*made));
	int code;

	if (!made)
		return ac_fail_errno(err, ENOMEM, "start libnftables");
	code = load(made, err);
	if (code)
		return code;
	made->context = made->new (NFT_CTX_DEFAULT);
	if (!made->context)
		return ac_fail(err, ENOMEM, "start libnftables");
	made->buffer_output(made->context);
	made->buffer_error(made->context);
	*nft = AC_TAKE(made);
	return 0;
}

int ac_nft_run(struct ac_nft *nft, const char *text, struct ac_err *err)
{
	const char *answer;

	if (!nft->run_cmd_from_buffer(nft->context, text))
		return 0;
	answer = nft->get_error_buffer(nft->context);
	return ac_fail(err, EPROTO, "nft refused it: %.*s", (int)strcspn(answer, "\n"), answer);
}

void ac_nft_close(struct ac_nft *nft)
{
	if (nft)
		nft->free(nft->context);
	free(nft);
}

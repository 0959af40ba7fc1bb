// SPDX-License-Identifier: ISC
/*
 * TTLs.  getaddrinfo does not tell them, so DNS is asked again: for the time alone, never for the
 * addresses, since which of /etc/hosts, DNS and others counts is NSS's to say.
 */
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

#include "lookup.h"
#include "util.h"

#define ANSWER_MAX 4096
#define WAIT_S 2 /* for one server, once */

uint32_t ac_lookup_least_ttl(const unsigned char *message, size_t length)
{
	uint32_t least = 0;
	ns_msg handle;
	ns_rr record;

	if (length > ANSWER_MAX || ns_initparse(message, (int)length, &handle))
		return 0;
	for (int i = 0; i < ns_msg_count(handle, ns_s_an); i++) {
		uint32_t ttl;

		if (ns_parserr(&handle, ns_s_an, i, &record))
			return 0;
		if (ns_rr_type(record) != ns_t_a && ns_rr_type(record) != ns_t_aaaa &&
			ns_rr_type(record) != ns_t_cname)
			continue;
		ttl = ns_rr_ttl(record) ? ns_rr_ttl(record) : 1;
		if (!least || ttl < least)
			least = ttl;
	}
	return least;
}

uint32_t ac_lookup_ttl(const char *host)
{
	static const int types[] = { ns_t_a, ns_t_aaaa };
	unsigned char answer[ANSWER_MAX];
	struct __res_state state = { 0 };
	uint32_t least = 0;

	if (res_ninit(&state))
		return 0;
	state.retrans = WAIT_S;
	state.retry = 1;
	for (size_t i = 0; i < AC_COUNT(types); i++) {
		int length = res_nquery(&state, host, ns_c_in, types[i], answer, sizeof(answer));
		uint32_t ttl = length > 0 && (size_t)length <= sizeof(answer)
				       ? ac_lookup_least_ttl(answer, (size_t)length)
				       : 0;

		if (ttl && (!least || ttl < least))
			least = ttl;
	}
	res_nclose(&state);
	return least;
}

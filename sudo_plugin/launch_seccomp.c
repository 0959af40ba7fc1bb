// SPDX-License-Identifier: ISC
/*
 * Loads the filters that gen_seccomp.c made: the quiet one, then the one that is heard, which is smaller
 * for harnesses that may build sandboxes of their own.
 */
#include "launch_confine.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp_filter.h"
#include "util.h"

/* The kernel wants the code writable. */
static int load(const struct sock_filter *filter, size_t count, unsigned flags, struct ac_err *err)
{
	struct sock_filter code[AC_COUNT(filter_normal) + AC_COUNT(filter_quiet)];
	struct sock_fprog program = { .len = (unsigned short)count, .filter = code };

	memcpy(code, filter, count * sizeof(*filter));
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | flags,
		    &program))
		return ac_fail_errno(err, errno, "load the seccomp filter");
	return 0;
}

int launch_confine_calls(const struct ac_cell *cell, struct ac_err *err)
{
	int code = load(filter_quiet, AC_COUNT(filter_quiet), 0, err);

	_Static_assert(AC_COUNT(filter_nested) <= AC_COUNT(filter_normal), "the larger one");
	if (code)
		return code;
	/* Of two filters that refuse, the one that was loaded last decides whether it is recorded. */
	if (cell->nested_sandbox)
		return load(filter_nested, AC_COUNT(filter_nested), SECCOMP_FILTER_FLAG_LOG, err);
	return load(filter_normal, AC_COUNT(filter_normal), SECCOMP_FILTER_FLAG_LOG, err);
}

// SPDX-License-Identifier: ISC
/*
 * Loads one of the two filters that gen_seccomp.c made: for every session, or (smaller) for those
 * whose harness may build sandboxes of its own.
 */
#include "launch_confine.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp_filter.h"
#include "util.h"

int launch_confine_calls(const struct ac_cell *cell, struct ac_err *err)
{
	struct sock_filter code[AC_COUNT(filter_normal)]; /* the kernel wants it writable */
	struct sock_fprog program = { .filter = code };
	const struct sock_filter *filter = cell->nested_sandbox ? filter_nested : filter_normal;

	_Static_assert(AC_COUNT(filter_nested) <= AC_COUNT(filter_normal), "the larger one");
	program.len = cell->nested_sandbox ? AC_COUNT(filter_nested) : AC_COUNT(filter_normal);
	for (unsigned i = 0; i < program.len; i++)
		code[i] = filter[i];
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return ac_fail_errno(err, errno, "load the seccomp filter");
	return 0;
}

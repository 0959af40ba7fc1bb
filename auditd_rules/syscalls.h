/* SPDX-License-Identifier: ISC */
/*
 * What the judge needs to know of each system call that the rules record.
 */
#ifndef AC_SYSCALLS_H
#define AC_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

enum ac_call_kind {
	AC_CALL_OTHER,
	AC_CALL_OPEN, /* opens, truncates */
	AC_CALL_CHANGE, /* makes, removes, renames, changes what a name stands for */
	AC_CALL_EXEC,
	AC_CALL_ADDRESS, /* connect, send*, bind: judged by SOCKADDR */
	AC_CALL_SOCKET,
	AC_CALL_PTRACE, /* acts on another process */
	AC_CALL_NAMESPACE,
	AC_CALL_IDENTITY, /* set*uid and friends */
	AC_CALL_SURFACE, /* parts of the kernel that no honest session needs */
	AC_CALL_PEEK, /* dmesg, quotas: people try them; refused, that is all */
	AC_CALL_HANDLE, /* name_to_handle_at, io_uring_setup: harmless unless they succeed */
	AC_CALL_MODE, /* chmod: recorded for set-id bits */
	AC_CALL_TERMINAL, /* ioctl: only ever refused by the launcher's filter, for TIOCSTI */
};

struct ac_call {
	int number;
	enum ac_call_kind kind;
	const char *name;
	/* Which argument is the directory descriptor, which the open flags; -1: none. */
	signed char directory, flags;
	bool writes; /* always changes what it names */
	bool follows; /* CHANGE: a symlink at the end of its name, unless it is told not to */
	bool pair; /* two names, the second one's descriptor is two arguments behind the first's */
};

/* Of the machine's own (64-bit) interface; never NULL. */
const struct ac_call *ac_call_find(int number);

/* The machine's own AUDIT_ARCH_* value. */
uint32_t ac_call_native_arch(void);

#endif

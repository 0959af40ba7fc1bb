/* SPDX-License-Identifier: ISC */
/*
 * The listener reads what hostile processes cause the kernel to write, as root.  It needs a good part
 * of root's power (it kills, unloads firewalls, becomes users), but never another program: execve is
 * gone for good, and with it every way on that begins with a shell.
 */
#include "confine.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "util.h"

/* Each with its use. */
static const cap_value_t kept[] = {
	CAP_AUDIT_CONTROL, /* state and rules */
	CAP_AUDIT_READ, /* the stream */
	CAP_AUDIT_WRITE, /* our own records */
	CAP_NET_ADMIN, /* nft, and the stream's buffer */
	CAP_SYS_ADMIN, /* the network namespace of a session; IPC objects of its uid */
	CAP_SYS_CHROOT, /* setns() to the mounts of a session's own resolv.conf */
	CAP_SYS_PTRACE, /* where a frozen process's name leads */
	CAP_KILL, /* strays */
	CAP_SETUID, /* the backup's child becomes the user, the canary the session */
	CAP_SETGID, CAP_CHOWN, /* the log's group, a user's backups */
	CAP_FOWNER, CAP_DAC_OVERRIDE, /* what a session left, whatever its modes */
	CAP_FSETID, /* a shared directory stays setgid when an ACL is taken back */
	CAP_DAC_READ_SEARCH, CAP_SYS_NICE, /* real-time priority */
	CAP_IPC_LOCK, /* memory that is never paged out */
};

static const char *const refused[] = {
	"execve",
	"execveat",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"move_mount",
	"fsopen",
	"fsmount",
	"open_tree",
	"mount_setattr",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"swapon",
	"swapoff",
	"add_key",
	"request_key",
	"keyctl",
	"personality",
	"acct",
	"settimeofday",
	"clock_settime",
	"iopl",
	"ioperm",
	"open_by_handle_at",
};

static int keep_capabilities(struct ac_err *err)
{
	cap_t wanted = cap_init(), held = cap_get_proc();
	int rc = wanted && held ? 0 : -ENOMEM;

	/* What was not given (a container, a unit's bounding set) can't be kept. */
	for (unsigned i = 0; !rc && i < AC_COUNT(kept); i++) {
		cap_flag_value_t has = CAP_CLEAR;

		if (cap_get_flag(held, kept[i], CAP_PERMITTED, &has) ||
			(has == CAP_SET &&
				(cap_set_flag(wanted, CAP_PERMITTED, 1, &kept[i], CAP_SET) ||
					cap_set_flag(wanted, CAP_EFFECTIVE, 1, &kept[i], CAP_SET))))
			rc = -errno;
	}
	if (!rc && cap_set_proc(wanted))
		rc = -errno;
	if (wanted)
		cap_free(wanted);
	if (held)
		cap_free(held);
	return rc ? ac_fail_errno(err, -rc, "drop capabilities") : 0;
}

static int refuse_calls(struct ac_err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = filter ? 0 : -ENOMEM;

	for (unsigned i = 0; !rc && i < AC_COUNT(refused); i++) {
		int number = seccomp_syscall_resolve_name(refused[i]);

		if (number != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
	}
	if (!rc)
		rc = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return rc ? ac_fail_errno(err, -rc, "refuse system calls") : 0;
}

int ac_confine(struct ac_err *err)
{
	int rc;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return ac_fail_errno(err, errno, "set no_new_privs");
	rc = keep_capabilities(err);
	return rc ? rc : refuse_calls(err);
}

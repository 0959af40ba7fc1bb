/* SPDX-License-Identifier: ISC */
/*
 * The table of system calls, as far as 40-agentcell.rules and the launcher's filter know them.
 * Numbers come from the headers of the machine that this is built on and for.
 */
#include "syscalls.h"

#include <linux/audit.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "util.h"

/* Kind, name, directory, flags, writes, follows, pair. */
#define CALL(name, kind) \
	{ \
		SYS_##name, AC_CALL_##kind, #name, -1, -1, false, false, false \
	}
#define WRITES(name, directory) \
	{ \
		SYS_##name, AC_CALL_CHANGE, #name, directory, -1, true, false, false \
	}
#define WRITES_TO(name, directory) \
	{ \
		SYS_##name, AC_CALL_CHANGE, #name, directory, -1, true, true, false \
	}
#define MOVES(name, follows) \
	{ \
		SYS_##name, AC_CALL_CHANGE, #name, 0, -1, true, follows, true \
	}
#define OPENS(name, directory, flags) \
	{ \
		SYS_##name, AC_CALL_OPEN, #name, directory, flags, false, true, false \
	}

/* Since Linux 5.14..6.15; old headers lack them. */
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static const struct ac_call calls[] = {
#ifdef SYS_open
	OPENS(open, -1, 1),
	{ SYS_creat, AC_CALL_OPEN, "creat", -1, -1, true, true, false },
	WRITES(unlink, -1),
	WRITES(rename, -1),
	WRITES(link, -1),
	WRITES(symlink, -1),
	WRITES(mkdir, -1),
	WRITES(rmdir, -1),
	WRITES(mknod, -1),
	WRITES_TO(chown, -1),
	WRITES(lchown, -1),
	CALL(chmod, MODE),
#endif
	OPENS(openat, 0, 2),
	OPENS(openat2, 0, -1), /* its flags are in memory, out of reach */
	{ SYS_truncate, AC_CALL_OPEN, "truncate", -1, -1, true, true, false },
	WRITES(unlinkat, 0),
#ifdef SYS_renameat
	MOVES(renameat, false),
#endif
	MOVES(renameat2, false),
	MOVES(linkat, true),
	WRITES(symlinkat, 1),
	WRITES(mkdirat, 0),
	WRITES(mknodat, 0),
	WRITES_TO(fchownat, 0),
	WRITES_TO(setxattr, -1),
	WRITES(lsetxattr, -1),
	WRITES_TO(removexattr, -1),
	WRITES(lremovexattr, -1),
	CALL(fchmod, MODE),
	{ SYS_fchmodat, AC_CALL_MODE, "fchmodat", 0, -1, true, true, false },
	{ SYS_fchmodat2, AC_CALL_MODE, "fchmodat2", 0, -1, true, true, false },
	CALL(execve, EXEC),
	{ SYS_execveat, AC_CALL_EXEC, "execveat", 0, -1, false, true, false },
	CALL(connect, ADDRESS),
	CALL(sendto, ADDRESS),
	CALL(sendmsg, ADDRESS),
	CALL(sendmmsg, ADDRESS),
	CALL(bind, ADDRESS),
	CALL(socket, SOCKET),
	CALL(ptrace, PTRACE),
	CALL(process_vm_readv, PTRACE),
	CALL(process_vm_writev, PTRACE),
	CALL(pidfd_getfd, PTRACE),
	CALL(kcmp, PEEK),
	CALL(mount, NAMESPACE),
	CALL(umount2, NAMESPACE),
	CALL(pivot_root, NAMESPACE),
	CALL(chroot, NAMESPACE),
	CALL(move_mount, NAMESPACE),
	CALL(open_tree, NAMESPACE),
	CALL(fsopen, NAMESPACE),
	CALL(fspick, NAMESPACE),
	CALL(fsconfig, NAMESPACE),
	CALL(fsmount, NAMESPACE),
	CALL(mount_setattr, NAMESPACE),
	CALL(setns, NAMESPACE),
	CALL(unshare, NAMESPACE),
	CALL(clone, NAMESPACE),
	CALL(clone3, NAMESPACE),
	CALL(setuid, IDENTITY),
	CALL(setgid, IDENTITY),
	CALL(setreuid, IDENTITY),
	CALL(setregid, IDENTITY),
	CALL(setresuid, IDENTITY),
	CALL(setresgid, IDENTITY),
	CALL(setfsuid, IDENTITY),
	CALL(setfsgid, IDENTITY),
	CALL(setgroups, IDENTITY),
	CALL(capset, IDENTITY),
	CALL(bpf, SURFACE),
	CALL(perf_event_open, SURFACE),
	CALL(userfaultfd, SURFACE),
	CALL(add_key, SURFACE),
	CALL(request_key, SURFACE),
	CALL(keyctl, SURFACE),
	CALL(init_module, SURFACE),
	CALL(finit_module, SURFACE),
	CALL(delete_module, SURFACE),
	CALL(kexec_load, SURFACE),
#ifdef SYS_kexec_file_load
	CALL(kexec_file_load, SURFACE),
#endif
	CALL(open_by_handle_at, SURFACE),
	CALL(reboot, SURFACE),
	CALL(swapon, SURFACE),
	CALL(swapoff, SURFACE),
	CALL(quotactl, PEEK),
	CALL(quotactl_fd, PEEK),
	CALL(fanotify_init, SURFACE),
	CALL(acct, SURFACE),
	CALL(settimeofday, SURFACE),
	CALL(clock_settime, SURFACE),
	CALL(sethostname, SURFACE),
	CALL(setdomainname, SURFACE),
	CALL(syslog, PEEK),
#ifdef SYS_iopl
	CALL(iopl, SURFACE),
	CALL(ioperm, SURFACE),
#endif
	CALL(name_to_handle_at, HANDLE),
	CALL(io_uring_setup, HANDLE),
	CALL(io_uring_enter, HANDLE),
	CALL(io_uring_register, HANDLE),
	CALL(ioctl, TERMINAL),
};

const struct ac_call *ac_call_find(int number)
{
	static const struct ac_call other = { -1, AC_CALL_OTHER, "system call", -1, -1, false,
		false, false };

	for (unsigned i = 0; i < AC_COUNT(calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return &other;
}

uint32_t ac_call_native_arch(void)
{
#if defined(__x86_64__)
	return AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
	return AUDIT_ARCH_AARCH64;
#else
#error "this machine's AUDIT_ARCH is not known here yet"
#endif
}

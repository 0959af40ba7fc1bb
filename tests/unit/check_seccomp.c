// SPDX-License-Identifier: ISC
/*
 * The seccomp filters as they ship, run by an interpreter: every call, every mode, every family.
 * What the kernel does with them is shown in tests/cell.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "seccomp_filter.h"

#define ALLOWED 0
#define KILLED (-1)

static const struct filter {
	const struct sock_filter *code;
	size_t length;
} normal = { filter_normal, sizeof(filter_normal) / sizeof(filter_normal[0]) },
  nested = { filter_nested, sizeof(filter_nested) / sizeof(filter_nested[0]) },
  quiet = { filter_quiet, sizeof(filter_quiet) / sizeof(filter_quiet[0]) };

/* Check notes every assertion that holds, which takes longer than what is tested. */
#define MUST(condition) \
	do { \
		if (!(condition)) \
			ck_abort_msg("%s", #condition); \
	} while (0)

/* The few instructions that libseccomp writes.  Returns the error number, or ALLOWED. */
static int run(const struct filter *filter, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0;; at++) {
		struct sock_filter now;
		bool jump;

		MUST(at < filter->length);
		now = filter->code[at];
		switch (now.code) {
		case BPF_LD | BPF_W | BPF_ABS:
			MUST(now.k <= sizeof(*data) - sizeof(a));
			memcpy(&a, (const char *)data + now.k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= now.k;
			continue;
		case BPF_JMP | BPF_JA:
			at += now.k;
			continue;
		case BPF_RET | BPF_K:
			if (now.k == SECCOMP_RET_ALLOW)
				return ALLOWED;
			if (now.k == SECCOMP_RET_KILL_PROCESS)
				return KILLED;
			MUST((now.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO);
			return (int)(now.k & SECCOMP_RET_DATA);
		case BPF_JMP | BPF_JEQ | BPF_K:
			jump = a == now.k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			jump = a > now.k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			jump = a >= now.k;
			break;
		default:
			ck_abort_msg("unknown instruction %x", now.code);
			return -1;
		}
		at += jump ? now.jt : now.jf;
	}
}

static int call(const struct filter *filter, long number, uint64_t a0, uint64_t a1, uint64_t a2,
	uint64_t a3)
{
	struct seccomp_data data = {
		.nr = (int)number, .arch = seccomp_arch_native(), .args = { a0, a1, a2, a3 }
	};

	int heard = run(filter, &data);

	/* As the kernel does with two filters: both run, a refusal wins, the later one's of two. */
	return heard == ALLOWED ? run(&quiet, &data) : heard;
}

/* No honest program's fallback may fill the records: what is refused with ENOSYS is refused by the
 * quiet filter alone, everything else by the one that is heard. */
START_TEST(test_one_filter_refuses)
{
	static const int words[] = { SYS_clone3, SYS_io_uring_setup, SYS_openat2, 5000, SYS_bpf,
		SYS_perf_event_open, SYS_kcmp };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct seccomp_data data = { .nr = words[i], .arch = seccomp_arch_native() };
		int heard = run(&normal, &data), silent = run(&quiet, &data);

		MUST((heard == ALLOWED) != (silent == ALLOWED));
		MUST(heard != ENOSYS);
		MUST(silent == ALLOWED || silent == ENOSYS);
	}
}
END_TEST

START_TEST(test_new_calls_are_missing)
{
	for (unsigned number = 470; number < 100000; number++) {
		MUST(call(&normal, number, 0, 0, 0, 0) == ENOSYS);
		MUST(call(&nested, number, 0, 0, 0, 0) == ENOSYS);
	}
	MUST(call(&normal, 0x40000000 + SYS_read, 0, 0, 0, 0) == ENOSYS);
	MUST(call(&normal, -1, 0, 0, 0, 0) == ENOSYS);
}
END_TEST

START_TEST(test_other_architectures)
{
	struct seccomp_data data = { .nr = 20, .arch = AUDIT_ARCH_I386 };

	MUST(run(&normal, &data) == ENOSYS);
	data.arch = AUDIT_ARCH_ARM;
	MUST(run(&nested, &data) == ENOSYS);
}
END_TEST

struct expected {
	long number;
	int normal, nested;
};

static const struct expected whole[] = {
	{ SYS_io_uring_setup, ENOSYS, ENOSYS },
	{ SYS_io_uring_enter, ENOSYS, ENOSYS },
	{ SYS_io_uring_register, ENOSYS, ENOSYS },
	{ SYS_openat2, ENOSYS, ENOSYS },
	{ SYS_clone3, ENOSYS, ENOSYS },
	{ SYS_add_key, ENOSYS, ENOSYS },
	{ SYS_keyctl, ENOSYS, ENOSYS },
	{ SYS_request_key, ENOSYS, ENOSYS },
	{ SYS_userfaultfd, ENOSYS, ENOSYS },
	{ SYS_bpf, EPERM, EPERM },
	{ SYS_perf_event_open, EPERM, EPERM },
	{ SYS_kexec_load, EPERM, EPERM },
	{ SYS_init_module, EPERM, EPERM },
	{ SYS_finit_module, EPERM, EPERM },
	{ SYS_delete_module, EPERM, EPERM },
	{ SYS_syslog, EPERM, EPERM },
	{ SYS_acct, EPERM, EPERM },
	{ SYS_reboot, EPERM, EPERM },
	{ SYS_swapon, EPERM, EPERM },
	{ SYS_swapoff, EPERM, EPERM },
	{ SYS_quotactl, EPERM, EPERM },
	{ 443, EPERM, EPERM },
	{ SYS_settimeofday, EPERM, EPERM },
	{ SYS_clock_settime, EPERM, EPERM },
	{ SYS_kcmp, EPERM, EPERM },
	{ SYS_open_by_handle_at, EPERM, EPERM },
	{ 438, EPERM, EPERM },
	{ SYS_fanotify_init, EPERM, EPERM },
	{ 428, EPERM, EPERM },
	{ 429, EPERM, EPERM },
	{ 430, EPERM, EPERM },
	{ 431, EPERM, EPERM },
	{ 432, EPERM, EPERM },
	{ 433, EPERM, EPERM },
	{ 442, EPERM, EPERM },
	{ 467, EPERM, EPERM },
	/* what a sandbox of the harness's own needs */
	{ SYS_mount, EPERM, ALLOWED },
	{ SYS_umount2, EPERM, ALLOWED },
	{ SYS_pivot_root, EPERM, ALLOWED },
	{ SYS_chroot, EPERM, ALLOWED },
	{ SYS_setns, EPERM, ALLOWED },
	{ SYS_sethostname, EPERM, ALLOWED },
	/* what developers' tools need */
	{ SYS_ptrace, ALLOWED, ALLOWED },
	{ SYS_seccomp, ALLOWED, ALLOWED },
	{ 444, ALLOWED, ALLOWED },
	{ 445, ALLOWED, ALLOWED },
	{ 446, ALLOWED, ALLOWED },
	{ SYS_inotify_init1, ALLOWED, ALLOWED },
	{ SYS_memfd_create, ALLOWED, ALLOWED },
	{ SYS_execve, ALLOWED, ALLOWED },
	{ SYS_kill, ALLOWED, ALLOWED },
	{ SYS_personality, ALLOWED, ALLOWED },
	{ SYS_process_vm_readv, ALLOWED, ALLOWED },
};

START_TEST(test_whole_calls)
{
	const uint64_t most = UINT64_MAX;

	MUST(call(&normal, whole[_i].number, 0, 0, 0, 0) == whole[_i].normal);
	MUST(call(&nested, whole[_i].number, 0, 0, 0, 0) == whole[_i].nested);
	MUST(call(&normal, whole[_i].number, most, most, most, most) == whole[_i].normal);
	MUST(call(&nested, whole[_i].number, most, most, most, most) == whole[_i].nested);
}
END_TEST

static const uint64_t high[] = { 0, UINT64_C(1) << 32, UINT64_C(0xffffffff) << 32 };

/* Every mode, with every upper half: refused exactly when it makes a program somebody else. */
START_TEST(test_modes)
{
	for (unsigned h = 0; h < 3; h++)
		for (unsigned mode = 0; mode < 010000; mode++) {
			int wanted = mode & 06000 ? EPERM : ALLOWED;
			uint64_t bits = high[h] | mode;

			MUST(call(&normal, SYS_fchmod, 5, bits, 0, 0) == wanted);
			MUST(call(&normal, SYS_fchmodat, 5, 0, bits, 0) == wanted);
			MUST(call(&nested, 452, 5, 0, bits, 0) == wanted);
			MUST(call(&normal, SYS_mknodat, 5, 0, bits, 0) == wanted);
			MUST(call(&normal, SYS_openat, 5, 0, O_CREAT | O_WRONLY, bits) == wanted);
			MUST(call(&nested, SYS_openat, 5, 0, O_TMPFILE | O_RDWR, bits) == wanted);
			MUST(call(&normal, SYS_openat, 5, 0, O_RDWR | O_DIRECTORY, bits) ==
				ALLOWED);
#ifdef __x86_64__
			MUST(call(&normal, SYS_chmod, 0, bits, 0, 0) == wanted);
			MUST(call(&normal, SYS_creat, 0, bits, 0, 0) == wanted);
			MUST(call(&normal, SYS_mknod, 0, bits, 0, 0) == wanted);
			MUST(call(&normal, SYS_open, 0, O_CREAT, bits, 0) == wanted);
			MUST(call(&normal, SYS_open, 0, O_RDWR, bits, 0) == ALLOWED);
#endif
		}
}
END_TEST

/* tar, cp -p and rsync -a restore the set-group-id bit on directories of a shared project: refused, and
 * nobody is told.  The set-user-id bit is told in any company. */
START_TEST(test_group_bit_is_quiet)
{
	static const struct filter *const heard[] = { &normal, &nested };

	for (unsigned h = 0; h < 3; h++)
		for (unsigned mode = 0; mode < 010000; mode++) {
			uint64_t bits = high[h] | mode;
			struct seccomp_data chmods = {
				.nr = SYS_fchmod, .arch = seccomp_arch_native(), .args = { 5, bits }
			};
			struct seccomp_data makes = { .nr = SYS_openat,
				.arch = seccomp_arch_native(),
				.args = { 5, 0, O_CREAT | O_WRONLY, bits } };
			int told = mode & S_ISUID ? EPERM : ALLOWED;
			int untold = (mode & 06000) == S_ISGID ? EPERM : ALLOWED;

			for (unsigned i = 0; i < 2; i++) {
				MUST(run(heard[i], &chmods) == told);
				MUST(run(heard[i], &makes) == told);
			}
			MUST(run(&quiet, &chmods) == untold);
			MUST(run(&quiet, &makes) == untold);
		}
}
END_TEST

/* As the kernel sees it: the lower half.  No upper half may turn a refusal into leave. */
START_TEST(test_families)
{
	for (unsigned h = 0; h < 3; h++)
		for (uint64_t family = 0; family < 300; family++) {
			bool fine = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
				    family == AF_NETLINK;
			bool past = family == AF_PACKET || family == AF_KEY || family == AF_VSOCK ||
				    family == AF_XDP;
			int got = call(&normal, SYS_socket, high[h] | family, SOCK_DGRAM, 0, 0);

			MUST(got == (h             ? EAFNOSUPPORT
					    : fine ? ALLOWED
					    : past ? KILLED
						   : EAFNOSUPPORT));
			MUST(call(&nested, SYS_socket, high[h] | family, SOCK_DGRAM, 0, 0) == got);
			MUST(call(&normal, SYS_socketpair, high[h] | family, SOCK_STREAM, 0, 0) ==
				((family == AF_UNIX && !h ? ALLOWED : EAFNOSUPPORT)));
		}
}
END_TEST

START_TEST(test_types_and_protocols)
{
	static const uint64_t families[] = { AF_INET, AF_INET6 };

	for (unsigned f = 0; f < 2; f++)
		for (uint64_t type = 0; type < 16; type++)
			for (uint64_t protocol = 0; protocol < 300; protocol++) {
				int got = call(&normal, SYS_socket, families[f],
					type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol, 0);
				bool type_fine = type != SOCK_RAW && type != SOCK_SEQPACKET &&
						 type != SOCK_DCCP && type != SOCK_PACKET;
				bool protocol_fine = protocol <= 58 && protocol != 33;

				MUST((got == ALLOWED) == (type_fine && protocol_fine));
				MUST((got == KILLED) == (type == SOCK_RAW || type == SOCK_PACKET));
			}
	for (uint64_t protocol = 0; protocol < 64; protocol++)
		MUST(call(&normal, SYS_socket, AF_NETLINK, SOCK_RAW, protocol, 0) ==
			(!protocol                          ? ALLOWED
				: protocol == NETLINK_AUDIT ? KILLED
							    : EPROTONOSUPPORT));
	MUST(call(&normal, SYS_socket, AF_INET, SOCK_STREAM, UINT64_C(0x100000106), 0) != ALLOWED);
}
END_TEST

START_TEST(test_multicast)
{
	for (unsigned h = 0; h < 3; h++)
		for (uint64_t option = 0; option < 64; option++) {
			bool four = option == IP_ADD_MEMBERSHIP ||
				    option == IP_ADD_SOURCE_MEMBERSHIP ||
				    option == MCAST_JOIN_GROUP || option == MCAST_JOIN_SOURCE_GROUP;
			bool six = option == IPV6_JOIN_GROUP || option == IPV6_JOIN_ANYCAST ||
				   option == MCAST_JOIN_GROUP || option == MCAST_JOIN_SOURCE_GROUP;

			MUST((call(&normal, SYS_setsockopt, 3, high[h] | IPPROTO_IP,
				      high[h] | option, 0) == EPERM) == four);
			MUST((call(&nested, SYS_setsockopt, 3, high[h] | IPPROTO_IPV6,
				      high[h] | option, 0) == EPERM) == six);
			MUST(call(&normal, SYS_setsockopt, 3, SOL_SOCKET, option, 0) == ALLOWED);
			MUST(call(&normal, SYS_setsockopt, 3, IPPROTO_TCP, option, 0) == ALLOWED);
		}
}
END_TEST

START_TEST(test_terminal)
{
	for (unsigned h = 0; h < 3; h++)
		for (uint64_t request = 0x5400; request < 0x5500; request++) {
			bool refused = request == TIOCSTI || request == TIOCLINUX ||
				       request == TIOCSETD;

			MUST(call(&nested, SYS_ioctl, 0, high[h] | request, 0, 0) ==
				(refused ? EPERM : ALLOWED));
		}
}
END_TEST

START_TEST(test_namespaces)
{
	for (unsigned place = 0; place < 32; place++) {
		uint64_t flag = UINT64_C(1) << place;
		bool new = flag == CLONE_NEWNS || flag == CLONE_NEWCGROUP || flag == CLONE_NEWUTS ||
			   flag == CLONE_NEWIPC || flag == CLONE_NEWUSER || flag == CLONE_NEWPID ||
			   flag == CLONE_NEWNET;

		MUST(call(&normal, SYS_clone, flag | 17, 0, 0, 0) == (new ? EPERM : ALLOWED));
		MUST(call(&normal, SYS_unshare, high[1] | flag, 0, 0, 0) ==
			(new || flag == 0x80 ? EPERM : ALLOWED));
		MUST(call(&nested, SYS_clone, flag | 17, 0, 0, 0) == ALLOWED);
		MUST(call(&nested, SYS_unshare, flag, 0, 0, 0) == ALLOWED);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("seccomp");
	TCase *tcase = tcase_create("seccomp");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_one_filter_refuses);
	tcase_add_test(tcase, test_new_calls_are_missing);
	tcase_add_test(tcase, test_other_architectures);
	tcase_add_loop_test(tcase, test_whole_calls, 0, sizeof(whole) / sizeof(whole[0]));
	tcase_add_test(tcase, test_modes);
	tcase_add_test(tcase, test_group_bit_is_quiet);
	tcase_add_test(tcase, test_families);
	tcase_add_test(tcase, test_types_and_protocols);
	tcase_add_test(tcase, test_multicast);
	tcase_add_test(tcase, test_terminal);
	tcase_add_test(tcase, test_namespaces);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// SPDX-License-Identifier: ISC
/*
 * Writes seccomp_filter.h at build time: the launcher's filters as BPF, so that a session start costs
 * no filter compiler.  A deny list over an allowing default, since what a developer's tools call
 * is open-ended; the boundary is the view, Landlock and nft, this narrows the kernel's surface and
 * closes what those cannot see.
 *
 * ENOSYS where programs have a fallback for old kernels, EPERM where they expect a refusal.  Calls
 * whose arguments lie behind pointers (clone3, openat2, io_uring) are refused whole.
 *
 * Two filters in each session.  What is refused with ENOSYS is refused quietly, since every start of
 * a thread asks for clone3, and so is the set-group-id bit, which tar, cp -p and rsync restore on the
 * directories of a project that a group shares; what the other one refuses goes on record
 * (SECCOMP_FILTER_FLAG_LOG), since no honest program asks for it, and no audit rule sees a call that a
 * filter has refused.
 *
 * A record of a refused call tells no arguments.  So a socket that would lead past the firewall is not
 * refused like the family that nobody has heard of: the process is killed, which the record does tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first number that this list does not know; all architectures count alike from 424 on. */
#define FIRST_UNKNOWN 470
#define LOW32 0xffffffffu
#define FAMILIES 64 /* more than there are */
#define NETLINK_LAST 31 /* the kernel has no more protocols */
#define DEATH (-1) /* in place of an error number */
#define QUIETLY 0x1000 /* beside an error number; ENOSYS is quiet by itself */

enum where { ALWAYS, OUTER_ONLY };

struct denial {
	const char *name;
	int number; /* where libseccomp may not know the name yet, else -1 */
	int error;
	enum where where; /* OUTER_ONLY: what a nested sandbox needs */
};

static const struct denial denials[] = {
	/* arguments out of sight; every user has a fallback */
	{ "io_uring_setup", -1, ENOSYS, ALWAYS },
	{ "io_uring_enter", -1, ENOSYS, ALWAYS },
	{ "io_uring_register", -1, ENOSYS, ALWAYS },
	{ "openat2", -1, ENOSYS, ALWAYS },
	{ "clone3", -1, ENOSYS, ALWAYS },
	/* keys outlive the session and are shared by uid */
	{ "add_key", -1, ENOSYS, ALWAYS },
	{ "keyctl", -1, ENOSYS, ALWAYS },
	{ "request_key", -1, ENOSYS, ALWAYS },
	/* a means of winning kernel races */
	{ "userfaultfd", -1, ENOSYS, ALWAYS },
	/* kernel programs, counters, images */
	{ "bpf", -1, EPERM, ALWAYS },
	{ "perf_event_open", -1, EPERM, ALWAYS },
	{ "kexec_load", -1, EPERM, ALWAYS },
	{ "kexec_file_load", -1, EPERM, ALWAYS },
	{ "init_module", -1, EPERM, ALWAYS },
	{ "finit_module", -1, EPERM, ALWAYS },
	{ "delete_module", -1, EPERM, ALWAYS },
	{ "syslog", -1, EPERM, ALWAYS },
	{ "acct", -1, EPERM, ALWAYS },
	{ "reboot", -1, EPERM, ALWAYS },
	{ "swapon", -1, EPERM, ALWAYS },
	{ "swapoff", -1, EPERM, ALWAYS },
	{ "quotactl", -1, EPERM, ALWAYS },
	{ "quotactl_fd", 443, EPERM, ALWAYS },
	{ "settimeofday", -1, EPERM, ALWAYS },
	{ "clock_settime", -1, EPERM, ALWAYS },
	{ "vhangup", -1, EPERM, ALWAYS },
	{ "iopl", -1, EPERM, ALWAYS },
	{ "ioperm", -1, EPERM, ALWAYS },
	{ "modify_ldt", -1, EPERM, ALWAYS },
	{ "kcmp", -1, EPERM, ALWAYS },
	{ "lookup_dcookie", -1, EPERM, ALWAYS },
	/* files by number, other people's descriptors, watching whole mounts */
	{ "open_by_handle_at", -1, EPERM, ALWAYS },
	{ "pidfd_getfd", 438, EPERM, ALWAYS },
	{ "fanotify_init", -1, EPERM, ALWAYS },
	/* mounts and namespaces */
	{ "mount", -1, EPERM, OUTER_ONLY },
	{ "umount2", -1, EPERM, OUTER_ONLY },
	{ "pivot_root", -1, EPERM, OUTER_ONLY },
	{ "chroot", -1, EPERM, OUTER_ONLY },
	{ "setns", -1, EPERM, OUTER_ONLY },
	{ "sethostname", -1, EPERM, OUTER_ONLY },
	{ "setdomainname", -1, EPERM, OUTER_ONLY },
	{ "open_tree", 428, EPERM, ALWAYS },
	{ "move_mount", 429, EPERM, ALWAYS },
	{ "fsopen", 430, EPERM, ALWAYS },
	{ "fsconfig", 431, EPERM, ALWAYS },
	{ "fsmount", 432, EPERM, ALWAYS },
	{ "fspick", 433, EPERM, ALWAYS },
	{ "mount_setattr", 442, EPERM, ALWAYS },
	{ "open_tree_attr", 467, EPERM, ALWAYS },
};

struct mode { /* calls that set file modes, and which argument it is */
	const char *name;
	int number;
	unsigned mode_argument;
	int flags_argument; /* the mode counts only with O_CREAT or O_TMPFILE here; -1: always */
};

static const struct mode modes[] = {
	{ "chmod", -1, 1, -1 },
	{ "fchmod", -1, 1, -1 },
	{ "fchmodat", -1, 2, -1 },
	{ "fchmodat2", 452, 2, -1 },
	{ "creat", -1, 1, -1 },
	{ "mknod", -1, 1, -1 },
	{ "mknodat", -1, 2, -1 },
	{ "open", -1, 2, 1 },
	{ "openat", -1, 3, 2 },
};

static void fail(const char *what, int code)
{
	fprintf(stderr, "gen_seccomp: %s: error %d\n", what, code);
	exit(1);
}

/* The call's number on this machine; calls that it does not have are skipped. */
static int find_call(const char *name, int number)
{
	int found = seccomp_syscall_resolve_name(name);

	return found == __NR_SCMP_ERROR ? number : found;
}

/* Which of the two filters is being made. */
static bool is_quiet;

static bool belongs_to_quiet(int error)
{
	return error == ENOSYS || (error != DEATH && error & QUIETLY);
}

static uint32_t action_of(int error)
{
	return error == DEATH ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO((uint32_t)error % QUIETLY);
}

static void deny(scmp_filter_ctx filter, int error, const char *name, int number, unsigned count,
	const struct scmp_arg_cmp *arguments)
{
	int call = find_call(name, number);
	int code;

	if (call < 0 || is_quiet != belongs_to_quiet(error))
		return;
	code = seccomp_rule_add_array(filter, action_of(error), call, count, arguments);
	if (code)
		fail(name, code);
}

static void deny_one(scmp_filter_ctx filter, int error, const char *name, struct scmp_arg_cmp first)
{
	deny(filter, error, name, -1, 1, &first);
}

static void deny_two(scmp_filter_ctx filter, int error, const char *name, struct scmp_arg_cmp first,
	struct scmp_arg_cmp second)
{
	const struct scmp_arg_cmp arguments[] = { first, second };

	deny(filter, error, name, -1, 2, arguments);
}

/* The argument as the kernel gets it: equal, greater, or with these bits set. */
static struct scmp_arg_cmp when(unsigned argument, enum scmp_compare how, uint64_t value)
{
	struct scmp_arg_cmp comparison = { argument, how, value, 0 };

	return comparison;
}

static struct scmp_arg_cmp when_bits(unsigned argument, uint64_t mask, uint64_t bits)
{
	struct scmp_arg_cmp comparison = { argument, SCMP_CMP_MASKED_EQ, mask, bits };

	return comparison;
}

/* A set-user-id or set-group-id file made through the idmapped mount would be the user's on disk.
 * Of modes with both bits the first line holds alone: they are heard. */
static void deny_modes(scmp_filter_ctx filter)
{
	static const struct {
		unsigned mask, bits;
		int error;
	} kinds[] = { { S_ISUID, S_ISUID, EPERM },
		{ S_ISUID | S_ISGID, S_ISGID, EPERM | QUIETLY } };
	static const unsigned creating[] = { O_CREAT, O_TMPFILE & ~O_DIRECTORY };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (size_t k = 0; k < 2; k++) {
			struct scmp_arg_cmp mode = when_bits(
				modes[i].mode_argument, kinds[k].mask, kinds[k].bits);

			if (modes[i].flags_argument < 0) {
				deny(filter, kinds[k].error, modes[i].name, modes[i].number, 1,
					&mode);
				continue;
			}
			for (size_t m = 0; m < 2; m++)
				deny_two(filter, kinds[k].error, modes[i].name, mode,
					when_bits((unsigned)modes[i].flags_argument, creating[m],
						creating[m]));
		}
	}
}

/* No two rules may match one call: which action won would be libseccomp's to choose. */
static bool is_raw(unsigned type)
{
	return type == SOCK_RAW || type == SOCK_PACKET;
}

static void deny_internet(scmp_filter_ctx filter, unsigned family)
{
	struct scmp_arg_cmp arguments[3] = { when(0, SCMP_CMP_EQ, family) };

	for (unsigned type = 0; type < 16; type++) {
		arguments[1] = when_bits(1, 0xf, type);
		if (is_raw(type)) {
			deny(filter, DEATH, "socket", -1, 2, arguments);
			continue;
		}
		if (type == SOCK_SEQPACKET || type == SOCK_DCCP) {
			deny(filter, EPROTONOSUPPORT, "socket", -1, 2, arguments);
			continue;
		}
		/* MPTCP, SCTP, UDP-Lite and newer; ICMP is left to nft, which reports it. */
		arguments[2] = when(2, SCMP_CMP_GT, 58);
		deny(filter, EPROTONOSUPPORT, "socket", -1, 3, arguments);
		arguments[2] = when(2, SCMP_CMP_EQ, 33);
		deny(filter, EPROTONOSUPPORT, "socket", -1, 3, arguments);
	}
}

/* Of the kernel's own sockets the routing tables, to read; the one of auditing is an attack on it. */
static void deny_netlink(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp family = when(0, SCMP_CMP_EQ, AF_NETLINK);

	for (unsigned protocol = 1; protocol <= NETLINK_LAST; protocol++)
		deny_two(filter, protocol == NETLINK_AUDIT ? DEATH : EPROTONOSUPPORT, "socket",
			family, when(2, SCMP_CMP_EQ, protocol));
	deny_two(filter, EPROTONOSUPPORT, "socket", family, when(2, SCMP_CMP_GT, NETLINK_LAST));
}

/* Only what nft and Landlock can judge: UNIX, IPv4, IPv6, and the kernel's routing tables to read.
 * Upper halves of the arguments are ignored by the kernel; here they only lead to a refusal. */
static void deny_sockets(scmp_filter_ctx filter)
{
	static const unsigned past_nft[] = { AF_PACKET, AF_KEY, AF_VSOCK, AF_XDP };

	for (unsigned family = 0; family < FAMILIES; family++) {
		int error = EAFNOSUPPORT;

		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			family == AF_NETLINK)
			continue;
		for (size_t i = 0; i < sizeof(past_nft) / sizeof(past_nft[0]); i++)
			if (family == past_nft[i])
				error = DEATH;
		deny_one(filter, error, "socket", when(0, SCMP_CMP_EQ, family));
	}
	deny_one(filter, EAFNOSUPPORT, "socket", when(0, SCMP_CMP_GE, FAMILIES));
	deny_one(filter, EAFNOSUPPORT, "socketpair", when(0, SCMP_CMP_NE, AF_UNIX));
	deny_netlink(filter);
	deny_internet(filter, AF_INET);
	deny_internet(filter, AF_INET6);
}

/* Joining a multicast group sends a packet that is nobody's: no firewall rule by account sees it. */
static void deny_multicast(scmp_filter_ctx filter)
{
	static const struct {
		int level, option;
	} joins[] = { { IPPROTO_IP, IP_ADD_MEMBERSHIP }, { IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP },
		{ IPPROTO_IP, MCAST_JOIN_GROUP }, { IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP },
		{ IPPROTO_IPV6, IPV6_JOIN_GROUP }, { IPPROTO_IPV6, IPV6_JOIN_ANYCAST },
		{ IPPROTO_IPV6, MCAST_JOIN_GROUP }, { IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP } };

	for (size_t i = 0; i < sizeof(joins) / sizeof(joins[0]); i++)
		deny_two(filter, EPERM, "setsockopt", when_bits(1, LOW32, (uint64_t)joins[i].level),
			when_bits(2, LOW32, (uint64_t)joins[i].option));
}

/* Typing into the terminal that the session was started from; line disciplines load modules. */
static void deny_terminal(scmp_filter_ctx filter)
{
	static const unsigned requests[] = { TIOCSTI, TIOCLINUX, TIOCSETD };

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		deny_one(filter, EPERM, "ioctl", when_bits(1, LOW32, requests[i]));
}

/* CLONE_NEWTIME is one of clone's exit signal bits: only unshare has it. */
static void deny_namespaces(scmp_filter_ctx filter)
{
	static const unsigned flags[] = { 0x00020000, 0x02000000, 0x04000000, 0x08000000,
		0x10000000, 0x20000000, 0x40000000 };
	const unsigned new_time = 0x80;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct scmp_arg_cmp flag = when_bits(0, flags[i], flags[i]);

		deny_one(filter, EPERM, "clone", flag);
		deny_one(filter, EPERM, "unshare", flag);
	}
	deny_one(filter, EPERM, "unshare", when_bits(0, new_time, new_time));
}

static scmp_filter_ctx make_filter(enum where level)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		fail("seccomp_init", 0);
	/* Another architecture's calls on this kernel (32-bit, x32): left to the filter that is heard. */
	seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
		is_quiet ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS));
	for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++)
		if (denials[i].where == ALWAYS || level == OUTER_ONLY)
			deny(filter, denials[i].error, denials[i].name, denials[i].number, 0, NULL);
	deny_modes(filter);
	deny_sockets(filter);
	deny_multicast(filter);
	deny_terminal(filter);
	if (level == OUTER_ONLY)
		deny_namespaces(filter);
	return filter;
}

static void print_instruction(struct sock_filter code)
{
	printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", code.code, code.jt, code.jf, code.k);
}

/* Calls that are newer than this list are missing, before anything else is asked. */
static void print_head(void)
{
	print_instruction((struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	print_instruction(
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_UNKNOWN, 0, 1));
	print_instruction((struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA)));
}

static void print_filter(const char *name, enum where level)
{
	scmp_filter_ctx filter = make_filter(level);
	FILE *file = tmpfile();
	struct sock_filter code;
	int error = file ? seccomp_export_bpf(filter, fileno(file)) : -errno;

	if (error)
		fail("seccomp_export_bpf", error);
	rewind(file);
	printf("static const struct sock_filter %s[] = {\n", name);
	if (is_quiet)
		print_head();
	while (fread(&code, sizeof(code), 1, file) == 1)
		print_instruction(code);
	puts("};");
	fclose(file);
	seccomp_release(filter);
}

int main(void)
{
	puts("/* Made by gen_seccomp.c: do not edit. */");
	is_quiet = true;
	print_filter("filter_quiet", OUTER_ONLY);
	is_quiet = false;
	print_filter("filter_normal", OUTER_ONLY);
	print_filter("filter_nested", ALWAYS);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}

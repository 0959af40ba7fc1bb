// SPDX-License-Identifier: ISC
/*
 * Acts that a cell must refuse or allow, each printed as "<name> ok" or "<name> <errno name>".
 * The same program runs inside a cell and, as the control, as an ordinary user outside.
 *
 *   confine <directory of one's own> <pid of a process of the same uid outside> <abstract name>
 *   confine <abstract name>        listens there and waits: the process outside
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static const char *own; /* where this process may write */
static pid_t outsider;
static const char *abstract_name;

static void say(const char *name, long result)
{
	printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
	fflush(stdout);
}

/* Some are the end of the process that asks. */
static void say_socket(const char *name, int family, int type, int protocol)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(socket(family, type, protocol) < 0 ? errno : 0);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status)) {
		printf("%s SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
		fflush(stdout);
		return;
	}
	errno = WEXITSTATUS(status);
	say(name, errno ? -1 : 0);
}

static char *in_own(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", own, name);
	return path;
}

static int fresh(const char *name)
{
	unlink(in_own(name));
	return open(in_own(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void try_files(void)
{
	say("open-own", fresh("file"));
	say("mkdir-own", (rmdir(in_own("directory")), mkdir(in_own("directory"), 0700)));
	say("read-passwd", open("/etc/passwd", O_RDONLY));
	say("read-cell", open("/.agentcell", O_RDONLY));
	say("read-outside", open("/outside/file", O_RDONLY));
	say("write-outside", open("/outside/file", O_WRONLY));
	say("root-outside", open("/proc/self/root/outside/file", O_RDONLY));
	unlink(in_own("link"));
	say("symlink-own", symlink("/outside/file", in_own("link")));
	say("symlink-outside", open(in_own("link"), O_RDONLY));
	unlink(in_own("hard"));
	say("link-outside", link("/outside/file", in_own("hard")));
	say("init-root", open("/proc/1/root/etc/passwd", O_RDONLY));
	say("parent-root", chdir("/proc/1/cwd"));
	say("create-root", open("/created", O_CREAT | O_WRONLY, 0600));
	say("create-usr", open("/usr/created", O_CREAT | O_WRONLY, 0600));
	say("write-passwd", open("/etc/passwd", O_WRONLY));
	say("list-root", open("/", O_RDONLY | O_DIRECTORY));
	say("tmp", open("/tmp", O_TMPFILE | O_RDWR, 0600));
	say("null", open("/dev/null", O_RDWR));
	say("urandom", open("/dev/urandom", O_RDONLY));
}

static void try_modes(void)
{
	int fd = fresh("file");

	say("chmod-plain", chmod(in_own("file"), 0755));
	say("chmod-setuid", chmod(in_own("file"), 04755));
	say("chmod-setgid", chmod(in_own("file"), 02755));
	say("fchmod-setuid", fchmod(fd, 04755));
	say("fchmodat-setuid", syscall(SYS_fchmodat, AT_FDCWD, in_own("file"), 04755));
	say("fchmodat2-setuid", syscall(452, AT_FDCWD, in_own("file"), 04755, 0));
	unlink(in_own("file"));
	say("open-setuid", syscall(SYS_open, in_own("file"), O_CREAT | O_WRONLY, 04755));
	unlink(in_own("file"));
	say("openat-setuid", openat(AT_FDCWD, in_own("file"), O_CREAT | O_WRONLY, 04755));
	say("openat-tmpfile-setuid", openat(AT_FDCWD, own, O_TMPFILE | O_WRONLY, 04755));
	unlink(in_own("file"));
	say("creat-setgid", syscall(SYS_creat, in_own("file"), 02755));
	unlink(in_own("node"));
	say("mknod-setuid", mknod(in_own("node"), S_IFREG | 04755, 0));
	unlink(in_own("node"));
	say("mknod-fifo", mknod(in_own("node"), S_IFIFO | 0600, 0));
	/* Without O_CREAT the third argument is whatever the register holds. */
	say("open-garbage-mode", syscall(SYS_open, own, O_RDONLY, 0xffffffffUL));
	say("openat2",
		syscall(SYS_openat2, AT_FDCWD, own, NULL, 0L) < 0 && errno == EINVAL ? 0 : -1);
}

static void in_child(const char *name, long (*act)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		long result = act();

		_exit(result < 0 ? errno : 0);
	}
	waitpid(child, &status, 0);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ENOTRECOVERABLE;
	say(name, errno ? -1 : 0);
}

static long new_user(void)
{
	return unshare(CLONE_NEWUSER);
}

static long new_user_net(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNET);
}

static long clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return pid;
}

static long clone3_plain(void)
{
	unsigned long arguments[8] = { 0, 0, 0, 0, SIGCHLD };
	long pid = syscall(SYS_clone3, arguments, sizeof(arguments));

	if (!pid)
		_exit(0);
	return pid;
}

static void try_namespaces(void)
{
	in_child("unshare-user", new_user);
	in_child("unshare-user-net", new_user_net);
	in_child("clone-user", clone_user);
	in_child("clone3", clone3_plain);
	say("setns", syscall(SYS_setns, -1, 0) < 0 && errno == EBADF ? 0 : -1);
	say("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	say("umount", umount2("/proc", MNT_DETACH));
	say("pivot-root", syscall(SYS_pivot_root, ".", "."));
	say("chroot", chroot("/tmp"));
	say("fsopen", syscall(430, "tmpfs", 0));
	say("open-tree", syscall(428, AT_FDCWD, "/tmp", 0));
	say("mount-setattr", syscall(442, -1, "", 0, NULL, 0L) < 0 && errno == EINVAL ? 0 : -1);
}

/* "ok" here means that the kernel looked at the arguments at all. */
static long reached(long result)
{
	return result < 0 && (errno == EFAULT || errno == EINVAL || errno == EBADF ||
				     errno == E2BIG || errno == ESRCH)
		       ? 0
		       : result;
}

static void try_kernel(void)
{
	say("io-uring", reached(syscall(SYS_io_uring_setup, 1, NULL)));
	say("io-uring-enter", reached(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0L)));
	say("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
	say("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
	say("add-key", syscall(SYS_add_key, "user", "probe", "x", 1L, KEY_SPEC_PROCESS_KEYRING));
	say("request-key",
		syscall(SYS_request_key, "user", "no-such", NULL, 0) < 0 && errno == ENOKEY ? 0
											    : -1);
	say("pidfd-getfd", reached(syscall(438, -1, 0, 0)));
	say("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 1, 0L, 0L));
	say("bpf", syscall(SYS_bpf, 0, NULL, 0));
	say("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0L));
	say("kexec", syscall(SYS_kexec_load, 0L, 0L, NULL, 0L));
	say("module", syscall(SYS_finit_module, -1, "", 0));
	say("syslog", syscall(SYS_syslog, 10, NULL, 0));
	say("fanotify", syscall(SYS_fanotify_init, 0x200, 0));
	say("by-handle", syscall(SYS_open_by_handle_at, -1, NULL, 0));
	say("modify-ldt", reached(syscall(SYS_modify_ldt, 0, NULL, 0L)));
	say("unknown-call", syscall(470, 0, 0, 0, 0) < 0 && errno != ENOSYS ? 0 : -1);
	say("seccomp", prctl(PR_GET_SECCOMP) >= 0 ? 0 : -1);
	say("landlock", syscall(444, NULL, 0L, 1U));
	say("memfd", memfd_create("probe", 0));
	say("inotify", syscall(SYS_inotify_init1, 0));
}

#ifdef __x86_64__
static long call_i386(void)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	errno = -result;
	return result < 0 ? -1 : 0;
}

static long call_x32(void)
{
	return syscall(0x40000000L + SYS_getpid);
}
#endif

static void try_multicast(void)
{
	struct ip_mreq four = { .imr_multiaddr.s_addr = htonl(0xe0000101),
		.imr_interface.s_addr = htonl(INADDR_LOOPBACK) };
	struct ipv6_mreq six = { .ipv6mr_multiaddr = { { { 0xff, 1, [15] = 5 } } },
		.ipv6mr_interface = 1 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), fd6 = socket(AF_INET6, SOCK_DGRAM, 0), one = 1;

	say("multicast", setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four)));
	say("multicast6", setsockopt(fd6, IPPROTO_IPV6, IPV6_JOIN_GROUP, &six, sizeof(six)));
	say("v6only", setsockopt(fd6, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)));
}

static void try_sockets(void)
{
	say("socket-unix", socket(AF_UNIX, SOCK_STREAM, 0));
	say("socket-inet", socket(AF_INET, SOCK_STREAM, 0));
	say("socket-inet6", socket(AF_INET6, SOCK_DGRAM, 0));
	say("socket-route", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	say_socket("socket-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
	say("socket-netfilter", socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
	say("socket-uevent", socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
	say_socket("socket-vsock", AF_VSOCK, SOCK_STREAM, 0);
	say("socket-vsock-high", syscall(SYS_socket, 0x100000000UL | AF_VSOCK, SOCK_STREAM, 0));
	say("socket-alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
	say("socket-mptcp", socket(AF_INET, SOCK_STREAM, 262));
	say("socket-sctp", socket(AF_INET, SOCK_SEQPACKET, 132));
	say("socket-udplite", socket(AF_INET, SOCK_DGRAM, 136));
	say_socket("socket-raw", AF_INET, SOCK_RAW, 1);
	say_socket("socket-packet", AF_PACKET, SOCK_RAW, 0);
	try_multicast();
	say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }));
}

static void try_terminal(void)
{
	int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
	struct termios settings;
	struct winsize size;
	char name[32], byte = 'x';
	int number, discipline = 0, unlock = 0;

	say("ptmx", terminal);
	if (terminal < 0 || ioctl(terminal, TIOCSPTLCK, &unlock) ||
		ioctl(terminal, TIOCGPTN, &number))
		return;
	snprintf(name, sizeof(name), "/dev/pts/%d", number);
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	say("pts", slave);
	say("raw-mode", tcgetattr(slave, &settings)
				? -1
				: (cfmakeraw(&settings), tcsetattr(slave, TCSANOW, &settings)));
	say("window-size", ioctl(slave, TIOCGWINSZ, &size));
	setsid();
	say("controlling", ioctl(slave, TIOCSCTTY, 0));
	say("dev-tty", open("/dev/tty", O_RDWR));
	say("tiocsti", ioctl(slave, TIOCSTI, &byte));
	say("tiocsti-high", syscall(SYS_ioctl, slave, 0x100000000UL | TIOCSTI, &byte));
	say("tiocsetd", ioctl(slave, TIOCSETD, &discipline));
}

static long connect_abstract(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t length = strlen(abstract_name);

	memcpy(address.sun_path + 1, abstract_name, length);
	return connect(fd, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
}

static int listen_abstract(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t length = strlen(name);

	memcpy(address.sun_path + 1, name, length);
	if (bind(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
		listen(fd, 8))
		return 1;
	puts("ready");
	fflush(stdout);
	return pause();
}

static long trace_child(void)
{
	int status;
	pid_t child = fork();
	long result;

	if (!child) {
		pause();
		_exit(0);
	}
	result = ptrace(PTRACE_ATTACH, child, NULL, NULL);
	if (result >= 0)
		waitpid(child, &status, 0);
	kill(child, SIGKILL);
	return result;
}

static long signal_child(void)
{
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	return kill(child, SIGKILL);
}

/* More processes than the cell may have; all of them are reaped. */
static long many_processes(void)
{
	long result = 0;
	int code;

	for (int i = 0; i < 60 && result >= 0; i++) {
		result = fork();
		if (!result) {
			usleep(200000);
			_exit(0);
		}
	}
	code = errno;
	while (wait(NULL) >= 0)
		;
	errno = code;
	return result;
}

static void try_others(void)
{
	struct rlimit core;
	struct sigaction pipe_action;

	say("abstract", connect_abstract());
	say("signal-outsider", kill(outsider, 0));
	say("trace-outsider", ptrace(PTRACE_SEIZE, outsider, NULL, NULL));
	say("signal-own", signal_child());
	in_child("trace-own", trace_child);
	say("dumpable", prctl(PR_GET_DUMPABLE) == 1 ? 0 : -1);
	say("core-limit",
		getrlimit(RLIMIT_CORE, &core) || core.rlim_max > 1 ? 0 : (errno = EFBIG, -1));
	say("sigpipe-default",
		sigaction(SIGPIPE, NULL, &pipe_action) || pipe_action.sa_handler != SIG_DFL ? -1
											    : 0);
	in_child("sixty-processes", many_processes);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return listen_abstract(argv[1]);
	if (argc != 4)
		return 2;
	say("descriptor-7", fcntl(7, F_GETFD));
	own = argv[1];
	outsider = (pid_t)strtol(argv[2], NULL, 10);
	abstract_name = argv[3];
	umask(022);
	try_files();
	try_modes();
	try_namespaces();
	try_kernel();
#ifdef __x86_64__
	in_child("i386", call_i386);
	in_child("x32", call_x32);
#endif
	try_sockets();
	try_others();
	try_terminal();
	return 0;
}

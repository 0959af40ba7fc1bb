// SPDX-License-Identifier: ISC
/*
 * Runs a command in a hand-made cell through the real launcher, with this program as the listener:
 *
 *   incell <launcher> <project> [fault ...] -- <command> [argument ...]
 *
 * Makes cgroup, mount namespace, view and cell file, starts the launcher as uid 74900, answers its
 * READY, and exits as the launcher did (128 + signal).  <project> is a directory of that uid.  A
 * fault breaks one thing that the launcher must notice (see faults[]); `bare` leaves the launcher out,
 * as a control: the same view and account, not confined.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell.h"
#include "cgroup.h"
#include "util.h"
#include "wire.h"

#define UID 74900
#define ID "f9f9f9f9f9f9"
#define VIEW "/tmp/.incell-view"

static const char *const faults[] = { "no-cell", "loose-cell", "foreign-cell", "no-view",
	"wrong-uid", "wrong-group", "capability", "outside-cwd", "stdin-directory", "stdin-closed",
	"stdin-path", "stdin-inet", "stdin-netlink", "stdin-block", "stdin-device", "no-go",
	"other-session", "refused", "hang-up", "no-cgroup", "wrong-command", "missing-command",
	"not-a-socket", "open-excluded", "nested", "secret-fd", "quiet", "bare", "no-landlock",
	"fake-landlock", "fake-seccomp" };
static bool fault[AC_COUNT(faults)];

static bool has(const char *name)
{
	for (unsigned i = 0; i < AC_COUNT(faults); i++)
		if (!strcmp(faults[i], name))
			return fault[i];
	fprintf(stderr, "incell: no fault %s\n", name);
	exit(2);
}

static void set(const char *name)
{
	for (unsigned i = 0; i < AC_COUNT(faults); i++)
		if (!strcmp(faults[i], name)) {
			fault[i] = true;
			return;
		}
	fprintf(stderr, "incell: no fault %s\n", name);
	exit(2);
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(2);
}

static void make(const char *path, mode_t mode)
{
	must(!mkdir(path, mode) || errno == EEXIST, path);
}

/* mkdir -p below the view, which is the working directory. */
static void make_all(const char *path)
{
	char copy[AC_PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path + 1);
	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		make(copy, 0755);
		*slash = '/';
	}
	make(copy, 0755);
}

static void show(const char *path, unsigned long flags)
{
	struct stat status;
	char link[256];
	ssize_t length;

	if (lstat(path, &status))
		return;
	if (S_ISLNK(status.st_mode)) {
		length = readlink(path, link, sizeof(link) - 1);
		must(length > 0, path);
		link[length] = '\0';
		must(!symlink(link, path + 1), path);
		return;
	}
	make_all(path);
	must(!mount(path, path + 1, NULL, MS_BIND, NULL), path);
	must(!mount(NULL, path + 1, NULL, MS_REMOUNT | MS_BIND | flags, NULL), path);
}

static void make_device(const char *path, unsigned minor_number)
{
	must(!mknod(path, S_IFCHR | 0666, makedev(1, minor_number)) && !chmod(path, 0666), path);
}

static void make_view(const char *project)
{
	umask(0);
	must(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
		"unshare");
	make(VIEW, 0755);
	must(!mount("view", VIEW, "tmpfs", MS_NOSUID, "mode=0755"), "tmpfs");
	must(!chdir(VIEW), "chdir");
	show("/usr", MS_RDONLY | MS_NOSUID | MS_NODEV);
	show("/etc", MS_RDONLY | MS_NOSUID | MS_NODEV);
	show("/bin", MS_RDONLY);
	show("/sbin", MS_RDONLY);
	show("/lib", MS_RDONLY);
	show("/lib64", MS_RDONLY);
	make("dev", 0755);
	make_device("dev/null", 3);
	make_device("dev/zero", 5);
	make_device("dev/full", 7);
	make_device("dev/random", 8);
	make_device("dev/urandom", 9);
	must(!mknod("dev/tty", S_IFCHR | 0666, makedev(5, 0)), "dev/tty");
	make("dev/pts", 0755);
	must(!mount("devpts", "dev/pts", "devpts", 0, "newinstance,ptmxmode=0666"), "devpts");
	must(!symlink("pts/ptmx", "dev/ptmx") && !symlink("/proc/self/fd", "dev/fd"), "links");
	make("proc", 0555);
	must(!mount("proc", "proc", "proc", MS_NOSUID, "hidepid=2"), "proc");
	make("tmp", 01777);
	must(!mount("tmp", "tmp", "tmpfs", MS_NOSUID, "mode=1777"), "tmp");
	make("home", 0755);
	make("home/agent", 0700);
	must(!chown("home/agent", UID, UID), "home");
	show(project, MS_NOSUID | MS_NODEV);
	make("outside", 0755); /* in the view, but declared by nobody */
	must(!close(open("outside/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0666)), "outside");
	must(!chmod("outside/file", 0666), "outside");
}

static void pivot(void)
{
	make("old", 0700);
	if (has("no-view"))
		return;
	must(!syscall(SYS_pivot_root, ".", "old") && !chdir("/") && !umount2("/old", MNT_DETACH) &&
			!rmdir("/old"),
		"pivot_root");
}

static void add_path(struct ac_path_list *list, const char *path)
{
	snprintf(list->entry[list->count++].path, AC_PATH_MAX, "%s", path);
}

static void write_cell(const char *project, const char *command)
{
	struct ac_session_policy *session = calloc(1, sizeof(*session));
	char *text = malloc(AC_CELL_SIZE_MAX);
	struct ac_err err = { 0 };
	int length, fd;

	must(session && text, "memory");
	snprintf(session->policy.session_id, sizeof(session->policy.session_id), ID);
	snprintf(session->policy.os_user, sizeof(session->policy.os_user), "agentcell-" ID);
	session->policy.uid = session->policy.gid = UID;
	snprintf(session->policy.home, AC_PATH_MAX, "/home/agent");
	snprintf(session->plan.cwd, AC_PATH_MAX, "%s",
		has("outside-cwd") ? "/proc/self/cwd" : project);
	snprintf(session->plan.command, AC_PATH_MAX, "%s",
		has("wrong-command") ? "/usr/bin/other" : command);
	add_path(&session->policy.write_paths, project);
	add_path(&session->policy.read_paths, "/usr/share");
	if (has("open-excluded"))
		add_path(&session->policy.excluded_paths, project);
	session->policy.nested_sandbox = has("nested");
	session->policy.limits.open_files = 512;
	session->policy.limits.processes = 40;
	session->policy.limits.file_bytes = 64 << 20;
	length = ac_cell_format(session, text, AC_CELL_SIZE_MAX, &err);
	must(length > 0, err.text);
	fd = open("." AC_CELL_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	must(fd >= 0 && write(fd, text, (size_t)length) == length, "cell file");
	must(!fchmod(fd, has("loose-cell") ? 0466 : 0444), "cell file");
	must(!has("foreign-cell") || !fchown(fd, UID, UID), "cell file");
	close(fd);
	free(text);
	free(session);
	must(!has("no-cell") || !unlink("." AC_CELL_FILE), "cell file");
}

/* What the user may have put on descriptor 0. */
static void set_stdin(int host_root)
{
	int fd = -1;

	if (has("stdin-directory"))
		fd = openat(host_root, ".", O_RDONLY | O_DIRECTORY);
	else if (has("stdin-path"))
		fd = open("/dev/null", O_PATH);
	else if (has("stdin-inet"))
		fd = socket(AF_INET, SOCK_STREAM, 0);
	else if (has("stdin-netlink"))
		fd = socket(AF_NETLINK, SOCK_RAW, 0);
	else if (has("stdin-block")) {
		must(!mknod("/tmp/block", S_IFBLK | 0600, makedev(7, 0)), "block device");
		fd = open("/tmp/block", O_RDONLY);
	} else if (has("stdin-device")) {
		must(!mknod("/tmp/kmsg", S_IFCHR | 0600, makedev(1, 11)), "device");
		fd = open("/tmp/kmsg", O_WRONLY);
	} else if (!has("stdin-closed")) {
		return;
	}
	close(0);
	if (fd < 0 && !has("stdin-closed")) {
		perror("incell: stdin");
		exit(77);
	}
	if (fd > 0)
		must(dup2(fd, 0) == 0, "dup2");
}

/* A kernel that says something else about one call: an error, or (0) a success that is none. */
static void lie_about(unsigned call, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { AC_COUNT(code), code };

	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

static void lie(void)
{
	if (has("no-landlock"))
		lie_about(444, EOPNOTSUPP); /* landlock_create_ruleset */
	if (has("fake-landlock"))
		lie_about(446, 0); /* landlock_restrict_self */
	if (has("fake-seccomp"))
		lie_about(SYS_seccomp, 0);
}

static void switch_account(void)
{
	gid_t groups[] = { UID, 27 };
	uid_t uid = has("wrong-uid") ? UID + 1 : UID;

	must(!setgroups(has("wrong-group") ? 2 : 1, groups) && !setresgid(UID, UID, UID), "groups");
	if (has("capability")) {
		struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
		struct __user_cap_data_struct data[2] = { { 0, 1U << CAP_NET_RAW,
			1U << CAP_NET_RAW } };

		must(!prctl(PR_SET_KEEPCAPS, 1) && !setresuid(uid, uid, uid) &&
				!syscall(SYS_capset, &header, data) &&
				!prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0),
			"capability");
		return;
	}
	must(!setresuid(uid, uid, uid), "setresuid");
}

static void start(int launcher, int socket, int host_root, const char *project, char **command)
{
	char *arguments[64] = { (char[]){ "agentcell-launch" }, NULL, (char[]){ "--" } };
	char number[16];

	make_view(project);
	write_cell(project, command[0]);
	pivot();
	set_stdin(host_root);
	if (has("secret-fd"))
		must(dup2(host_root, 7) == 7, "dup2");
	if (has("not-a-socket"))
		socket = open("/dev/null", O_RDWR);
	must(command[0], "command");
	signal(SIGPIPE, SIG_IGN);
	snprintf(number, sizeof(number), "%d", socket);
	arguments[1] = number;
	for (unsigned i = 0; i < 60 && command[i]; i++)
		arguments[3 + i] = command[i];
	umask(022);
	lie();
	switch_account();
	if (has("bare"))
		execv(command[0], command);
	else
		fexecve(launcher, arguments, environ);
	perror("incell: launcher");
	_exit(2);
}

/* The listener's part: READY, into the cgroup, GO. */
static void listen_to(int socket, pid_t child)
{
	struct ac_err err = { 0 };
	struct ac_wire message;
	int fds[AC_WIRE_FDS_MAX];
	unsigned count;
	ac_autoclose int cgroup = ac_cgroup_open(ID, &err);

	must(cgroup >= 0, err.text);
	if (ac_wire_receive(socket, &message, fds, &count, NULL, 20000, &err))
		return;
	if (!has("quiet"))
		fprintf(stderr, "incell: ready %d %s\n", message.value == child,
			message.type == AC_WIRE_READY && !strcmp(message.session_id, ID) ? "well"
											 : "badly");
	if (has("no-go"))
		return (void)ac_wire_receive(socket, &message, fds, &count, NULL, 40000, &err);
	if (has("hang-up"))
		return (void)close(socket);
	if (!has("no-cgroup"))
		must(!ac_cgroup_enter(cgroup, child, &err), err.text);
	ac_wire_make(&message, has("refused") ? AC_WIRE_REFUSED : AC_WIRE_GO,
		has("other-session") ? "000000000000" : ID, 0, "no reason at all");
	ac_wire_send(socket, &message, NULL, 0, &err);
}

static void clean_up(void)
{
	struct ac_err err = { 0 };
	ac_autoclose int cgroup = ac_cgroup_open(ID, &err);

	if (cgroup >= 0)
		(void)ac_cgroup_kill(cgroup, 5000, &err);
	must(!ac_cgroup_remove(ID, &err), err.text);
}

int main(int argc, char **argv)
{
	const struct ac_limits limits = { .processes = 60 };
	struct ac_err err = { 0 };
	int pair[2], status, at = 3, launcher, host_root, cgroup;
	pid_t child;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++)
		set(argv[at]);
	if (at + 1 >= argc)
		return 2;
	launcher = open(argv[1], O_RDONLY | O_CLOEXEC);
	host_root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(launcher >= 0 && host_root >= 0, argv[1]);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
	cgroup = ac_cgroup_make(ID, &limits, NULL, &err);
	must(cgroup >= 0, err.text);
	close(cgroup);
	child = fork();
	must(child >= 0, "fork");
	if (!child) {
		close(pair[0]);
		start(launcher, pair[1], host_root, argv[2], argv + at + 1);
	}
	close(pair[1]);
	if (!has("bare"))
		listen_to(pair[0], child);
	must(waitpid(child, &status, 0) == child, "wait");
	clean_up();
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

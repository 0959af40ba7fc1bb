/* SPDX-License-Identifier: ISC */
/*
 * Things that an agent may try, one a word; run inside a session by the tests beside it.  Prints
 * "<word> <result> <errno>" after the attempt (if it lives to do so), then stays for two seconds.
 *
 *     attack <word> <path>
 */
/* One attack a process: the kernel takes everything back. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

static long plain(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

static long create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long link_to(const char *path)
{
	(void)unlink("link");
	return symlink(path, "link") ? -1 : plain("link");
}

static long link_and_create(const char *path)
{
	(void)unlink("link");
	return symlink(path, "link") ? -1 : create("link");
}

/* A link to it, or to its directory, by a new name. */
static int link_as(const char *name, const char *path, bool directory)
{
	char target[4096];

	(void)snprintf(target, sizeof(target), "%s", path);
	if (directory)
		*strrchr(target, '/') = 0;
	(void)unlink(name);
	return symlink(target, name);
}

static int make_mine(void)
{
	int fd = open("mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static long create_at(const char *path)
{
	int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return link_as("link", path, false)
		       ? -1
		       : openat(fd, "link", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long link_make(const char *path)
{
	return link_as("link", path, true) ? -1 : mkdir("link/new", 0700);
}

static long link_owner(const char *path)
{
	return link_as("link", path, false) ? -1 : chown("link", getuid(), getgid());
}

static long link_attribute(const char *path)
{
	return link_as("link", path, false) ? -1 : setxattr("link", "user.x", "x", 1, 0);
}

static long link_shorten(const char *path)
{
	return link_as("link", path, false) ? -1 : truncate("link", 0);
}

static long link_mode(const char *path)
{
	return link_as("link", path, false) ? -1 : chmod("link", 0666);
}

static long link_execute(const char *path)
{
	char *const arguments[] = { strdup(path), NULL };

	return link_as("link", path, false) ? -1 : execv("link", arguments);
}

static long link_hard(const char *path)
{
	(void)unlink("hard");
	return link_as("link", path, false)
		       ? -1
		       : linkat(AT_FDCWD, "link", AT_FDCWD, "hard", AT_SYMLINK_FOLLOW);
}

static long link_in(const char *path)
{
	return make_mine() || link_as("link", path, true) ? -1 : link("mine", "link/new");
}

static long move_in(const char *path)
{
	return make_mine() || link_as("link", path, true) ? -1 : rename("mine", "link/new");
}

/* The records do not tell which name starts from which descriptor. */
static long move_at(const char *path)
{
	int fd;

	if (make_mine() || link_as("link", path, true))
		return -1;
	fd = open("link", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return renameat(AT_FDCWD, "mine", fd, "new");
}

/* Tries, takes the name away and is gone before anybody can look. */
static long gone(const char *path)
{
	(void)unlink("gone.link");
	if (symlink(path, "gone.link"))
		return -1;
	(void)plain("gone.link");
	(void)unlink("gone.link");
	(void)creat("gone", 0600);
	_exit(0);
}

/* Through a directory that is a symlink: the name looks as if it lay inside. */
static long link_directory(const char *path)
{
	char directory[4096], name[4096];
	char *slash;

	(void)snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	*slash = 0;
	(void)unlink("link");
	if (symlink(directory, "link"))
		return -1;
	(void)snprintf(name, sizeof(name), "link/%.3000s", slash + 1);
	return plain(name);
}

static long chain(const char *path)
{
	(void)unlink("one");
	(void)unlink("two");
	return symlink(path, "two") || symlink("./../project/two", "one") ? -1 : plain("one");
}

static long dots(const char *path)
{
	char name[4096];

	(void)snprintf(name, sizeof(name), "../../../../..%.4000s", path);
	return plain(name);
}

static long slashes(const char *path)
{
	char name[4096];

	(void)snprintf(name, sizeof(name), "//./%.4000s", path);
	return plain(name);
}

static long directory_fd(const char *path)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : openat(fd, path + 1, O_RDONLY | O_CLOEXEC);
}

static long path_then_reopen(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	char name[64];

	if (fd < 0)
		return plain(path);
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return plain(name);
}

static long cwd_link(const char *path)
{
	char name[4096];

	if (chdir("/home"))
		return -1;
	(void)snprintf(name, sizeof(name), "/proc/self/cwd/..%.4000s", path);
	return plain(name);
}

static long root_link(const char *path)
{
	char name[4096];

	(void)snprintf(name, sizeof(name), "/proc/self/root%.4000s", path);
	return plain(name);
}

static long openat2_call(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };

	return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static long list_directory(const char *path)
{
	DIR *directory = opendir(path);

	return directory ? 0 : -1;
}

static long hard_link(const char *path)
{
	(void)unlink("hard");
	return link(path, "hard");
}

static long move(const char *path)
{
	return rename(path, "moved");
}

static long move_over(const char *path)
{
	int fd = open("mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	close(fd);
	return rename("mine", path);
}

static long removal(const char *path)
{
	return unlink(path);
}

static long shorten(const char *path)
{
	return truncate(path, 0);
}

static long execute(const char *path)
{
	char *const arguments[] = { strdup(path), NULL };

	return execv(path, arguments);
}

static long execute_at(const char *path)
{
	char *const arguments[] = { strdup(path), NULL };

	return syscall(SYS_execveat, AT_FDCWD, path, arguments, NULL, 0);
}

/* A program that exists in no file system is no escape by itself. */
static long memory_program(const char *path)
{
	int source = open("/bin/true", O_RDONLY | O_CLOEXEC);
	int fd = (int)syscall(SYS_memfd_create, "x", 0);
	char *const arguments[] = { strdup(path), NULL };
	char buffer[65536];
	ssize_t length;

	while ((length = read(source, buffer, sizeof(buffer))) > 0)
		if (write(fd, buffer, (size_t)length) != length)
			return -1;
	return syscall(SYS_execveat, fd, "", arguments, NULL, AT_EMPTY_PATH);
}

static long by_handle(const char *path)
{
	_Alignas(struct file_handle) char bytes[256] = { 0 };
	struct file_handle *handle = (struct file_handle *)bytes;
	int mount;

	handle->handle_bytes = 128;
	if (name_to_handle_at(AT_FDCWD, path, handle, &mount, 0))
		handle->handle_bytes = 8; /* a guess is as good */
	return open_by_handle_at(AT_FDCWD, handle, O_RDONLY);
}

static long ring(const char *path)
{
	struct {
		unsigned words[30];
	} parameters = { { 0 } };

	(void)path;
	return syscall(SYS_io_uring_setup, 4, &parameters);
}

static long namespaces(const char *path)
{
	(void)path;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static long mounting(const char *path)
{
	return mount("none", path, "tmpfs", 0, NULL);
}

static long trace(const char *path)
{
	(void)path;
	return ptrace(PTRACE_ATTACH, 1, 0, 0);
}

static long become_root(const char *path)
{
	(void)path;
	return setuid(0);
}

static long own_uid(const char *path)
{
	(void)path;
	return setuid(getuid());
}

static long packet_socket(const char *path)
{
	(void)path;
	return socket(AF_PACKET, SOCK_RAW, 0);
}

static long vsock(const char *path)
{
	(void)path;
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static long docker(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };

	(void)path;
	return connect(
		socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

/* "192.0.2.1:443" */
static struct sockaddr_in address_of(const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char copy[64];
	char *colon;

	(void)snprintf(copy, sizeof(copy), "%.63s", text);
	colon = strrchr(copy, ':');
	if (colon) {
		*colon = 0;
		address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	}
	(void)inet_pton(AF_INET, copy, &address.sin_addr);
	return address;
}

static long tcp(const char *path)
{
	struct sockaddr_in address = address_of(path);

	return connect(
		socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

static long tcp_nonblocking(const char *path)
{
	struct sockaddr_in address = address_of(path);

	return connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr *)&address,
		sizeof(address));
}

static long udp(const char *path)
{
	struct sockaddr_in address = address_of(path);

	return sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (struct sockaddr *)&address,
		sizeof(address));
}

/* As resolvers do: the address first, the packet later. */
static long udp_connected(const char *path)
{
	struct sockaddr_in address = address_of(path);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -1;
	return send(fd, "x", 1, 0);
}

/* Only asks which way it would go: no packet. */
static long udp_connect(const char *path)
{
	struct sockaddr_in address = address_of(path);

	return connect(
		socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&address, sizeof(address));
}

/* The system call interface of 32-bit programs, where the kernel has one. */
static long thirty_two_bit(const char *path)
{
	long result = -ENOSYS;

	(void)path;
#if defined(__x86_64__)
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
#endif
	errno = result < 0 ? (int)-result : 0;
	return result;
}

static long x32(const char *path)
{
	(void)path;
	return syscall(0x40000000 + SYS_getpid);
}

static long long_name(const char *path)
{
	static char name[4096];

	memset(name, '/', sizeof(name) - 1);
	memcpy(name + sizeof(name) - 1 - strlen(path), path, strlen(path));
	return plain(name);
}

/* Deeper than PATH_MAX, so that the kernel cannot say where it is; then a relative name. */
static long deep(const char *path)
{
	char name[201];

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (unsigned i = 0; i < 25; i++)
		if ((mkdir(name, 0700) && errno != EEXIST) || chdir(name))
			return -1;
	(void)unlink("x");
	return symlink(path, "x") ? -1 : plain("x");
}

static long odd_name(const char *path)
{
	(void)unlink("new\nline \"\xff");
	return symlink(path, "new\nline \"\xff") ? -1 : plain("new\nline \"\xff");
}

/* A thousand children, each of which tries. */
static long storm(const char *path)
{
	for (unsigned i = 0; i < 1000; i++)
		if (fork() == 0) {
			(void)plain(path);
			(void)pause();
		}
	return 0;
}

static long flood(const char *path)
{
	for (unsigned i = 0; i < 1000000; i++)
		(void)plain(path);
	return 0;
}

/* What a large build does: as many programs as the machine can start. */
static long build(const char *path)
{
	for (unsigned i = 0; i < 2000; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			(void)execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		(void)waitpid(pid, NULL, 0);
	}
	(void)path;
	return 0;
}

/* Records that anybody may cause: the kernel logs each call that this filter lets pass. */
static long log_flood(const char *path)
{
	struct sock_filter filter[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG) };
	struct sock_fprog program = { 1, filter };

	(void)path;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		return -1;
	for (unsigned i = 0; i < 10000000; i++)
		(void)syscall(SYS_getppid);
	return 0;
}

static const struct {
	const char *word;
	long (*act)(const char *path);
} acts[] = {
	{ "plain", plain },
	{ "create", create },
	{ "link", link_to },
	{ "link-create", link_and_create },
	{ "create-at", create_at },
	{ "link-make", link_make },
	{ "link-owner", link_owner },
	{ "link-attribute", link_attribute },
	{ "link-shorten", link_shorten },
	{ "link-mode", link_mode },
	{ "link-execute", link_execute },
	{ "link-hard", link_hard },
	{ "link-in", link_in },
	{ "move-in", move_in },
	{ "move-at", move_at },
	{ "gone", gone },
	{ "link-directory", link_directory },
	{ "chain", chain },
	{ "dots", dots },
	{ "slashes", slashes },
	{ "directory-fd", directory_fd },
	{ "reopen", path_then_reopen },
	{ "cwd-link", cwd_link },
	{ "root-link", root_link },
	{ "openat2", openat2_call },
	{ "list", list_directory },
	{ "hard-link", hard_link },
	{ "move", move },
	{ "move-over", move_over },
	{ "remove", removal },
	{ "shorten", shorten },
	{ "execute", execute },
	{ "execute-at", execute_at },
	{ "memory-program", memory_program },
	{ "handle", by_handle },
	{ "ring", ring },
	{ "namespaces", namespaces },
	{ "mount", mounting },
	{ "trace", trace },
	{ "root", become_root },
	{ "own-uid", own_uid },
	{ "packet", packet_socket },
	{ "vsock", vsock },
	{ "docker", docker },
	{ "tcp", tcp },
	{ "tcp-nonblocking", tcp_nonblocking },
	{ "udp", udp },
	{ "udp-connected", udp_connected },
	{ "udp-connect", udp_connect },
	{ "b32", thirty_two_bit },
	{ "x32", x32 },
	{ "long", long_name },
	{ "deep", deep },
	{ "odd", odd_name },
	{ "storm", storm },
	{ "flood", flood },
	{ "build", build },
	{ "log-flood", log_flood },
};

int main(int argc, char **argv)
{
	long result;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; argc == 3 && i < AC_COUNT(acts); i++)
		if (!strcmp(acts[i].word, argv[1])) {
			errno = 0;
			result = acts[i].act(argv[2]);
			(void)printf("%s %ld %s\n", argv[1], result, strerror(errno));
			(void)sleep(2);
			(void)puts("alive");
			return 0;
		}
	(void)fputs("attack: which?\n", stderr);
	return 2;
}

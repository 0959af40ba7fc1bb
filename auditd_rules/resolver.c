/* SPDX-License-Identifier: ISC */
/* The child of resolver.h. */
#include "resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

#define NOBODY 65534
#define ANSWER_FD 3
#define NETWORK_FD 4
#define MOUNTS_FD 5

/* The listener's descriptors are its life: whoever holds a copy would keep its death from being seen. */
static int keep_three(int answer_fd, int network_fd, int mounts_fd)
{
	int high[3] = { fcntl(answer_fd, F_DUPFD, 16), fcntl(network_fd, F_DUPFD, 16),
		fcntl(mounts_fd, F_DUPFD, 16) };

	for (int i = 0; i < 3; i++)
		if (high[i] < 0 || dup2(high[i], ANSWER_FD + i) < 0)
			return -1;
	return close_range(ANSWER_FD + 3, ~0u, 0);
}

/* Entering a mount namespace needs a power that the listener may not have been given: only where the
 * session's is another one than ours. */
static int enter(int fd, const char *own, int type)
{
	struct stat there, here;

	if (fstat(fd, &there) || stat(own, &here))
		return -1;
	return there.st_ino == here.st_ino && there.st_dev == here.st_dev ? 0 : setns(fd, type);
}

static int limit(__rlimit_resource_t resource, rlim_t most)
{
	const struct rlimit both = { most, most };

	return setrlimit(resource, &both);
}

static int become_nobody(void)
{
	if (limit(RLIMIT_CORE, 0) || limit(RLIMIT_FSIZE, 0) || limit(RLIMIT_CPU, 5) ||
		limit(RLIMIT_NOFILE, 64) || limit(RLIMIT_AS, (rlim_t)512 << 20))
		return -1;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		setresuid(NOBODY, NOBODY, NOBODY))
		return -1;
	return prctl(PR_SET_DUMPABLE, 0);
}

static void set_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run(int answer_fd, int network_fd, int mounts_fd, const char *const hosts[],
	unsigned count, pid_t parent)
{
	static struct ac_lookup lookup;

	set_signals();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
		keep_three(answer_fd, network_fd, mounts_fd) ||
		enter(MOUNTS_FD, "/proc/self/ns/mnt", CLONE_NEWNS) ||
		enter(NETWORK_FD, "/proc/self/ns/net", CLONE_NEWNET) || become_nobody() ||
		prctl(PR_SET_PDEATHSIG, SIGKILL)) /* taken away by the change of ids */
		_exit(1);
	(void)prctl(PR_SET_NAME, "agentcell-name");
	(void)alarm(AC_RESOLVER_LIMIT_MS / 1000 + 1);
	for (unsigned i = 0; i < count; i++) {
		ac_lookup(hosts[i], &lookup);
		if (!lookup.code)
			lookup.ttl_s = ac_lookup_ttl(hosts[i]);
		if (send(ANSWER_FD, &lookup, sizeof(lookup), MSG_NOSIGNAL) != sizeof(lookup))
			_exit(1);
	}
	_exit(0);
}

int ac_resolver_start(struct ac_guardian *guardian, struct ac_resolver *resolver, int network_fd,
	int mounts_fd, const char *const hosts[], unsigned count,
	void (*ready)(struct ac_guardian *, struct ac_source *), struct ac_err *err)
{
	pid_t self = getpid();
	int pair[2], rc;

	if (guardian->resolvers >= AC_RESOLVERS_MAX)
		return ac_fail(err, EAGAIN, "%u names' resolvers are at work", AC_RESOLVERS_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return ac_fail_errno(err, errno, "make a socket pair for a resolver");
	resolver->pid = fork();
	if (resolver->pid == 0)
		run(pair[1], network_fd, mounts_fd, hosts, count, self);
	rc = resolver->pid < 0 ? ac_fail_errno(err, errno, "fork a resolver") : 0;
	close(pair[1]);
	if (rc) {
		resolver->pid = 0;
		close(pair[0]);
		return rc;
	}
	guardian->resolvers++;
	resolver->deadline_ms = ac_now_ms() + AC_RESOLVER_LIMIT_MS;
	rc = ac_source_add(guardian, &resolver->source, pair[0], ready, err);
	if (rc)
		ac_resolver_stop(guardian, resolver);
	return rc;
}

static bool is_sane(const struct ac_lookup *lookup)
{
	if (!memchr(lookup->host, 0, sizeof(lookup->host)) ||
		!memchr(lookup->reason, 0, sizeof(lookup->reason)) ||
		lookup->count > AC_LOOKUP_ADDRESSES_MAX)
		return false;
	for (unsigned i = 0; i < lookup->count; i++)
		if (lookup->address[i].family != AF_INET && lookup->address[i].family != AF_INET6)
			return false;
	return true;
}

int ac_resolver_take(struct ac_resolver *resolver, struct ac_lookup *lookup)
{
	ssize_t length = recv(resolver->source.fd, lookup, sizeof(*lookup), MSG_DONTWAIT);

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return length == sizeof(*lookup) && is_sane(lookup) ? 1 : -1;
}

void ac_resolver_stop(struct ac_guardian *guardian, struct ac_resolver *resolver)
{
	if (!resolver->pid)
		return;
	ac_source_close(&resolver->source);
	(void)kill(resolver->pid, SIGKILL);
	while (waitpid(resolver->pid, NULL, 0) < 0 && errno == EINTR)
		;
	resolver->pid = 0;
	guardian->resolvers--;
}

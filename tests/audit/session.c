/* SPDX-License-Identifier: ISC */
/*
 * A sudo without sudo: one session, made by hand and told to the listener as sudo's process would.
 *
 *     session [-i id] [-u uid] [-r risk] [-w seconds] [-p path]... [-b bait]... [-e host:port]
 *             [-C] [-L] [-T] [-N] [-s state-file] [-P directory] -- command [argument]...
 *
 * -P: leaves a copy of the policy there.  The child is the launcher: it takes the uid, reports, waits for GO, confines itself by Landlock as
 * the real one does (-L: not), and execs.  Prints what the listener says; exits with the cause
 * (enum ac_cause) of ENDED, 99 when it was refused, 98 when the connection was lost.
 * -C: never says EXITED (a sudo that is stuck).  -T: prints when the last process was dead (monotonic
 * ns).  -N: no listener, no session: only the uid, Landlock and the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "account.h"
#include "cgroup.h"
#include "config.h"
#include "journal.h"
#include "landlock.h"
#include "policy.h"
#include "util.h"
#include "wire.h"

#define READ_FILE_AND_DIR (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ALL_OF_ABI_1 0x1fffull
#define LOG_FLAGS 6u

static struct ac_err err;
static struct ac_session_policy session;
static const char *policy_copy;
static bool landlock = true, says_exited = true, tells_death, listener = true;
static const char *readable[] = { "/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev" };

static int fail(const char *what)
{
	(void)fprintf(stderr, "session: %s: %s\n", what, err.text[0] ? err.text : strerror(errno));
	return 97;
}

static void add_path(struct ac_path_list *list, const char *path)
{
	struct ac_path_entry *entry = &list->entry[list->count++];
	struct stat st;

	(void)snprintf(entry->path, sizeof(entry->path), "%s", path);
	if (!stat(path, &st)) {
		entry->device = st.st_dev;
		entry->inode = st.st_ino;
		entry->kind = S_ISDIR(st.st_mode) ? AC_PATH_DIRECTORY : AC_PATH_FILE;
	}
}

static uint64_t network_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/net", &status) ? 0 : status.st_ino;
}

static void fill(uid_t uid)
{
	struct ac_plan *plan = &session.plan;
	struct ac_policy *policy = &session.policy;

	(void)snprintf(plan->harness, sizeof(plan->harness), "generic");
	(void)snprintf(plan->user, sizeof(plan->user), "root");
	(void)snprintf(plan->user_home, sizeof(plan->user_home), "/home/dev");
	(void)snprintf(plan->command, sizeof(plan->command), "/bin/sh");
	if (!getcwd(plan->cwd, sizeof(plan->cwd)))
		strcpy(plan->cwd, "/");
	plan->started = (uint64_t)time(NULL);
	plan->sudo_pid = getpid();
	plan->network = network_namespace();
	plan->loginuid = plan->audit_session = UINT32_MAX;
	memcpy(policy->session_id, plan->session_id, sizeof(plan->session_id));
	(void)snprintf(policy->os_user, sizeof(policy->os_user), "agentcell-%s", plan->session_id);
	(void)snprintf(policy->role_user, sizeof(policy->role_user), "agentcell-worker");
	policy->uid = policy->gid = uid;
	(void)snprintf(policy->home, sizeof(policy->home), "/home/agentcell-%s", plan->session_id);
	(void)snprintf(policy->backup_id, sizeof(policy->backup_id), "20261130T000000Z-%s",
		plan->session_id);
	(void)snprintf(policy->backup_directory, sizeof(policy->backup_directory),
		"/var/lib/agentcell/backups/root");
	(void)snprintf(policy->firewall_rule, sizeof(policy->firewall_rule), "none");
	(void)snprintf(policy->responses, sizeof(policy->responses), "killed at the first escape");
	plan->declared_paths = policy->write_paths;
	plan->risk = policy->risk;
	plan->wall_clock_limit_s = policy->limits.wall_clock_s;
	policy->limits.processes = 512;
	policy->limits.open_files = 1024;
	policy->limits.home_bytes = 1 << 20;
	policy->limits.cpu_weight = 100;
}

static int copy_policy(void)
{
	ac_autoclose int fd = policy_copy ? open(policy_copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
					  : -1;

	return policy_copy ? ac_policy_write(fd, &session, &err) : 0;
}

/* For the test, which looks at the end whether anything is left. */
static void note_id(const char *id)
{
	ac_autofclose FILE *file = fopen("/run/ids", "ae");

	if (file)
		(void)fprintf(file, "%s\n", id);
}

/* The set-up steps that sudo's side has behind it when the listener comes in. */
static int set_up(struct ac_journal *journal, int *cgroup_fd)
{
	static const enum ac_state states[] = { AC_STATE_PLANNED, AC_STATE_POLICY, AC_STATE_BACKUP,
		AC_STATE_ACCOUNT, AC_STATE_FIREWALL, AC_STATE_MONITOR };
	const char *id = session.plan.session_id;

	if (ac_journal_create(id, journal, &err))
		return -1;
	for (unsigned i = 0; i < AC_COUNT(states); i++)
		if (ac_journal_append(
			    journal, (struct ac_life){ .state = (unsigned char)states[i] }))
			return -1;
	if (ac_policy_write(journal->directory_fd, &session, &err) || copy_policy())
		return -1;
	note_id(id);
	*cgroup_fd = ac_cgroup_make(id, &session.policy.limits, NULL, &err);
	return *cgroup_fd < 0 ? -1 : 0;
}

/* Says, and expects one kind of answer; anything else is printed. */
static int ask(int fd, enum ac_wire_type type, int32_t value, const int *fds, unsigned count,
	enum ac_wire_type wanted)
{
	struct ac_wire message;

	ac_wire_make(&message, type, session.plan.session_id, value, "");
	if (ac_wire_send(fd, &message, fds, count, &err) ||
		ac_wire_receive(fd, &message, NULL, NULL, NULL, 10000, &err))
		return fail("talk to the listener");
	if (message.type == wanted)
		return 0;
	(void)printf("refused: %s\n", message.text);
	return 99;
}

static int allow(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = access,
		.parent_fd = open(path, O_PATH | O_CLOEXEC) };
	long rc;

	if (beneath.parent_fd < 0)
		return errno == ENOENT ? 0 : -1;
	rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	close(beneath.parent_fd);
	return (int)rc;
}

static int confine(void)
{
	uint64_t handled = ALL_OF_ABI_1;
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	int rc = ruleset < 0 ? -1 : 0;

	for (unsigned i = 0; !rc && i < AC_COUNT(readable); i++)
		rc = allow(ruleset, readable[i], READ_FILE_AND_DIR | LANDLOCK_ACCESS_FS_EXECUTE);
	if (!rc)
		rc = allow(ruleset, "/dev", LANDLOCK_ACCESS_FS_WRITE_FILE);
	for (unsigned i = 0; !rc && i < session.policy.write_paths.count; i++)
		rc = allow(ruleset, session.policy.write_paths.entry[i].path, ALL_OF_ABI_1);
	if (!rc)
		rc = allow(ruleset, "/tmp", ALL_OF_ABI_1);
	if (!rc)
		rc = (int)syscall(SYS_landlock_restrict_self, ruleset,
			ac_landlock_abi() < AC_LANDLOCK_LOGS ? 0 : LOG_FLAGS);
	close(ruleset);
	return rc;
}

/* Never returns: the launcher and what it becomes. */
static void launch(int fd, char **command)
{
	uid_t uid = session.policy.uid;
	struct ac_wire message;

	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
		prctl(PR_SET_PDEATHSIG, 0))
		_exit(fail("take the uid"));
	ac_wire_make(&message, AC_WIRE_READY, session.plan.session_id, getpid(), "");
	if (listener && (ac_wire_send(fd, &message, NULL, 0, &err) ||
				ac_wire_receive(fd, &message, NULL, NULL, NULL, 15000, &err) ||
				message.type != AC_WIRE_GO))
		_exit(fail("wait for GO"));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || (landlock && confine()))
		_exit(fail("confine"));
	execvp(command[0], command);
	_exit(127);
}

/* The others of the session may outlive the one that we know.  Looked at again and again: the kernel tells
 * of changes at most every 10 ms (kernel/cgroup/cgroup.c), and not at all when the cgroup is gone by then. */
static void wait_empty(int cgroup_fd)
{
	const struct timespec moment = { .tv_nsec = 200000 };
	int fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t length;

	while ((length = pread(fd, text, sizeof(text) - 1, 0)) > 0) {
		text[length] = 0;
		if (strstr(text, "populated 0"))
			break;
		(void)nanosleep(&moment, NULL);
	}
	close(fd);
}

static void print_death(int cgroup_fd)
{
	struct timespec now;

	wait_empty(cgroup_fd);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)printf("death %lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

/* Until the listener says how it ended. */
static int supervise(int fd, pid_t child, int cgroup_fd, const char *state_file)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), status;
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN } };
	struct ac_wire message;

	if (state_file) {
		ac_autofclose FILE *file = fopen(state_file, "we");

		if (file)
			(void)fprintf(file, "%s %d %d\n", session.plan.session_id, (int)getpid(),
				(int)child);
	}
	for (;;) {
		(void)poll(fds, 2, -1);
		if (fds[1].revents) {
			if (tells_death)
				print_death(cgroup_fd);
			(void)waitpid(child, &status, 0);
			fds[1].fd = -1;
			ac_wire_make(&message, AC_WIRE_EXITED, session.plan.session_id, status, "");
			if (says_exited)
				(void)ac_wire_send(fd, &message, NULL, 0, &err);
		}
		if (!fds[0].revents)
			continue;
		if (ac_wire_receive(fd, &message, NULL, NULL, NULL, 1000, &err)) {
			(void)printf("lost: %s\n", err.text);
			return 98;
		}
		(void)printf("%s", message.text);
		if (message.type == AC_WIRE_ENDED)
			return message.value;
	}
}

static int run(char **command, const char *state_file)
{
	struct ac_journal journal = AC_JOURNAL_CLOSED;
	int pair[2], fds[2], cgroup_fd, rc;
	int fd = ac_wire_connect(&err);
	pid_t child;

	if (fd < 0 || set_up(&journal, &cgroup_fd) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail("set up");
	fds[0] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	fds[1] = pair[0];
	rc = ask(fd, AC_WIRE_HELLO, 0, NULL, 0, AC_WIRE_WELCOME);
	if (!rc)
		rc = ask(fd, AC_WIRE_REGISTER, 0, fds, 2, AC_WIRE_REGISTERED);
	close(pair[0]);
	close(fds[0]);
	if (!rc && ac_journal_append(&journal, (struct ac_life){ .state = AC_STATE_SWITCH }))
		rc = fail("journal");
	ac_journal_unlock(&journal);
	if (!rc)
		rc = ask(fd, AC_WIRE_ARM, 0, NULL, 0, AC_WIRE_ARMED);
	if (rc) {
		if (!ac_journal_lock(&journal)) {
			(void)ac_journal_remove(&journal, NULL);
			(void)ac_cgroup_remove(session.plan.session_id, NULL);
		}
		return rc;
	}
	ac_journal_close(&journal);
	child = fork();
	if (child == 0)
		launch(pair[1], command);
	close(pair[1]);
	return supervise(fd, child, cgroup_fd, state_file);
}

int main(int argc, char **argv)
{
	const char *state_file = NULL;
	uid_t uid = 71001;
	int option;

	session.policy.risk = AC_RISK_MEDIUM;
	session.policy.limits.wall_clock_s = 60;
	if (ac_session_id_make(session.plan.session_id, &err))
		return fail("make an id");
	while ((option = getopt(argc, argv, "+i:u:r:w:p:b:e:CLNTs:P:")) != -1) {
		if (option == 'i')
			(void)snprintf(session.plan.session_id, sizeof(session.plan.session_id),
				"%s", optarg);
		else if (option == 'u')
			uid = (uid_t)strtoul(optarg, NULL, 10);
		else if (option == 'r' && ac_risk_parse(optarg, &session.policy.risk, &err))
			return fail("risk");
		else if (option == 'w')
			session.policy.limits.wall_clock_s = strtoul(optarg, NULL, 10);
		else if (option == 'p')
			add_path(&session.policy.write_paths, optarg);
		else if (option == 'b')
			add_path(&session.policy.bait_paths, optarg);
		else if (option == 'e' &&
			 ac_endpoint_parse(optarg,
				 &session.policy.endpoints[session.policy.endpoint_count++], &err))
			return fail("endpoint");
		else if (option == 'C')
			says_exited = false;
		else if (option == 'P')
			policy_copy = optarg;
		else if (option == 'T')
			tells_death = true;
		else if (option == 'L')
			landlock = false;
		else if (option == 'N')
			listener = false;
		else if (option == 's')
			state_file = optarg;
		else if (option == '?')
			return 97;
	}
	if (optind == argc)
		return fail("no command");
	fill(uid);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (!listener)
		launch(-1, argv + optind);
	return run(argv + optind, state_file);
}

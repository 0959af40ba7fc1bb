/* SPDX-License-Identifier: ISC */
/*
 * The child that is the user.
 *
 * It is forked from sudo's own process, so it first gives up what is not its business: descriptors,
 * signal handlers, and root.  Messages to the parent are of one fixed size below PIPE_BUF; the
 * parent believes only their form, since they come from a process of the user.
 */
#include "backup_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backup_opener.h"
#include "safefile.h"
#include "util.h"

#define REPORT_MAGIC 0x41434250u
#define STORE_FD 3
#define REPORT_FD 4

enum report_kind { REPORT_PROGRESS = 1, REPORT_DONE, REPORT_FAILED };

struct report {
	uint32_t magic, kind;
	struct ac_backup_totals totals;
	struct ac_err err;
};

_Static_assert(sizeof(struct report) < 4096, "a report must be written atomically (PIPE_BUF)");

static void send_report(
	enum report_kind kind, const struct ac_backup_totals *totals, const struct ac_err *err)
{
	struct report report = { .magic = REPORT_MAGIC, .kind = (uint32_t)kind };

	if (totals)
		report.totals = *totals;
	if (err)
		report.err = *err;
	if (write(REPORT_FD, &report, sizeof report) != (ssize_t)sizeof report)
		_exit(1); /* nobody waits for the rest */
}

static void tell_progress(void *context, const struct ac_backup_totals *totals)
{
	(void)context;
	send_report(REPORT_PROGRESS, totals, NULL);
}

/* A user's tiny limits would kill or cripple the backup.  Root may lift them (CAP_SYS_RESOURCE);
 * where it may not, the soft ones go up to the hard ones. */
static void raise_limits(void)
{
	static const int resources[] = { RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA,
		RLIMIT_NOFILE, RLIMIT_NPROC };

	for (unsigned i = 0; i < AC_COUNT(resources); i++) {
		struct rlimit limit;
		__rlimit_resource_t which = (__rlimit_resource_t)resources[i];

		if (getrlimit(which, &limit))
			continue;
		struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

		if (resources[i] != RLIMIT_NOFILE && !setrlimit(which, &all))
			continue;
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(which, &limit);
	}
	struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL); /* fails for some; those have no handler */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* so that a write says EFBIG and a person reads it */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

struct hand_over { /* descriptors for the child */
	int store_fd, report_fd;
	const int *kept;
	unsigned kept_count;
};

static int move_to(int from, int to)
{
	return dup3(from, to, O_CLOEXEC) < 0 ? -errno : 0;
}

/* Leaves 0, 1, 2 on /dev/null, the store on 3, the pipe on 4, then the kept ones, and nothing else. */
static int keep_descriptors(const struct hand_over *hand_over)
{
	const int high = AC_BACKUP_KEPT_FD + AC_PATHS_MAX; /* out of the way first */
	int kept[AC_PATHS_MAX], store, report, result = 0;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	store = fcntl(hand_over->store_fd, F_DUPFD_CLOEXEC, high);
	report = fcntl(hand_over->report_fd, F_DUPFD_CLOEXEC, high);
	null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, high);
	if (store < 0 || report < 0 || null < 0 || hand_over->kept_count > AC_PATHS_MAX)
		return -EMFILE;
	for (unsigned i = 0; i < hand_over->kept_count; i++)
		kept[i] = fcntl(hand_over->kept[i], F_DUPFD_CLOEXEC, high);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (!result)
		result = move_to(store, STORE_FD);
	if (!result)
		result = move_to(report, REPORT_FD);
	for (unsigned i = 0; !result && i < hand_over->kept_count; i++)
		result = kept[i] < 0 ? -EMFILE : move_to(kept[i], AC_BACKUP_KEPT_FD + (int)i);
	if (!result && close_range(AC_BACKUP_KEPT_FD + hand_over->kept_count, ~0u, 0) < 0)
		result = -errno;
	return result;
}

/* For good: real, effective, saved and fs ids, and no way to gain any by an exec. */
int ac_backup_drop(const struct ac_identity *who)
{
	uid_t real, effective, saved;
	gid_t group, egroup, sgroup;

	if (setgroups(who->group_count, who->groups) < 0 ||
		setresgid(who->gid, who->gid, who->gid) < 0 ||
		setresuid(who->uid, who->uid, who->uid) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	if (getresuid(&real, &effective, &saved) < 0 || getresgid(&group, &egroup, &sgroup) < 0)
		return -errno;
	if (real != who->uid || effective != who->uid || saved != who->uid || group != who->gid ||
		egroup != who->gid || sgroup != who->gid || (who->uid && !setuid(0)))
		return -EPERM;
	return 0;
}

static void be_the_child(const struct ac_backup_request *request, ac_backup_work *work,
	void *context, const struct hand_over *hand_over, pid_t parent)
{
	struct ac_backup_request own = *request;
	struct ac_backup_totals totals;
	struct ac_err err = { EIO, "the backup failed" };
	struct ac_opener opener;
	int result;

	memset(&totals, 0, sizeof totals);
	reset_signals();
	raise_limits();
	umask(077);
	if (keep_descriptors(hand_over))
		_exit(1);
	result = ac_opener_start(&opener, &request->identity);
	if (!result)
		result = ac_backup_drop(&request->identity);
	if (result) {
		ac_fail_errno(&err, -result, "become uid %u for the backup",
			(unsigned)request->identity.uid);
		send_report(REPORT_FAILED, NULL, &err);
		_exit(1);
	}
	/* After the change of ids, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	own.progress = request->progress ? tell_progress : NULL;
	own.progress_context = NULL;
	own.opener = &opener;
	result = work(STORE_FD, &own, context, &totals, &err);
	ac_opener_stop(&opener);
	send_report(result ? REPORT_FAILED : REPORT_DONE, &totals, &err);
	_exit(result ? 1 : 0);
}

/* One whole report: 1, end of file: 0, otherwise -errno. */
static int receive_report(int fd, struct report *report)
{
	unsigned char *to = (unsigned char *)report;
	size_t done = 0;

	while (done < sizeof *report) {
		ssize_t got = read(fd, to + done, sizeof *report - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return done ? -EBADMSG : 0;
		done += (size_t)got;
	}
	if (report->magic != REPORT_MAGIC || report->kind < REPORT_PROGRESS ||
		report->kind > REPORT_FAILED || report->err.code < 0 ||
		!memchr(report->err.text, '\0', sizeof report->err.text))
		return -EBADMSG;
	return 1;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

/* Reads reports until the child has closed its end.  The last one decides. */
static int listen_to(int fd, pid_t pid, const struct ac_backup_request *request,
	struct ac_backup_totals *totals, struct ac_err *err)
{
	struct report report = { .kind = 0 };
	enum report_kind last = REPORT_PROGRESS;
	int result;

	if (request->meanwhile)
		request->meanwhile(request->meanwhile_context);
	while ((result = receive_report(fd, &report)) > 0) {
		last = (enum report_kind)report.kind;
		if (last != REPORT_PROGRESS)
			break;
		if (request->progress)
			request->progress(request->progress_context, &report.totals);
	}
	if (result <= 0)
		kill(pid, SIGKILL);
	int status = wait_for(pid);

	if (last == REPORT_FAILED)
		return ac_fail(err, report.err.code ? report.err.code : EIO, "%s", report.err.text);
	/* Where SIGCHLD is ignored there is no status to be had; the report is enough. */
	bool has_ended_well = status == -ECHILD ||
			      (status >= 0 && WIFEXITED(status) && !WEXITSTATUS(status));

	if (result <= 0 || last != REPORT_DONE || !has_ended_well)
		return ac_fail(err, EIO,
			"the backup process ended without a result (status %d); was it killed, or "
			"the store damaged?",
			status);
	*totals = report.totals;
	return 0;
}

/* <backups>/<user>, made when missing.  Everything above it is root's. */
static int open_store(const struct ac_backup_request *request, struct ac_err *err)
{
	char parent[AC_PATH_MAX];
	const char *slash = strrchr(request->directory, '/');
	const char *name = slash ? slash + 1 : "";
	struct stat st;

	if (!slash || slash == request->directory || !name[0] || name[0] == '.' ||
		strlen(request->directory) >= sizeof parent)
		return ac_fail(err, EINVAL, "%s is no place for backups", request->directory);
	memcpy(parent, request->directory, (size_t)(slash - request->directory));
	parent[slash - request->directory] = '\0';
	ac_autoclose int parent_fd = ac_make_directory(parent, 0755, err);

	if (parent_fd < 0)
		return parent_fd;
	if (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
		return ac_fail_errno(err, errno, "make %s", request->directory);
	ac_autoclose int fd = openat(
		parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "open %s", request->directory);
	/* Root's: made just now, or by one who was killed before this line.  Only root makes
	 * names here, so it is nobody else's directory. */
	if (st.st_uid == 0 && request->identity.uid != 0 &&
		(fchown(fd, request->identity.uid, request->identity.gid) < 0 ||
			fchmod(fd, 0700) < 0 || fstat(fd, &st) < 0))
		return ac_fail_errno(err, errno, "hand %s to its user", request->directory);
	if (st.st_uid != request->identity.uid || (st.st_mode & 077))
		return ac_fail(err, EPERM,
			"%s must belong to uid %u with mode 0700; it has uid %u, mode %04o",
			request->directory, (unsigned)request->identity.uid, (unsigned)st.st_uid,
			(unsigned)st.st_mode & 07777);
	return ac_take_fd(&fd);
}

int ac_backup_as_user(const struct ac_backup_request *request, ac_backup_work *work, void *context,
	const int *kept, unsigned kept_count, struct ac_backup_totals *totals, struct ac_err *err)
{
	int ends[2];
	ac_autoclose int store_fd = open_store(request, err);
	pid_t parent = getpid();

	if (store_fd < 0)
		return store_fd;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return ac_fail_errno(err, errno, "make a pipe");
	ac_autoclose int reader = ends[0];
	ac_autoclose int writer = ends[1];
	pid_t pid = fork();

	if (pid < 0)
		return ac_fail_errno(err, errno, "start the backup process");
	if (!pid)
		be_the_child(request, work, context,
			&(struct hand_over){ .store_fd = store_fd,
				.report_fd = writer,
				.kept = kept,
				.kept_count = kept_count },
			parent);
	close(ac_take_fd(&writer));
	return listen_to(reader, pid, request, totals, err);
}

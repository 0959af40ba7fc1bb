/* SPDX-License-Identifier: ISC */
/*
 * Proof, once a second, that no process of the uid range lives without a session: neither registered
 * here nor leased to one on its way in or out.  A stray is killed by the pidfd that was taken when it
 * was first seen, when it is still there at the next look, and reported.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "account.h"
#include "cell.h"
#include "util.h"

static bool is_stray(struct ac_guardian *guardian, const char *name, uid_t *uid)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%.20s", name);
	if (stat(path, &st) || st.st_uid < guardian->config->uid_first ||
		st.st_uid > guardian->config->uid_last)
		return false;
	*uid = st.st_uid;
	return !ac_cell_of_uid(guardian, st.st_uid) && !ac_account_is_leased(st.st_uid);
}

static bool is_alive(int pidfd)
{
	struct pollfd poll_fd = { .fd = pidfd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 0;
}

/* Those of the last look: still there, still strays, then dead. */
static void kill_known(struct ac_guardian *guardian)
{
	for (unsigned i = 0; i < guardian->stray_count; i++) {
		struct ac_stray *stray = &guardian->stray[i];
		char name[24];
		uid_t uid;

		(void)snprintf(name, sizeof(name), "%d", (int)stray->pid);
		if (is_stray(guardian, name, &uid) && is_alive(stray->pidfd)) {
			syslog(LOG_ALERT, "process %d has uid %u, which no session has: killed",
				(int)stray->pid, uid);
			(void)syscall(SYS_pidfd_send_signal, stray->pidfd, SIGKILL, NULL, 0);
		}
		close(stray->pidfd);
	}
	guardian->stray_count = 0;
}

static void note(struct ac_guardian *guardian, const char *name)
{
	struct ac_stray *stray = &guardian->stray[guardian->stray_count];

	if (guardian->stray_count == AC_STRAYS_MAX)
		return; /* the rest has its turn */
	stray->pid = (pid_t)strtol(name, NULL, 10);
	stray->pidfd = (int)syscall(SYS_pidfd_open, stray->pid, 0);
	guardian->stray_count += stray->pidfd >= 0;
}

void ac_adopt_strays(struct ac_guardian *guardian)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uid_t uid;

	kill_known(guardian);
	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
			is_stray(guardian, entry->d_name, &uid))
			note(guardian, entry->d_name);
	if (proc)
		closedir(proc);
}

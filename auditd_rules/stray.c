/* SPDX-License-Identifier: ISC */
/*
 * Proof, once a second, that no process of the uid range lives without a session: neither registered
 * here nor leased to one on its way in or out.  A stray is killed by its pidfd and reported.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "cell.h"
#include "util.h"

/* A lease names the session of a uid: with one, somebody is at work on it. */
static bool is_leased(uid_t uid)
{
	char path[AC_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%u", AC_UIDS_DIRECTORY, uid);
	return access(path, F_OK) == 0;
}

static void kill_stray(pid_t pid, uid_t uid)
{
	ac_autoclose int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (pidfd < 0 || stat(path, &st) || st.st_uid != uid)
		return;
	syslog(LOG_ALERT, "process %d has uid %u, which no session has: killed", (int)pid, uid);
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

void ac_adopt_strays(struct ac_guardian *guardian)
{
	uid_t first = guardian->config->uid_first, last = guardian->config->uid_last;
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		struct stat st;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
			fstatat(dirfd(proc), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			st.st_uid < first || st.st_uid > last)
			continue;
		if (!ac_cell_of_uid(guardian, st.st_uid) && !is_leased(st.st_uid))
			kill_stray((pid_t)strtol(entry->d_name, NULL, 10), st.st_uid);
	}
	if (proc)
		closedir(proc);
}

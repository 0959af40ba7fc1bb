// SPDX-License-Identifier: ISC
/*
 * What a uid may leave behind in the host's IPC namespace: System V objects by owner or creator
 * (an owner may give its object away by IPC_SET, never the creator's mark), shared memory files and
 * message queues by owner.  The kernel's tables are walked by index, so nothing is parsed.
 */
#include "account.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "safefile.h"
#include "util.h"

union semaphore_argument { /* semctl(2) wants the caller to define it */
	int value;
	struct semid_ds *status;
	struct seminfo *info;
};

static bool is_of(const struct ipc_perm *permissions, uid_t uid)
{
	return permissions->uid == uid || permissions->cuid == uid;
}

/* Root may look at every object, so the *_STAT that every kernel has will do. */
static int remove_shared_memory(uid_t uid)
{
	struct shm_info info;
	struct shmid_ds status = { 0 };
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info), code = 0;

	for (int i = 0; i <= last; i++) {
		int id = shmctl(i, SHM_STAT, &status);

		if (id >= 0 && is_of(&status.shm_perm, uid) && shmctl(id, IPC_RMID, NULL) &&
			errno != EIDRM && errno != EINVAL)
			code = -errno;
	}
	return code;
}

static int remove_message_queues(uid_t uid)
{
	struct msginfo info;
	struct msqid_ds status = { 0 };
	int last = msgctl(0, MSG_INFO, (struct msqid_ds *)(void *)&info), code = 0;

	for (int i = 0; i <= last; i++) {
		int id = msgctl(i, MSG_STAT, &status);

		if (id >= 0 && is_of(&status.msg_perm, uid) && msgctl(id, IPC_RMID, NULL) &&
			errno != EIDRM && errno != EINVAL)
			code = -errno;
	}
	return code;
}

static int remove_semaphores(uid_t uid)
{
	struct seminfo info;
	struct semid_ds status = { 0 };
	int last = semctl(0, 0, SEM_INFO, (union semaphore_argument){ .info = &info }), code = 0;

	for (int i = 0; i <= last; i++) {
		int id = semctl(i, 0, SEM_STAT, (union semaphore_argument){ .status = &status });

		if (id >= 0 && is_of(&status.sem_perm, uid) && semctl(id, 0, IPC_RMID) &&
			errno != EIDRM && errno != EINVAL)
			code = -errno;
	}
	return code;
}

/* A directory of the uid, with everything in it (which may be root's by now: no matter). */
static int remove_tree(int at, const char *name, struct ac_err *err)
{
	ac_autoclose int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int code;

	if (fd < 0)
		return ac_fail_errno(err, errno, "open a directory below /dev/shm");
	code = ac_remove_below(fd, err);
	if (code)
		return code;
	if (unlinkat(at, name, AT_REMOVEDIR) && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove a directory below /dev/shm");
	return 0;
}

/* Removes the uid's entries of one directory; a directory that does not exist has none. */
static int remove_entries(const char *path, uid_t uid, struct ac_err *err)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	struct stat status;
	int code = 0;

	if (!directory)
		return errno == ENOENT ? 0 : ac_fail_errno(err, errno, "open %s", path);
	while (!code && (entry = readdir(directory))) {
		int fd = dirfd(directory);

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
			status.st_uid != uid)
			continue;
		if (S_ISDIR(status.st_mode))
			code = remove_tree(fd, entry->d_name, err);
		else if (unlinkat(fd, entry->d_name, 0) && errno != ENOENT)
			code = ac_fail_errno(
				err, errno, "remove a file of uid %u in %s", uid, path);
	}
	closedir(directory);
	return code;
}

int ac_account_remove_ipc(uid_t uid, struct ac_err *err)
{
	int code = remove_shared_memory(uid);

	if (!code)
		code = remove_message_queues(uid);
	if (!code)
		code = remove_semaphores(uid);
	if (code)
		return ac_fail_errno(err, -code, "remove the System V IPC objects of uid %u", uid);
	code = remove_entries("/dev/shm", uid, err);
	return code ? code : remove_entries("/dev/mqueue", uid, err);
}

/* SPDX-License-Identifier: ISC */
/*
 * Can the project's file system be idmapped?  Tried on a detached copy of the mount, which nothing
 * sees and which goes with its descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "access.h"
#include "doctor.h"
#include "safefile.h"
#include "util.h"

static int write_map(pid_t pid, const char *name)
{
	static const char map[] = "0 0 4294967295\n";
	ac_autoclose int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : ac_write_all(fd, map, strlen(map));
}

static int open_namespace(pid_t pid)
{
	char path[64];
	int rc = write_map(pid, "uid_map");
	int fd;

	if (rc == 0)
		rc = write_map(pid, "gid_map");
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A user namespace needs a process to be born in it: one that waits until it is killed. */
static int make_namespace(void)
{
	int ready[2], fd;
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) == 0 && write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	fd = pid > 0 && read(ready[0], &byte, 1) == 1 ? open_namespace(pid) : -EPERM;
	close(ready[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return fd;
}

static int probe(const char *directory)
{
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_IDMAP };
	ac_autoclose int tree = -1;
	ac_autoclose int users = make_namespace();

	if (users < 0)
		return users;
	tree = (int)syscall(
		SYS_open_tree, AT_FDCWD, directory, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return -errno;
	attributes.userns_fd = (unsigned)users;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) <
		0)
		return -errno;
	return 0;
}

static void tell_of_acls(struct ac_doctor *doctor)
{
	ac_autoclose int fd = open(doctor->project, O_PATH | O_CLOEXEC);
	struct ac_err err = { 0 };

	if (fd < 0)
		ac_doctor_fail(doctor, "project", "name one that is there (--project DIRECTORY)",
			"cannot open %s: %s", doctor->project, strerror(errno));
	else if (ac_access_is_fit(fd, doctor->project, &err) != 0)
		ac_doctor_fail(doctor, "project", "--project DIRECTORY asks about another place",
			"%s", err.text);
	else
		ac_doctor_note(doctor, "project",
			"the file system of %s cannot be idmapped: sessions there need its ACLs "
			"(agentcell.conf(5), access = acl, says what that costs)",
			doctor->project);
}

void ac_doctor_idmap(struct ac_doctor *doctor)
{
	int rc;

	if (geteuid() != 0) {
		ac_doctor_unknown(doctor, "project", "run it as root",
			"whether the file system of %s can be idmapped", doctor->project);
		return;
	}
	rc = probe(doctor->project);
	if (rc == 0)
		ac_doctor_ok(doctor, "project", "the file system of %s can be idmapped",
			doctor->project);
	else if (doctor->config && doctor->config->access_acl)
		tell_of_acls(doctor);
	else
		ac_doctor_fail(doctor, "project",
			"keep projects on ext4, xfs, btrfs or tmpfs (--project DIRECTORY), or set "
			"access = acl in agentcell.conf",
			"the file system of %s cannot be idmapped: %s", doctor->project,
			strerror(-rc));
}

/* SPDX-License-Identifier: ISC */
/*
 * What a refused name stood for, when the name alone does not say (the judge's RESOLVE).
 *
 * Names change behind their use and processes die; what was refused is in the record: its inode, when
 * the kernel came to it.  So bait is known by its inodes, whatever it was called; else the name is
 * walked, by the process itself or, when it is gone, by the root of another one of the cell.
 * What can't be known any more was refused in any case, and counts as that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cell.h"
#include "util.h"

static void learn(struct ac_cell *cell, int root, const struct ac_path_list *list)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	for (unsigned i = 0; i < list->count; i++) {
		const char *path = list->entry[i].path;
		ac_autoclose int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		struct stat st;

		if (fd < 0 || fstat(fd, &st))
			continue; /* not in this view */
		cell->secrets[cell->secret_count++] = (struct ac_secret){
			{ st.st_ino, major(st.st_dev), minor(st.st_dev) }, path
		};
	}
}

void ac_secrets_learn(struct ac_cell *cell)
{
	const struct ac_policy *policy = &cell->session.policy->policy;
	size_t most = policy->bait_paths.count + policy->excluded_paths.count;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)cell->launcher_pid);
	ac_autoclose int root = open(path, O_PATH | O_CLOEXEC);

	free(cell->secrets);
	cell->secret_count = 0;
	cell->secrets = calloc(most ? most : 1, sizeof(*cell->secrets));
	if (root < 0 || !cell->secrets)
		return; /* names are left */
	learn(cell, root, &policy->bait_paths);
	learn(cell, root, &policy->excluded_paths);
}

static const char *find_secret(const struct ac_cell *cell, const struct ac_object *object)
{
	for (unsigned i = 0; object->inode && i < cell->secret_count; i++) {
		const struct ac_object *secret = &cell->secrets[i].object;

		if (secret->inode == object->inode && secret->major == object->major &&
			secret->minor == object->minor)
			return cell->secrets[i].path;
	}
	return NULL;
}

/* A number that has been given to somebody else's process must not lead us there; one that is dead and
 * not yet buried leads nowhere. */
static bool is_of_cell(const struct ac_cell *cell, pid_t pid)
{
	char path[64], line[256], root[2];
	unsigned uid = AC_UID_UNSET;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ac_autofclose FILE *status = pid > 0 ? fopen(path, "re") : NULL;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Uid: %u", &uid) == 1) /* NOLINT(cert-err34-c): the kernel's */
			break;
	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return uid == cell->uid && readlink(path, root, sizeof(root)) > 0;
}

/* Any process that still stands in the view; 0: none. */
static pid_t find_stand_in(const struct ac_cell *cell)
{
	ac_autoclose int fd = openat(cell->session.cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	ac_autofclose FILE *members = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;

	if (members)
		(void)ac_take_fd(&fd);
	while (members && fscanf(members, "%d", &pid) == 1) /* NOLINT(cert-err34-c): the kernel's */
		if (is_of_cell(cell, pid))
			return pid;
	return 0;
}

static void settle_as(const struct ac_cell *cell, struct ac_report *report, const char *path)
{
	static struct ac_verdict verdict; /* the guardian is one thread; too large for a stack */

	ac_judge_path(&cell->judge, report->operation, false, path, &verdict);
	report->kind = verdict.kind;
	report->class = verdict.class;
	report->reason = verdict.reason;
	(void)snprintf(report->target, sizeof(report->target), "%s", path);
}

static void settle_refused(const struct ac_cell *cell, struct ac_report *report, const char *reason)
{
	report->class = AC_CLASS_OUTSIDE_REFUSED;
	report->kind = ac_class_verdict(report->class, cell->session.policy->policy.risk);
	report->reason = reason;
}

/* A directory on the way refused, and none does now.  /proc changes by itself. */
static bool has_changed(const struct ac_report *report, const struct ac_lead *lead)
{
	return report->barred && !lead->barred && strncmp(lead->path, "/proc/", 6) != 0;
}

void ac_resolve(struct ac_cell *cell, struct ac_report *report)
{
	static struct ac_lead lead;
	const char *secret = find_secret(cell, &report->object);
	pid_t pid = report->pid;
	int rc;

	if (secret) {
		settle_as(cell, report, secret);
		return;
	}
	if (!is_of_cell(cell, pid))
		report->pid = 0; /* leads nowhere */
	rc = ac_lead(report, find_stand_in(cell), &lead);
	report->pid = pid;
	if (rc) {
		settle_refused(cell, report, "refused; where the name led went with its process");
		return;
	}
	settle_as(cell, report, lead.path);
	if (report->kind != AC_VERDICT_ESCAPE && has_changed(report, &lead))
		settle_refused(cell, report, "refused; the name leads elsewhere by now");
}

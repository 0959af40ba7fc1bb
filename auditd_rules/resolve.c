/* SPDX-License-Identifier: ISC */
/*
 * What a refused name stood for, when the name alone does not say (the judge's RESOLVE).
 *
 * Names change behind their use and processes die; what was refused is in the record: its inode, when
 * the kernel came to it.  So bait is known by its inodes, whatever it was called; else the name is
 * walked, by the process itself or, when it is gone, by the root of another one of the cell.
 * What can't be known any more was refused in any case, and counts as that.
 *
 * Of a name that was lost (judge_name.c) the directory is known, and how far the kernel came.  Whatever
 * in it is a symlink that leads just so far may have been named, and the worst of these counts: they
 * lie in a place that the session may fill, and nothing else there is refused to it.
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

struct lost { /* what a lost name may have been */
	const struct ac_cell *cell;
	const struct ac_report *report;
	const struct ac_lead *directory;
	unsigned found;
	struct ac_report worst; /* operation, kind, class, reason, target only */
};

/* Did the kernel come to another directory than that of the name? */
static bool went_on(const struct lost *lost)
{
	return lost->report->object.inode != lost->directory->inode;
}

/* Would it have come as far by this one, and no further? */
static bool leads_so_far(const struct lost *lost, const struct ac_lead *link)
{
	return link->came == lost->report->object.inode &&
	       (link->barred ? lost->report->exit == -EACCES : link->missing && went_on(lost));
}

static void weigh(void *data, const struct ac_lead *link)
{
	static struct ac_report judged;
	struct lost *lost = data;

	if (!leads_so_far(lost, link))
		return;
	judged.operation = AC_OPERATION_WRITE;
	settle_as(lost->cell, &judged, link->path);
	if (!lost->found++ || judged.kind > lost->worst.kind)
		lost->worst = judged;
}

static void settle_lost(
	const struct ac_cell *cell, struct ac_report *report, const struct lost *lost)
{
	const struct ac_lead *directory = lost->directory;
	/* Nothing can be made in it, and the session did not see to that itself. */
	bool refuses = !went_on(lost) && directory->shut && !directory->own;

	settle_as(cell, report, directory->path);
	if (report->kind != AC_VERDICT_SILENT || refuses)
		return;
	if (lost->found) {
		report->kind = lost->worst.kind;
		report->class = lost->worst.class;
		report->reason = lost->worst.reason;
		memcpy(report->target, lost->worst.target, sizeof(report->target));
	} else if (went_on(lost) || (report->exit == -EACCES && !directory->shut)) {
		settle_refused(cell, report, "refused; what was named there is gone");
	}
}

static void find_lost(const struct ac_cell *cell, struct ac_report *report, pid_t other)
{
	static struct ac_lead directory;
	static struct lost lost;
	int rc;

	lost.cell = cell;
	lost.report = report;
	lost.directory = &directory;
	lost.found = 0;
	report->operation = AC_OPERATION_WRITE; /* openat2 does not show what for */
	rc = ac_lead_links(report, other, &directory, weigh, &lost);
	if (rc == -E2BIG)
		settle_refused(cell, report, "refused; more lies there than can be looked through");
	else if (rc)
		settle_refused(cell, report, "refused; where the name led went with its process");
	else
		settle_lost(cell, report, &lost);
}

static void find_named(const struct ac_cell *cell, struct ac_report *report, pid_t other)
{
	static struct ac_lead lead;

	if (ac_lead(report, other, &lead)) {
		settle_refused(cell, report, "refused; where the name led went with its process");
		return;
	}
	settle_as(cell, report, lead.path);
	if (report->kind != AC_VERDICT_ESCAPE && has_changed(report, &lead))
		settle_refused(cell, report, "refused; the name leads elsewhere by now");
}

/* Each name, from each directory that it may start from; the worst of them counts. */
static void find(const struct ac_cell *cell, struct ac_report *report, pid_t other)
{
	static struct ac_report asked, each;
	const char *const names[2] = { asked.target, asked.also };
	const int from[2] = { report->directory, report->other };

	asked = *report;
	for (unsigned i = 0; i < 4; i++) {
		const char *name = names[i / 2];

		if ((i % 2 && from[1] == from[0]) || !*name)
			continue;
		each = asked;
		each.directory = from[i % 2];
		memmove(each.target, name, strlen(name) + 1);
		(asked.lost ? find_lost : find_named)(cell, &each, other);
		if (!i || each.kind > report->kind)
			*report = each;
	}
}

void ac_resolve(struct ac_cell *cell, struct ac_report *report)
{
	const struct ac_session_policy *session = cell->session.policy;
	const char *secret = find_secret(cell, &report->object);
	pid_t pid = report->pid;

	/* By ACL the files stay the user's, where an idmapped mount shows them as the session's. */
	report->owner = session->policy.access_acl ? session->plan.user_uid : 0;
	if (secret) {
		settle_as(cell, report, secret);
		return;
	}
	if (!is_of_cell(cell, pid))
		report->pid = 0; /* leads nowhere */
	find(cell, report, find_stand_in(cell));
	report->pid = pid;
}

/* SPDX-License-Identifier: ISC */
/* Configuration, profiles, launcher, directories and log. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "doctor.h"
#include "safefile.h"
#include "util.h"

/* The other checks need values: an empty file has the built-in ones. */
static void take_defaults(struct ac_doctor *doctor)
{
	ac_autoclose int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ac_config_check(fd, "defaults", doctor->config, NULL, NULL, NULL);
}

static void check_profiles(struct ac_doctor *doctor)
{
	ac_autofree struct ac_harness *harness = calloc(1, sizeof(*harness));
	struct ac_err err = { .code = ENOMEM, .text = "out of memory" };
	int rc = -ENOMEM;

	/* No profile claims a command without a name, so all of them are read. */
	if (harness)
		rc = ac_harness_pick(AC_HARNESS_DIRECTORY, NULL, "",
			doctor->config->default_harness, harness, &err);
	ac_doctor_result(doctor, "profiles", "agentcell check FILE shows every error", rc, &err,
		"all of " AC_HARNESS_DIRECTORY " are valid");
}

void ac_doctor_config(struct ac_doctor *doctor)
{
	struct ac_err err;
	int rc = ac_config_read(AC_CONFIG_FILE, doctor->config, &err);

	if (rc < 0)
		take_defaults(doctor);
	ac_doctor_result(doctor, "configuration",
		"agentcell check " AC_CONFIG_FILE " shows every error; a sample is in conf/", rc,
		&err, AC_CONFIG_FILE " is valid");
	check_profiles(doctor);
	if (!doctor->config->firewall_enabled)
		ac_doctor_note(
			doctor, "firewall", "switched off: every session has the whole network");
}

static void check_launcher(struct ac_doctor *doctor)
{
	static const char remedy[] = "install it again, root's, mode 0755";
	struct ac_err err;
	struct stat st;
	int rc = ac_doctor_trusted(AC_LAUNCHER, &err);

	if (rc < 0)
		ac_doctor_result(doctor, "launcher", remedy, rc, &err, "");
	else if (stat(AC_LAUNCHER, &st) < 0 || !(st.st_mode & S_IXOTH))
		ac_doctor_fail(doctor, "launcher", remedy, AC_LAUNCHER " cannot be executed");
	else if (st.st_mode & (S_ISUID | S_ISGID))
		ac_doctor_fail(doctor, "launcher", remedy, AC_LAUNCHER " has a set-id bit");
	else
		ac_doctor_ok(doctor, "launcher", AC_LAUNCHER);
}

static void check_directory(struct ac_doctor *doctor, const char *name, const char *path)
{
	char remedy[AC_PATH_MAX + 64];
	struct ac_err err;
	int fd = ac_open_trusted_directory(path, &err);

	snprintf(remedy, sizeof(remedy), "mkdir -p %s, root's and writable by root only", path);
	ac_doctor_result(doctor, name, remedy, fd, &err, path);
	if (fd >= 0)
		close(fd);
}

/* No backup, no agent. */
static void check_space(struct ac_doctor *doctor)
{
	const char *path = doctor->config->backup_directory;
	struct statvfs fs;
	unsigned long long mib;

	if (statvfs(path, &fs) < 0)
		return;
	mib = (unsigned long long)fs.f_bavail * fs.f_frsize >> 20;
	if (mib < 256)
		ac_doctor_fail(doctor, "backup space", "free some, or move [backup] directory",
			"%llu MiB are free in %s: no backup, no agent", mib, path);
	else
		ac_doctor_ok(doctor, "backup space", "%llu MiB are free in %s", mib, path);
}

static void check_log(struct ac_doctor *doctor)
{
	const char *path = doctor->config->log_path;
	char directory[AC_PATH_MAX];
	struct stat st;

	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	check_directory(doctor, "log directory", directory[0] ? directory : "/");
	if (lstat(path, &st) < 0)
		return; /* it is made with the first event */
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022) || st.st_nlink != 1)
		ac_doctor_fail(doctor, "log", "move it away; it is made anew",
			"%s must be a regular file of root, with one name, not writable by others",
			path);
	else
		ac_doctor_ok(doctor, "log", "%s", path);
}

void ac_doctor_files(struct ac_doctor *doctor)
{
	check_launcher(doctor);
	check_directory(doctor, "run directory", AC_RUN_DIRECTORY);
	check_directory(doctor, "backup directory", doctor->config->backup_directory);
	check_space(doctor);
	check_log(doctor);
}

/* SPDX-License-Identifier: ISC */
/*
 * sudo, its configuration file, and the plugin.
 *
 * sudo ignores a sudo.conf that is not root's or that others may write, and then knows only the
 * sudoers plugin; a plugin's own file it does not judge at all since 1.9.13.  So both are judged
 * here.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "doctor.h"
#include "safefile.h"
#include "util.h"

#define SUDO_CONF AC_SYSCONFDIR "/sudo.conf"
#define SUDO "/usr/bin/sudo"
#define CONF_MAX 65536

#ifndef AC_SUDO_DIRECTORY
#define AC_SUDO_DIRECTORY "/usr/libexec/sudo"
#endif

/* First line of `sudo -V`; it names the program and its version. */
static int ask_version(char *line, size_t size)
{
	char *const argv[] = { (char[]){ "sudo" }, (char[]){ "-V" }, NULL };
	char *const environment[] = { (char[]){ "LC_ALL=C" }, NULL };
	posix_spawn_file_actions_t actions;
	ac_autofclose FILE *stream = NULL;
	int ends[2], rc, status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	rc = posix_spawn(&pid, SUDO, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	stream = fdopen(ends[0], "r");
	if (rc != 0 || !stream)
		return -(rc ? rc : ENOMEM);
	if (!fgets(line, (int)size, stream))
		line[0] = '\0';
	while (fgetc(stream) != EOF)
		;
	waitpid(pid, &status, 0);
	line[strcspn(line, "\n")] = '\0';
	return line[0] ? 0 : -EIO;
}

static void check_setuid(struct ac_doctor *doctor)
{
	struct stat st;

	if (stat(SUDO, &st) < 0)
		ac_doctor_fail(doctor, "sudo", "install sudo", "%s: %s", SUDO, strerror(errno));
	else if (st.st_uid != 0 || !(st.st_mode & S_ISUID))
		ac_doctor_fail(doctor, "sudo", "chown root " SUDO " && chmod 4755 " SUDO,
			"%s is not setuid root", SUDO);
	else
		ac_doctor_ok(doctor, "sudo", "%s is setuid root", SUDO);
}

/* "Sudo version 1.9.13p3" */
static bool is_new_enough(const char *line)
{
	static const char words[] = "Sudo version 1.9.";

	return strncmp(line, words, strlen(words)) == 0 &&
	       strtoul(line + strlen(words), NULL, 10) >= 13;
}

static void check_version(struct ac_doctor *doctor)
{
	static const char remedy[] = "install sudo 1.9.13 or newer";
	char line[256];
	int rc = ask_version(line, sizeof(line));

	if (rc < 0)
		ac_doctor_fail(doctor, "sudo version", remedy,
			"cannot ask sudo for its version: %s", strerror(-rc));
	else if (strstr(line, "sudo-rs"))
		ac_doctor_fail(doctor, "sudo version", "use the original sudo on this machine",
			"%s: sudo-rs has no plugin interface", line);
	else if (!is_new_enough(line))
		ac_doctor_fail(doctor, "sudo version", remedy,
			"%s is not 1.9.13 or newer, with which agentcell was tried", line);
	else
		ac_doctor_ok(doctor, "sudo version", "%s", line);
}

struct lines { /* what sudo.conf says */
	unsigned policy, audit, io, sudoers_policy, other_policy;
	char plugin[AC_PATH_MAX];
	char directory[AC_PATH_MAX];
	char role[AC_NAME_MAX];
};

/* "Plugin symbol path [options]" */
static void take_plugin(struct lines *lines, char *rest)
{
	const char *symbol = strsep(&rest, " \t");
	const char *path, *option;

	if (!symbol || !rest)
		return;
	rest += strspn(rest, " \t");
	path = strsep(&rest, " \t");
	if (strcmp(symbol, "sudoers_audit") == 0)
		lines->audit++;
	else if (strcmp(symbol, "sudoers_io") == 0)
		lines->io++;
	else if (strcmp(symbol, "sudoers_policy") == 0)
		lines->sudoers_policy++;
	if (strcmp(symbol, "sudoers_agentcell") != 0)
		return;
	lines->policy++;
	snprintf(lines->plugin, sizeof(lines->plugin), "%s", path);
	while ((option = strsep(&rest, " \t")))
		if (strncmp(option, "role=", 5) == 0)
			snprintf(lines->role, sizeof(lines->role), "%s", option + 5);
}

static void take_line(struct lines *lines, char *line)
{
	char *rest = line + strspn(line, " \t");
	const char *word = strsep(&rest, " \t");

	if (!rest || word[0] == '#')
		return;
	rest += strspn(rest, " \t");
	if (strcasecmp(word, "Plugin") == 0) {
		take_plugin(lines, rest);
	} else if (strcasecmp(word, "Path") == 0) {
		const char *name = strsep(&rest, " \t");

		if (rest && strcmp(name, "plugin_dir") == 0)
			snprintf(lines->directory, sizeof(lines->directory), "%s",
				rest + strspn(rest, " \t"));
	}
}

static int read_conf(struct lines *lines, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(AT_FDCWD, SUDO_CONF, CONF_MAX, err);
	char text[CONF_MAX + 1];
	char *rest = text, *line;
	ssize_t length;

	if (fd < 0)
		return fd;
	length = ac_read_all(fd, text, CONF_MAX);
	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read " SUDO_CONF);
	text[length] = '\0';
	while ((line = strstr(text, "\\\n"))) /* a line that goes on */
		memset(line, ' ', 2);
	while ((line = strsep(&rest, "\n")))
		take_line(lines, line);
	return 0;
}

static void check_line(struct ac_doctor *doctor, unsigned count, const char *line)
{
	char remedy[128];

	snprintf(remedy, sizeof(remedy), "add the line to " SUDO_CONF ", once: %s", line);
	if (count == 1)
		ac_doctor_ok(doctor, "sudo.conf", "%s", line);
	else if (count == 0)
		ac_doctor_fail(doctor, "sudo.conf", remedy, "the line is missing: %s", line);
	else
		ac_doctor_fail(
			doctor, "sudo.conf", remedy, "%s: it stands there %u times", line, count);
}

static void check_file(
	struct ac_doctor *doctor, const char *name, const char *directory, const char *file)
{
	char path[2 * AC_PATH_MAX];
	struct ac_err err;
	int rc;

	snprintf(path, sizeof(path), "%s%s%s", file[0] == '/' ? "" : directory,
		file[0] == '/' ? "" : "/", file);
	rc = ac_doctor_trusted(path, &err);
	ac_doctor_result(doctor, name,
		"install it again; it must be root's and writable by root only", rc, &err, path);
}

static void check_role(struct ac_doctor *doctor, const struct lines *lines)
{
	const char *role = lines->role[0] ? lines->role : "agentcell-worker";

	if (strcmp(role, doctor->config->role_user) == 0)
		ac_doctor_ok(doctor, "role", "the plugin and the configuration say %s", role);
	else
		ac_doctor_fail(doctor, "role", "let role= of the Plugin line equal role_user",
			"the plugin has role %s, the configuration %s", role,
			doctor->config->role_user);
}

static void check_conf(struct ac_doctor *doctor)
{
	struct lines lines = { .directory = AC_SUDO_DIRECTORY };
	struct ac_err err;
	int rc = read_conf(&lines, &err);

	ac_doctor_result(doctor, "sudo.conf",
		"sudo ignores such a file: install conf/sudo.conf as root's, mode 0644", rc, &err,
		SUDO_CONF " is root's and writable by root only");
	if (rc < 0)
		return;
	check_line(doctor, lines.policy, "Plugin sudoers_agentcell agentcell_policy.so");
	check_line(doctor, lines.audit, "Plugin sudoers_audit sudoers.so");
	check_line(doctor, lines.io, "Plugin sudoers_io sudoers.so");
	if (lines.sudoers_policy)
		ac_doctor_fail(doctor, "sudo.conf",
			"remove that line: agentcell loads sudoers itself",
			"a line for sudoers_policy: two policies stop sudo for everybody");
	if (!lines.policy)
		return;
	check_file(doctor, "plugin", lines.directory, lines.plugin);
	check_file(doctor, "plugin", lines.directory, "agentcell_switch.so");
	check_file(doctor, "sudoers plugin", lines.directory, "sudoers.so");
	check_role(doctor, &lines);
}

void ac_doctor_sudo(struct ac_doctor *doctor)
{
	check_setuid(doctor);
	check_version(doctor);
	check_conf(doctor);
}

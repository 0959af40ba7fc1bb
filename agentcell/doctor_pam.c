/* SPDX-License-Identifier: ISC */
/*
 * The PAM service of sessions, the module, and the guard in the services through which somebody
 * could become the role account without a cell.
 *
 * A missing service file falls to "other", which usually opens a session without our module, so it
 * has to be there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "doctor.h"
#include "safefile.h"
#include "util.h"

#define PAM_DIRECTORY AC_SYSCONFDIR "/pam.d"
#define SERVICE_MAX 65536
#define DEPTH_MAX 8
#define MODULE "pam_agentcell.so"

#ifndef AC_PAM_DIRECTORY
#define AC_PAM_DIRECTORY "/usr/lib/security"
#endif

struct found { /* in one service, its includes followed */
	unsigned sessions; /* session lines with our module and no argument */
	unsigned after; /* session lines behind it */
	bool guard; /* our module as a guard that stops */
	char role[AC_NAME_MAX];
};

static void read_service(const char *name, struct found *found, unsigned depth);

static const char *next_word(char **rest)
{
	char *word;

	if (!*rest)
		return "";
	*rest += strspn(*rest, " \t");
	if (**rest == '[') { /* a control of several words */
		word = *rest;
		*rest = strchr(word, ']');
		if (*rest) {
			*(*rest)++ = '\0';
			*rest += strspn(*rest, " \t");
		}
		return word;
	}
	word = strsep(rest, " \t");
	return word;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void take_session(struct found *found, const char *control, const char *module, char *rest)
{
	bool stops = strcmp(control, "requisite") == 0 || strcmp(control, "required") == 0;
	bool is_guard = false;
	const char *word;

	if (strcmp(base_name(module), MODULE) != 0) {
		found->after += found->sessions > 0;
		return;
	}
	while (*(word = next_word(&rest))) {
		if (strcmp(word, "guard") == 0)
			is_guard = true;
		else if (strncmp(word, "role=", 5) == 0)
			snprintf(found->role, sizeof(found->role), "%s", word + 5);
	}
	if (is_guard)
		found->guard = found->guard || stops;
	else if (stops)
		found->sessions++;
}

static void take_line(struct found *found, char *line, unsigned depth)
{
	char *rest = line;
	const char *type = next_word(&rest), *control, *module;

	if (strcmp(type, "@include") == 0) {
		read_service(next_word(&rest), found, depth + 1);
		return;
	}
	if (strcmp(type, "session") != 0 && strcmp(type, "-session") != 0)
		return;
	control = next_word(&rest);
	module = next_word(&rest);
	if (strcmp(control, "include") == 0 || strcmp(control, "substack") == 0)
		read_service(module, found, depth + 1);
	else
		take_session(found, control, module, rest);
}

static int read_file(const char *name, char *text)
{
	ac_autoclose int fd = -1;
	char path[256];
	ssize_t length;

	snprintf(path, sizeof(path), PAM_DIRECTORY "/%s", name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = ac_read_all(fd, text, SERVICE_MAX);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	return 0;
}

static void read_service(const char *name, struct found *found, unsigned depth)
{
	ac_autofree char *text = malloc(SERVICE_MAX + 1);
	char *rest = text, *line;

	if (!text || depth > DEPTH_MAX || strchr(name, '/') || read_file(name, text) < 0)
		return;
	while ((line = strstr(text, "\\\n"))) /* a line that goes on */
		memset(line, ' ', 2);
	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, "#")] = '\0';
		take_line(found, line, depth);
	}
}

static void check_service(struct ac_doctor *doctor)
{
	static const char path[] = PAM_DIRECTORY "/" AC_PAM_SERVICE;
	static const char remedy[] = "install conf/pam.d/agentcell as " PAM_DIRECTORY "/agentcell";
	struct found found = { .sessions = 0 };
	struct ac_err err;
	int rc = ac_doctor_trusted(path, &err);

	if (rc < 0) {
		ac_doctor_result(doctor, "pam service", remedy, rc, &err, "");
		return;
	}
	read_service(AC_PAM_SERVICE, &found, 0);
	if (found.sessions != 1)
		ac_doctor_fail(doctor, "pam service", remedy,
			"%s has %u lines 'session requisite " MODULE "', not one", path,
			found.sessions);
	else if (found.after)
		ac_doctor_fail(doctor, "pam service", "put nothing behind " MODULE,
			"%s has a session module behind ours: it would run inside the view", path);
	else
		ac_doctor_ok(doctor, "pam service", "%s opens the cell", path);
}

static bool has_service(const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), PAM_DIRECTORY "/%s", name);
	return stat(path, &st) == 0;
}

static void check_guard(struct ac_doctor *doctor, const char *service)
{
	const char *role = doctor->config->role_user;
	struct found found = { .role = "agentcell-worker" };
	char remedy[256];

	snprintf(remedy, sizeof(remedy),
		"put first into " PAM_DIRECTORY "/%s: session requisite " MODULE " guard%s%s",
		service, strcmp(role, found.role) == 0 ? "" : " role=",
		strcmp(role, found.role) == 0 ? "" : role);
	read_service(service, &found, 0);
	if (!found.guard)
		ac_doctor_fail(doctor, "guard", remedy, "pam.d/%s lets %s in without a cell",
			service, role);
	else if (strcmp(found.role, role) != 0)
		ac_doctor_fail(doctor, "guard", remedy, "pam.d/%s guards %s, not %s", service,
			found.role, role);
	else
		ac_doctor_ok(doctor, "guard", "pam.d/%s refuses %s", service, role);
}

void ac_doctor_pam(struct ac_doctor *doctor)
{
	static const char *const services[] = { "sudo", "sudo-i", "su", "su-l", "login", "sshd",
		"cron", "crond" };
	struct ac_err err;
	unsigned i;
	int rc = ac_doctor_trusted(AC_PAM_DIRECTORY "/" MODULE, &err);

	ac_doctor_result(doctor, "pam module",
		"install " MODULE "; it must be root's and writable by root only", rc, &err,
		AC_PAM_DIRECTORY "/" MODULE);
	check_service(doctor);
	for (i = 0; i < AC_COUNT(services); i++)
		if (has_service(services[i]))
			check_guard(doctor, services[i]);
}

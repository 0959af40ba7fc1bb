/* SPDX-License-Identifier: ISC */
/* The role account must be nobody, and the uid range nobody's. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "doctor.h"
#include "util.h"

#define MAKE_ROLE \
	"useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin"

/* What to do is a command line that ends with the account's name. */
struct remedy {
	char text[160];
};

static struct remedy on_role(const struct ac_doctor *doctor, const char *command)
{
	struct remedy remedy;

	snprintf(remedy.text, sizeof(remedy.text), "%s %s", command, doctor->config->role_user);
	return remedy;
}

static bool in_range(const struct ac_doctor *doctor, uint64_t id)
{
	return id >= doctor->config->uid_first && id <= doctor->config->uid_last;
}

static void check_shell(struct ac_doctor *doctor, const struct passwd *role)
{
	const char *slash = strrchr(role->pw_shell, '/');
	const char *name = slash ? slash + 1 : role->pw_shell;

	if (strcmp(name, "nologin") == 0 || strcmp(name, "false") == 0)
		ac_doctor_ok(doctor, "role shell", "%s", role->pw_shell);
	else
		ac_doctor_fail(doctor, "role shell",
			on_role(doctor, "usermod --shell /usr/sbin/nologin").text,
			"%s has the shell '%s'", role->pw_name, role->pw_shell);
}

static void check_home(struct ac_doctor *doctor, const struct passwd *role)
{
	struct stat st;

	if (lstat(role->pw_dir, &st) == 0)
		ac_doctor_fail(doctor, "role home",
			on_role(doctor, "usermod --home /nonexistent").text,
			"%s has the home %s, which exists", role->pw_name, role->pw_dir);
	else
		ac_doctor_ok(doctor, "role home", "%s does not exist", role->pw_dir);
}

static void check_password(struct ac_doctor *doctor, const struct passwd *role)
{
	const struct spwd *shadow = getspnam(role->pw_name);

	if (!shadow && geteuid() != 0)
		ac_doctor_unknown(doctor, "role password", "run it as root",
			"whether the password of %s is locked", role->pw_name);
	else if (!shadow || (shadow->sp_pwdp[0] != '!' && shadow->sp_pwdp[0] != '*'))
		ac_doctor_fail(doctor, "role password", on_role(doctor, "usermod --lock").text,
			"the password of %s is not locked", role->pw_name);
	else
		ac_doctor_ok(doctor, "role password", "locked");
}

static void check_groups(struct ac_doctor *doctor, const struct passwd *role)
{
	gid_t groups[64];
	int count = AC_COUNT(groups);

	if (getgrouplist(role->pw_name, role->pw_gid, groups, &count) < 0 || count != 1)
		ac_doctor_fail(doctor, "role groups", on_role(doctor, "usermod --groups ''").text,
			"%s is in further groups than its own", role->pw_name);
	else if (role->pw_gid == 0)
		ac_doctor_fail(doctor, "role groups", "give it a group of its own",
			"%s has root's group", role->pw_name);
	else
		ac_doctor_ok(doctor, "role groups", "none but its own");
}

static void check_role(struct ac_doctor *doctor)
{
	const char *name = doctor->config->role_user;
	const struct passwd *role = getpwnam(name);

	if (!role) {
		ac_doctor_fail(doctor, "role account", on_role(doctor, MAKE_ROLE).text,
			"there is no account %s", name);
		return;
	}
	if (role->pw_uid == 0 || in_range(doctor, role->pw_uid))
		ac_doctor_fail(doctor, "role account", "give it a uid outside of uid_range",
			"%s has uid %u", name, role->pw_uid);
	else
		ac_doctor_ok(doctor, "role account", "%s, uid %u", name, role->pw_uid);
	check_shell(doctor, role);
	check_home(doctor, role);
	check_password(doctor, role);
	check_groups(doctor, role);
}

/* name:first:count of subuid(5) */
static bool overlaps_sub_ids(
	const struct ac_doctor *doctor, const char *path, char *who, size_t size)
{
	ac_autofclose FILE *stream = fopen(path, "re");
	char line[512];

	while (stream && fgets(line, sizeof(line), stream)) {
		size_t length = strcspn(line, ":");
		unsigned long long first, count;
		char *end;

		if (line[length] != ':')
			continue;
		first = strtoull(line + length + 1, &end, 10);
		count = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
		if (count && first <= doctor->config->uid_last &&
			first + count > doctor->config->uid_first) {
			snprintf(who, size, "%.*s in %s", (int)length, line, path);
			return true;
		}
	}
	return false;
}

/* A session's account is shown while it runs; it is no clash. */
static bool is_sessions(const char *name)
{
	return strncmp(name, "agentcell-", strlen("agentcell-")) == 0;
}

static bool find_owner(const struct ac_doctor *doctor, char *who, size_t size)
{
	const struct passwd *passwd;
	const struct group *group;
	bool is_taken = false;

	setpwent();
	while (!is_taken && (passwd = getpwent())) {
		is_taken = in_range(doctor, passwd->pw_uid) && !is_sessions(passwd->pw_name);
		if (is_taken)
			snprintf(who, size, "account %s (%u)", passwd->pw_name, passwd->pw_uid);
	}
	endpwent();
	setgrent();
	while (!is_taken && (group = getgrent())) {
		is_taken = in_range(doctor, group->gr_gid) && !is_sessions(group->gr_name);
		if (is_taken)
			snprintf(who, size, "group %s (%u)", group->gr_name, group->gr_gid);
	}
	endgrent();
	return is_taken || overlaps_sub_ids(doctor, AC_SYSCONFDIR "/subuid", who, size) ||
	       overlaps_sub_ids(doctor, AC_SYSCONFDIR "/subgid", who, size);
}

void ac_doctor_account(struct ac_doctor *doctor)
{
	const struct ac_config *config = doctor->config;
	char who[256];

	check_role(doctor);
	if (find_owner(doctor, who, sizeof(who)))
		ac_doctor_fail(doctor, "uid range",
			"choose another uid_range, and the same numbers in the audit rules",
			"%u-%u is not free: %s", config->uid_first, config->uid_last, who);
	else
		ac_doctor_ok(doctor, "uid range", "%u-%u belongs to nobody", config->uid_first,
			config->uid_last);
}

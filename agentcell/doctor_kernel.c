/* SPDX-License-Identifier: ISC */
/* What the kernel offers: Landlock, cgroup v2, seccomp, namespaces; and what would keep sudo out. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "doctor.h"
#include "firewall.h"
#include "landlock.h"
#include "util.h"
#include "wire.h"

#define CGROUP2_MAGIC 0x63677270
#define HELLO_TIMEOUT_MS 3000

static void check_release(struct ac_doctor *doctor)
{
	unsigned long major, minor;
	struct utsname name;
	char *end;

	uname(&name);
	major = strtoul(name.release, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	if (major < 5 || (major == 5 && minor < 14))
		ac_doctor_fail(doctor, "kernel", "boot Linux 5.14 or newer",
			"Linux %s lacks cgroup.kill or idmapped mounts", name.release);
	else
		ac_doctor_ok(doctor, "kernel", "Linux %s", name.release);
}

static void check_landlock(struct ac_doctor *doctor)
{
	int abi = ac_landlock_abi();

	if (abi < 1) {
		ac_doctor_fail(doctor, "landlock", "add landlock to the lsm= boot parameter",
			"not active: %s", abi < 0 ? strerror(-abi) : "version 0");
		return;
	}
	ac_doctor_ok(doctor, "landlock", "ABI %d", abi);
	if (abi < AC_LANDLOCK_LOGS)
		ac_doctor_note(doctor, "landlock",
			"denials leave no audit record before ABI %d; detection rests on the rules",
			AC_LANDLOCK_LOGS);
}

static bool has_word(const char *path, const char *word)
{
	ac_autofclose FILE *stream = fopen(path, "re");
	char found[64];

	while (stream && fscanf(stream, "%63s", found) == 1)
		if (strcmp(found, word) == 0)
			return true;
	return false;
}

static void check_cgroup(struct ac_doctor *doctor)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	unsigned i;

	for (i = 0; i < AC_COUNT(places); i++) {
		char controllers[64];
		struct statfs fs;

		if (statfs(places[i], &fs) < 0 || (unsigned long)fs.f_type != CGROUP2_MAGIC)
			continue;
		ac_doctor_ok(doctor, "cgroup", "version 2 at %s", places[i]);
		snprintf(controllers, sizeof(controllers), "%s/cgroup.controllers", places[i]);
		if (!has_word(controllers, "memory") || !has_word(controllers, "pids"))
			ac_doctor_note(doctor, "cgroup",
				"no memory or pids controller there: limits hold for each process "
				"only (rlimits)");
		return;
	}
	ac_doctor_fail(doctor, "cgroup", "mount -t cgroup2 none /sys/fs/cgroup/unified",
		"no cgroup version 2 hierarchy: a session could not be killed as one");
}

static void check_seccomp(struct ac_doctor *doctor)
{
	static const char path[] = "/proc/sys/kernel/seccomp/actions_avail";

	if (has_word(path, "errno") && has_word(path, "kill_process"))
		ac_doctor_ok(doctor, "seccomp", "filters are available");
	else
		ac_doctor_fail(doctor, "seccomp", "a kernel with CONFIG_SECCOMP_FILTER",
			"no seccomp filters");
}

/* "0 0 4294967295": ids are what they are on the host. */
static bool is_first_namespace(void)
{
	ac_autofclose FILE *stream = fopen("/proc/self/uid_map", "re");
	char line[128], *end;

	if (!stream || !fgets(line, sizeof(line), stream))
		return false;
	return strtoull(line, &end, 10) == 0 && strtoull(end, &end, 10) == 0 &&
	       strtoull(end, &end, 10) == UINT32_MAX;
}

static void check_surroundings(struct ac_doctor *doctor)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		ac_doctor_fail(doctor, "privileges",
			"start it outside of that container or sandbox",
			"no_new_privs is set here: sudo cannot start");
	if (!is_first_namespace())
		ac_doctor_fail(doctor, "namespaces", "run agents on the host, not in a container",
			"this is a user namespace: audit records stay on the host");
	else
		ac_doctor_ok(doctor, "namespaces", "the first user namespace");
}

void ac_doctor_kernel(struct ac_doctor *doctor)
{
	check_release(doctor);
	check_landlock(doctor);
	check_cgroup(doctor);
	check_seccomp(doctor);
	check_surroundings(doctor);
}

static int greet(struct ac_wire *answer, struct ac_err *err)
{
	ac_autoclose int fd = ac_wire_connect(err);
	int rc;

	if (fd < 0)
		return fd;
	ac_wire_make(answer, AC_WIRE_HELLO, NULL, 0, AC_VERSION);
	rc = ac_wire_send(fd, answer, NULL, 0, err);
	if (rc == 0)
		rc = ac_wire_receive(fd, answer, NULL, NULL, NULL, HELLO_TIMEOUT_MS, err);
	if (rc == 0 && answer->type == AC_WIRE_REFUSED)
		return ac_fail(err, EPERM, "the listener refuses: %s", answer->text);
	if (rc == 0 && answer->type != AC_WIRE_WELCOME)
		return ac_fail(err, EBADMSG, "the listener answered something else");
	return rc;
}

static void check_table(struct ac_doctor *doctor)
{
	int rc;

	if (!doctor->config->firewall_enabled)
		return;
	if (geteuid() != 0) {
		ac_doctor_unknown(doctor, "firewall", "run it as root",
			"whether the table inet agentcell is loaded");
		return;
	}
	rc = ac_firewall_is_loaded();
	if (rc == 1)
		ac_doctor_ok(doctor, "firewall", "table inet agentcell is loaded and whole");
	else if (rc == 0)
		ac_doctor_fail(doctor, "firewall", "restart agentcelld, which loads it",
			"table inet agentcell is missing or not whole");
	else
		ac_doctor_fail(doctor, "firewall", "a kernel with nf_tables, and CAP_NET_ADMIN",
			"ask nf_tables: %s", strerror(-rc));
}

void ac_doctor_listener(struct ac_doctor *doctor)
{
	struct ac_wire answer;
	struct ac_err err;
	int rc = greet(&answer, &err);

	ac_doctor_result(doctor, "listener",
		"systemctl start agentcelld; journalctl -u agentcelld says why it does not run", rc,
		&err, AC_SOCKET " answers");
	check_table(doctor);
}

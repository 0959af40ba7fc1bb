/* SPDX-License-Identifier: ISC */
/*
 * Kernel auditing as it is now, not as files say: status, rules in the kernel, and rules of others
 * that would blind us.  What the listener proves with a canary at each session start is explained
 * here beforehand.
 */
#include <errno.h>
#include <fcntl.h>
#include <libaudit.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "safefile.h"
#include "util.h"

#define REPLY_TIMEOUT_MS 2000
#define KEYS_MAX 64
#define KEY_PREFIX "agentcell"
#define RULES_MAX 65536
#define BACKLOG_MIN 1024

struct keys { /* how many rules have which key */
	unsigned count;
	struct {
		char name[64];
		int kernel, file;
	} key[KEYS_MAX];
	bool never_task, wrong_range;
};

static int get_reply(int fd, struct audit_reply *reply)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	for (;;) {
		int n = poll(&poll_fd, 1, REPLY_TIMEOUT_MS);

		if (n <= 0)
			return n == 0 ? -ETIMEDOUT : -errno;
		n = audit_get_reply(fd, reply, GET_REPLY_NONBLOCKING, 0);
		if (n > 0)
			return reply->type == NLMSG_ERROR && reply->error->error
				       ? reply->error->error
				       : 0;
		if (n < 0 && n != -EAGAIN && n != -EINTR)
			return n;
	}
}

static int get_status(int fd, struct audit_status *status)
{
	struct audit_reply reply = { .type = 0 };
	int rc = audit_request_status(fd);

	if (rc < 0)
		return rc;
	do
		rc = get_reply(fd, &reply);
	while (rc == 0 && reply.type != AUDIT_GET);
	if (rc == 0)
		*status = *reply.status;
	return rc;
}

static void count_key(struct keys *keys, const char *name, size_t length, bool in_kernel)
{
	unsigned i;

	for (i = 0; i < keys->count; i++)
		if (strlen(keys->key[i].name) == length &&
			strncmp(keys->key[i].name, name, length) == 0)
			break;
	if (i == KEYS_MAX || length >= sizeof(keys->key[i].name))
		return;
	if (i == keys->count) {
		memcpy(keys->key[i].name, name, length);
		keys->count++;
	}
	*(in_kernel ? &keys->key[i].kernel : &keys->key[i].file) += 1;
}

/* Does a rule with our key look at the configured range, and at no other? */
static bool has_range(const struct ac_config *config, const struct audit_rule_data *rule)
{
	bool first = false, last = false;
	unsigned i;

	for (i = 0; i < rule->field_count; i++) {
		unsigned field = rule->fields[i];
		unsigned op = rule->fieldflags[i];

		if (field != AUDIT_UID && field != AUDIT_LOGINUID)
			continue;
		first |= op == AUDIT_GREATER_THAN_OR_EQUAL && rule->values[i] == config->uid_first;
		last |= op == AUDIT_LESS_THAN_OR_EQUAL && rule->values[i] == config->uid_last;
	}
	return first && last;
}

static void take_rule(
	struct keys *keys, const struct ac_config *config, const struct audit_rule_data *rule)
{
	const char *text = rule->buf;
	unsigned i;

	if ((rule->flags & AUDIT_FILTER_MASK) == AUDIT_FILTER_TASK && rule->action == AUDIT_NEVER)
		keys->never_task = true;
	for (i = 0; i < rule->field_count; i++) {
		unsigned field = rule->fields[i];

		if (field == AUDIT_FILTERKEY &&
			strncmp(text, KEY_PREFIX, strlen(KEY_PREFIX)) == 0) {
			count_key(keys, text, rule->values[i], true);
			keys->wrong_range |= !has_range(config, rule);
		}
		/* the fields with a string, in the order of the strings */
		if (field == AUDIT_FILTERKEY || field == AUDIT_WATCH || field == AUDIT_DIR ||
			field == AUDIT_EXE ||
			(field >= AUDIT_SUBJ_USER && field <= AUDIT_OBJ_LEV_HIGH))
			text += rule->values[i];
	}
}

static int list_rules(int fd, const struct ac_config *config, struct keys *keys)
{
	struct audit_reply reply = { .type = 0 };
	int rc = audit_request_rules_list_data(fd);

	while (rc >= 0) {
		rc = get_reply(fd, &reply);
		if (rc < 0 || reply.type == NLMSG_DONE)
			return rc;
		if (reply.type == AUDIT_LIST_RULES)
			take_rule(keys, config, reply.ruledata);
	}
	return rc;
}

static int read_rules_file(struct keys *keys, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(AT_FDCWD, AC_RULES_FILE, RULES_MAX, err);
	ac_autofree char *text = malloc(RULES_MAX + 1);
	char *rest = text, *line;
	ssize_t length;

	if (fd < 0)
		return fd;
	length = text ? ac_read_all(fd, text, RULES_MAX) : -ENOMEM;
	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read " AC_RULES_FILE);
	text[length] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		const char *key = line[0] == '-' ? strstr(line, "-k " KEY_PREFIX) : NULL;

		if (key)
			count_key(keys, key + 3, strcspn(key + 3, " \t"), false);
	}
	return 0;
}

static void check_rules(struct ac_doctor *doctor, int fd)
{
	static const char remedy[] =
		"augenrules --load, or restart agentcelld; with auditctl -e 2, "
		"reboot";
	struct keys keys = { .count = 0 };
	struct ac_err err;
	unsigned i, total = 0, missing = 0;
	int rc = read_rules_file(&keys, &err);

	if (rc < 0) {
		ac_doctor_result(doctor, "audit rules",
			"install auditd_rules/40-agentcell.rules there", rc, &err, "");
		return;
	}
	rc = list_rules(fd, doctor->config, &keys);
	if (rc < 0) {
		ac_doctor_unknown(doctor, "audit rules", "run it as root", "list the rules: %s",
			strerror(-rc));
		return;
	}
	for (i = 0; i < keys.count; i++) {
		total += (unsigned)keys.key[i].file;
		missing += keys.key[i].kernel < keys.key[i].file
				   ? (unsigned)(keys.key[i].file - keys.key[i].kernel)
				   : 0;
	}
	if (!total || missing)
		ac_doctor_fail(doctor, "audit rules", remedy,
			"%u of %u rules of %s are not in the kernel", missing, total,
			AC_RULES_FILE);
	else if (keys.wrong_range)
		ac_doctor_fail(doctor, "audit rules",
			"put the numbers of uid_range into " AC_RULES_FILE,
			"a rule in the kernel looks at other uids than %u-%u",
			doctor->config->uid_first, doctor->config->uid_last);
	else
		ac_doctor_ok(doctor, "audit rules", "all %u are in the kernel", total);
	if (keys.never_task)
		ac_doctor_fail(doctor, "audit blinders", "auditctl -d never,task, and from rules.d",
			"a rule 'never,task' silences every system call record");
}

static void check_enabled(struct ac_doctor *doctor, const struct audit_status *status)
{
	if (status->enabled)
		ac_doctor_ok(doctor, "auditing", "on%s",
			status->enabled == 2 ? ", rules are locked until reboot" : "");
	else
		ac_doctor_fail(doctor, "auditing",
			doctor->config->enable_audit ? "start agentcelld, which switches it on"
						     : "auditctl -e 1",
			"kernel auditing is off");
}

static void check_status(struct ac_doctor *doctor, const struct audit_status *status)
{
	check_enabled(doctor, status);
	if (status->rate_limit)
		ac_doctor_fail(doctor, "audit rate", "auditctl -r 0, and remove -r from rules.d",
			"rate_limit %u drops records", status->rate_limit);
	else
		ac_doctor_ok(doctor, "audit rate", "not limited");
	if (status->backlog_limit && status->backlog_limit < BACKLOG_MIN)
		ac_doctor_fail(doctor, "audit backlog", "auditctl -b 8192",
			"backlog_limit %u loses records under load", status->backlog_limit);
	else
		ac_doctor_ok(doctor, "audit backlog", "%u", status->backlog_limit);
	if (status->failure == 2)
		ac_doctor_fail(doctor, "audit failure", "auditctl -f 1",
			"a lost record would halt the machine (failure 2)");
	if (status->pid && kill((pid_t)status->pid, 0) < 0 && errno == ESRCH)
		ac_doctor_fail(doctor, "audit daemon", "start auditd again",
			"the kernel sends records to pid %u, which is dead", status->pid);
	if (status->lost)
		ac_doctor_note(doctor, "audit lost", "%u records since the last reset (any reader)",
			status->lost);
}

void ac_doctor_audit(struct ac_doctor *doctor)
{
	ac_autoclose int fd = audit_open();
	struct audit_status status = { 0 };
	int rc;

	if (fd < 0) {
		ac_doctor_fail(doctor, "auditing",
			"a kernel with CONFIG_AUDIT and CONFIG_AUDITSYSCALL",
			"this kernel has no auditing: %s", strerror(errno));
		return;
	}
	rc = get_status(fd, &status);
	if (rc == -EPERM && geteuid() != 0)
		ac_doctor_unknown(doctor, "auditing", "run it as root", "its status and its rules");
	else if (rc < 0)
		ac_doctor_fail(doctor, "auditing",
			"run in the first namespaces, with CAP_AUDIT_CONTROL; boot without audit=0",
			"the kernel does not answer: %s", strerror(-rc));
	if (rc < 0)
		return;
	check_status(doctor, &status);
	check_rules(doctor, fd);
}

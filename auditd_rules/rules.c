/* SPDX-License-Identifier: ISC */
/*
 * Rules and the kernel: which are there, which are not, and making it so.
 */
#include "rules.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

#define FILE_MAX (64u << 10)
#define REPLY_MS 2000

static int read_through(char *text, const char *path, uid_t first, uid_t last,
	struct ac_rules *rules, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(-1, path, FILE_MAX, err);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = ac_read_all(fd, text, FILE_MAX);
	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read %s", path);
	if (strlen(text) != (size_t)length)
		return ac_fail(err, EINVAL, "%s: NUL byte", path);
	return ac_rules_parse(path, text, first, last, rules, err);
}

int ac_rules_read(
	const char *path, uid_t first, uid_t last, struct ac_rules *rules, struct ac_err *err)
{
	char *text = calloc(1, FILE_MAX + 1);
	int rc = text ? read_through(text, path, first, last, rules, err)
		      : ac_fail_errno(err, ENOMEM, "read %s", path);

	free(text);
	return rc;
}

/* The kernel hands a rule back as it was given, whole words only where words are used. */
static bool is_same(const struct audit_rule_data *a, const struct audit_rule_data *b)
{
	size_t used = a->field_count * sizeof(a->fields[0]);

	return a->flags == b->flags && a->action == b->action && a->field_count == b->field_count &&
	       a->buflen == b->buflen && !memcmp(a->mask, b->mask, sizeof(a->mask)) &&
	       !memcmp(a->fields, b->fields, used) && !memcmp(a->values, b->values, used) &&
	       !memcmp(a->fieldflags, b->fieldflags, used) && !memcmp(a->buf, b->buf, a->buflen);
}

static void note_present(struct ac_rules *rules, const struct audit_rule_data *kernel_rule)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (is_same(rules->rule[i].data, kernel_rule))
			rules->rule[i].present = true;
}

static int list_rules(struct ac_rules *rules, struct ac_kernel *kernel)
{
	int rc = audit_request_rules_list_data(kernel->fd);

	while (rc >= 0) {
		struct pollfd poll_fd = { .fd = kernel->fd, .events = POLLIN };
		struct audit_reply reply;

		rc = poll(&poll_fd, 1, REPLY_MS);
		if (rc == 0)
			return -ETIMEDOUT;
		if (rc < 0 && errno == EINTR)
			continue;
		rc = audit_get_reply(kernel->fd, &reply, GET_REPLY_NONBLOCKING, 0);
		if (rc == -EAGAIN || rc == -EINTR)
			rc = 0;
		if (rc <= 0)
			continue;
		if (reply.type == NLMSG_DONE)
			return 0;
		if (reply.type == NLMSG_ERROR && reply.error->error)
			return reply.error->error;
		if (reply.type == AUDIT_LIST_RULES)
			note_present(rules, reply.ruledata);
	}
	return rc;
}

int ac_rules_missing(struct ac_rules *rules, struct ac_kernel *kernel, struct ac_err *err)
{
	int missing = 0, rc;

	for (unsigned i = 0; i < rules->count; i++)
		rules->rule[i].present = false;
	rc = list_rules(rules, kernel);
	if (rc < 0)
		return ac_fail_errno(err, -rc, "ask the kernel for its audit rules");
	for (unsigned i = 0; i < rules->count; i++)
		missing += !rules->rule[i].present;
	return missing;
}

int ac_rules_load(struct ac_rules *rules, struct ac_kernel *kernel, struct ac_err *err)
{
	int missing = ac_rules_missing(rules, kernel, err);

	for (unsigned i = 0; missing > 0 && i < rules->count; i++) {
		struct ac_rule *rule = &rules->rule[i];
		int rc;

		if (rule->present)
			continue;
		rc = audit_add_rule_data(
			kernel->fd, rule->data, (int)rule->data->flags, (int)rule->data->action);
		if (rc <= 0 && rc != -EEXIST)
			return ac_fail_errno(err, rc ? -rc : EIO, "load audit rule of line %u%s",
				rule->line,
				rc == -EPERM ? " (the rules are immutable, -e 2: install the rules "
					       "file and reboot)"
					     : "");
		rule->added = rule->added || rc > 0;
	}
	if (missing > 0)
		missing = ac_rules_missing(rules, kernel, err);
	if (missing > 0)
		return ac_fail(err, EPROTO,
			"%d audit rules were loaded, but the kernel does not list them", missing);
	return missing;
}

void ac_rules_disown(struct ac_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		rules->rule[i].added = false;
}

void ac_rules_unload(struct ac_rules *rules, struct ac_kernel *kernel)
{
	for (unsigned i = 0; i < rules->count; i++) {
		struct ac_rule *rule = &rules->rule[i];

		if (rule->added)
			(void)audit_delete_rule_data(kernel->fd, rule->data, (int)rule->data->flags,
				(int)rule->data->action);
		rule->added = false;
	}
}

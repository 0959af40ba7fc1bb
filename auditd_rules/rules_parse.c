/* SPDX-License-Identifier: ISC */
/*
 * Rule text to the kernel's form.  libaudit's own parser keeps its state in globals and serves one
 * rule per process run; here only its tables of names are used.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "syscalls.h"
#include "util.h"

#define KEY_MAX 64

#ifndef AUDIT_SADDR_FAM
#define AUDIT_SADDR_FAM 113
#endif

#if defined(__x86_64__)
#define OTHER_ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define OTHER_ARCH AUDIT_ARCH_ARM
#endif

static const struct {
	const char *text;
	uint32_t op;
} operators[] = {
	/* Longer ones first. */
	{ ">=", AUDIT_GREATER_THAN_OR_EQUAL },
	{ "<=", AUDIT_LESS_THAN_OR_EQUAL },
	{ "!=", AUDIT_NOT_EQUAL },
	{ "&=", AUDIT_BIT_TEST },
	{ ">", AUDIT_GREATER_THAN },
	{ "<", AUDIT_LESS_THAN },
	{ "=", AUDIT_EQUAL },
	{ "&", AUDIT_BIT_MASK },
};

static int parse_number(const char *text, uint32_t *value)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || end == text || *end || number > UINT32_MAX)
		return -EINVAL;
	*value = (uint32_t)number;
	return 0;
}

static int parse_exit(const char *text, uint32_t *value)
{
	bool negative = *text == '-';
	int number;

	if (!isalpha((unsigned char)text[negative]))
		return parse_number(text, value);
	number = audit_name_to_errno(text + negative);
	if (!number)
		return -EINVAL;
	*value = (uint32_t)(negative ? -number : number);
	return 0;
}

static int parse_arch(const char *text, uint32_t *value)
{
	if (!strcmp(text, "b64"))
		*value = ac_call_native_arch();
	else if (!strcmp(text, "b32"))
		*value = OTHER_ARCH;
	else
		return -EINVAL;
	return 0;
}

static int parse_value(uint32_t field, const char *text, uint32_t *value)
{
	switch (field) {
	case AUDIT_EXIT:
		return parse_exit(text, value);
	case AUDIT_ARCH:
		return parse_arch(text, value);
	default:
		return parse_number(text, value);
	}
}

static int set_key(struct audit_rule_data *rule, const char *key)
{
	size_t length = strlen(key);

	if (!length || length >= KEY_MAX || rule->field_count == AUDIT_MAX_FIELDS || rule->buflen)
		return -EINVAL;
	rule->fields[rule->field_count] = AUDIT_FILTERKEY;
	rule->fieldflags[rule->field_count] = AUDIT_EQUAL;
	rule->values[rule->field_count++] = (uint32_t)length;
	rule->buflen = (uint32_t)length;
	memcpy(rule->buf, key, length);
	return 0;
}

static int add_field(struct audit_rule_data *rule, char *pair)
{
	size_t name = strcspn(pair, "=<>!&");
	int field;

	for (unsigned i = 0; i < AC_COUNT(operators); i++) {
		size_t length = strlen(operators[i].text);
		char *value = pair + name + length;
		uint32_t number;

		if (strncmp(pair + name, operators[i].text, length) != 0)
			continue;
		pair[name] = 0;
		if (!strcmp(pair, "key"))
			return operators[i].op == AUDIT_EQUAL ? set_key(rule, value) : -EINVAL;
		field = strcmp(pair, "saddr_fam") ? audit_name_to_field(pair) : AUDIT_SADDR_FAM;
		if (field < 0 || rule->field_count == AUDIT_MAX_FIELDS ||
			parse_value((uint32_t)field, value, &number))
			return -EINVAL;
		rule->fields[rule->field_count] = (uint32_t)field;
		rule->fieldflags[rule->field_count] = operators[i].op;
		rule->values[rule->field_count++] = number;
		return 0;
	}
	return -EINVAL;
}

static int add_calls(struct audit_rule_data *rule, char *list)
{
	int machine = audit_elf_to_machine(ac_call_native_arch());
	char *save, *name;

	if (!strcmp(list, "all")) {
		for (unsigned i = 0; i < AUDIT_BITMASK_SIZE; i++)
			rule->mask[i] = UINT32_MAX;
		/* The last bits stand for classes of calls; the kernel takes them out again. */
		rule->mask[AUDIT_BITMASK_SIZE - 1] >>= AUDIT_SYSCALL_CLASSES;
		return 0;
	}
	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		uint32_t number;
		int known = audit_name_to_syscall(name, machine);

		if (known >= 0)
			number = (uint32_t)known;
		else if (parse_number(name, &number))
			return -EINVAL;
		if (number / 32 >= AUDIT_BITMASK_SIZE)
			return -EINVAL;
		rule->mask[number / 32] |= 1u << (number % 32);
	}
	return 0;
}

static int set_list(struct audit_rule_data *rule, const char *text)
{
	/* Of all lists and actions the file uses one. */
	if (strcmp(text, "always,exit") != 0)
		return -EINVAL;
	rule->flags = AUDIT_FILTER_EXIT;
	rule->action = AUDIT_ALWAYS;
	return 0;
}

/* NULL, or the word that was not understood. */
static const char *parse_line(char *line, struct audit_rule_data *rule)
{
	char *save, *option;

	for (option = strtok_r(line, " \t", &save); option; option = strtok_r(NULL, " \t", &save)) {
		char *value = strtok_r(NULL, " \t", &save);
		int rc = -EINVAL;

		if (!value)
			return option;
		if (!strcmp(option, "-a"))
			rc = set_list(rule, value);
		else if (!strcmp(option, "-S"))
			rc = add_calls(rule, value);
		else if (!strcmp(option, "-F"))
			rc = add_field(rule, value);
		else if (!strcmp(option, "-k"))
			rc = set_key(rule, value);
		if (rc)
			return value;
	}
	return rule->action == AUDIT_ALWAYS && rule->buflen ? NULL : "the end: no -a or no key";
}

/* A rule that looks at other uids than the sessions' would be blind, or a burden on everyone. */
static bool has_range(const struct audit_rule_data *rule, uid_t first, uid_t last)
{
	unsigned bounds = 0;

	for (unsigned i = 0; i < rule->field_count; i++) {
		uint32_t field = rule->fields[i];

		if (field != AUDIT_UID && field != AUDIT_LOGINUID)
			continue;
		if (rule->fieldflags[i] == AUDIT_GREATER_THAN_OR_EQUAL && rule->values[i] == first)
			bounds |= 1;
		else if (rule->fieldflags[i] == AUDIT_LESS_THAN_OR_EQUAL && rule->values[i] == last)
			bounds |= 2;
		else if (rule->fieldflags[i] != AUDIT_LESS_THAN || rule->values[i] != first)
			return false; /* uid<first: became somebody else (auid range) */
	}
	return bounds == 3;
}

static int add_line(const char *name, unsigned number, char *line, uid_t first, uid_t last,
	struct ac_rules *rules, struct ac_err *err)
{
	struct ac_rule *rule = &rules->rule[rules->count];
	const char *wrong;

	if (rules->count == AC_RULES_MAX)
		return ac_fail(err, E2BIG, "%s:%u: more than %d rules", name, number, AC_RULES_MAX);
	*rule = (struct ac_rule){ calloc(1, sizeof(*rule->data) + KEY_MAX), number, false, false };
	if (!rule->data)
		return ac_fail_errno(err, ENOMEM, "%s:%u", name, number);
	rules->count++;
	wrong = parse_line(line, rule->data);
	if (wrong)
		return ac_fail(err, EINVAL, "%s:%u: not understood: %s", name, number, wrong);
	if (!has_range(rule->data, first, last))
		return ac_fail(err, EINVAL,
			"%s:%u: its range of uids is not uid_range = %u-%u of the configuration: "
			"make the two equal",
			name, number, first, last);
	return 0;
}

int ac_rules_parse(const char *name, char *text, uid_t first, uid_t last, struct ac_rules *rules,
	struct ac_err *err)
{
	unsigned number = 0;

	*rules = (struct ac_rules){ .count = 0 };
	for (char *line = text; line;) {
		char *end = strchr(line, '\n');
		int rc = 0;

		if (end)
			*end = 0;
		number++;
		line += strspn(line, " \t");
		if (*line && *line != '#')
			rc = add_line(name, number, line, first, last, rules, err);
		if (rc) {
			ac_rules_fini(rules);
			return rc;
		}
		line = end ? end + 1 : NULL;
	}
	return rules->count ? 0 : ac_fail(err, EINVAL, "%s: no rules", name);
}

void ac_rules_fini(struct ac_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		free(rules->rule[i].data);
	rules->count = 0;
}

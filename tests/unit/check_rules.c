/* SPDX-License-Identifier: ISC */
/*
 * The rules file: the shipped one, and what must be refused.  That the compiled form is the kernel's own
 * is tested against auditctl in tests/audit.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "../../auditd_rules/rules.h"

#define RANGE "-F uid>=70000 -F uid<=70999 "

static struct ac_rules rules;
static struct ac_err err;

static int parse(const char *text)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s", text);
	return ac_rules_parse("test", copy, 70000, 70999, &rules, &err);
}

START_TEST(shipped_file)
{
	static char text[65536], copy[65536];
	FILE *file = fopen("auditd_rules/40-agentcell.rules", "re");
	unsigned escalated = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 100);
	(void)fclose(file);
	memcpy(copy, text, sizeof(text));
	ck_assert_msg(!ac_rules_parse("file", copy, 70000, 70999, &rules, &err), "%s", err.text);
	ck_assert_uint_ge(rules.count, 20);
	for (unsigned i = 0; i < rules.count; i++) {
		const struct audit_rule_data *rule = rules.rule[i].data;

		ck_assert_msg(!strncmp(rule->buf, "agentcell-", 10), "line %u", rules.rule[i].line);
		ck_assert_uint_eq(rule->flags, AUDIT_FILTER_EXIT);
		ck_assert_uint_eq(rule->fields[0], AUDIT_ARCH);
		escalated += rule->fields[1] == AUDIT_LOGINUID;
	}
	ck_assert_uint_eq(escalated, 1);
	ac_rules_fini(&rules);
	memcpy(copy, text, sizeof(text));
	ck_assert_int_eq(ac_rules_parse("file", copy, 70000, 70500, &rules, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "uid_range = 70000-70500"));
}
END_TEST

START_TEST(one_rule)
{
	const struct audit_rule_data *rule;

	ck_assert_int_eq(parse("# x\n\n-a always,exit -F arch=b64 -S openat,452 " RANGE
			       "-F exit=-EACCES -F a0&=3 -k agentcell-x\n"),
		0);
	ck_assert_uint_eq(rules.count, 1);
	ck_assert_uint_eq(rules.rule[0].line, 3);
	rule = rules.rule[0].data;
	ck_assert_uint_eq(rule->field_count, 6);
	ck_assert_uint_eq(rule->fields[1], AUDIT_UID);
	ck_assert_uint_eq(rule->fieldflags[1], AUDIT_GREATER_THAN_OR_EQUAL);
	ck_assert_uint_eq(rule->values[1], 70000);
	ck_assert_int_eq((int)rule->values[3], -EACCES);
	ck_assert_uint_eq(rule->fieldflags[4], AUDIT_BIT_TEST);
	ck_assert_uint_eq(rule->buflen, 11);
	ck_assert(rule->mask[SYS_openat / 32] & 1u << SYS_openat % 32);
	ck_assert(rule->mask[452 / 32] & 1u << 452 % 32);
	ac_rules_fini(&rules);
}
END_TEST

START_TEST(refused)
{
	static const char *const lines[] = { "", "# nothing", "-D", "-e 2", "-b 8192",
		"-w /etc -p wa -k x", "-a never,exit -F arch=b64 -S all " RANGE "-k x",
		"-a always,exclude " RANGE "-k x",
		"-A always,exit -F arch=b64 -S all " RANGE "-k x",
		"-a always,exit -F arch=b64 -S nosuchcall " RANGE "-k x",
		"-a always,exit -F arch=b64 -S 99999 " RANGE "-k x",
		"-a always,exit -F arch=b64 -S all " RANGE,
		"-a always,exit -F arch=b64 -S all -k x",
		"-a always,exit -F arch=b64 -S all -F uid>=70000 -k x",
		"-a always,exit -F arch=b64 -S all -F uid>=70000 -F uid<=70998 -k x",
		"-a always,exit -F arch=b64 -S all -F uid!=0 " RANGE "-k x",
		"-a always,exit -F arch=b16 -S all " RANGE "-k x",
		"-a always,exit -F arch=b64 -S all -F nosuchfield=1 " RANGE "-k x",
		"-a always,exit -F arch=b64 -S all -F exit=-ENOSUCH " RANGE "-k x",
		"-a always,exit -F arch=b64 -S all -F exit=1x " RANGE "-k x",
		"-a always,exit -F arch=b64 -S all " RANGE "-k x -k y",
		"-a always,exit -F arch=b64 -S all " RANGE "-k",
		"-a always,exit -F arch=b64 -S all " RANGE "-k "
		"0123456789012345678901234567890123456789012345678901234567890123456789" };

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ck_assert_msg(parse(lines[i]) == -EINVAL, "%s", lines[i]);
}
END_TEST

START_TEST(too_many)
{
	static char text[65536];
	size_t used = 0;

	for (unsigned i = 0; i <= AC_RULES_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"-a always,exit -F arch=b64 -S all " RANGE "-k x\n");
	ck_assert_int_eq(ac_rules_parse("test", text, 70000, 70999, &rules, &err), -E2BIG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules");
	TCase *cases = tcase_create("rules");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_test(cases, shipped_file);
	tcase_add_test(cases, one_rule);
	tcase_add_test(cases, refused);
	tcase_add_test(cases, too_many);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

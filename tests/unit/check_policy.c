/* SPDX-License-Identifier: ISC */
/*
 * policy.json: the exact round trip of every field, and refusal of everything that agentcell would
 * not have written.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy.h"
#include "policy_fields.h"
#include "safefile.h"
#include "util.h"

#define ID "0123456789ab"

static struct ac_session_policy session, again;
static struct ac_err err;
static char directory[] = "/tmp/check-policy-XXXXXX";
static char text[4 << 20];
static int directory_fd;

static void fill_paths(struct ac_path_list *list, const char *prefix, unsigned count)
{
	unsigned i;

	list->count = count;
	for (i = 0; i < count; i++) {
		snprintf(list->entry[i].path, AC_PATH_MAX, "/%s/%u \n%%\"\\\377%c", prefix, i,
			(char)(i + 1));
		list->entry[i].device = UINT64_MAX - i;
		list->entry[i].inode = i ? 1ULL << (2 * i) : 0;
		list->entry[i].kind = i & 1 ? AC_PATH_FILE : AC_PATH_DIRECTORY;
	}
}

static void fill_plan(struct ac_plan *plan)
{
	unsigned i;

	strcpy(plan->session_id, ID);
	strcpy(plan->harness, "claude_code");
	strcpy(plan->user, "dev");
	plan->user_uid = UINT32_MAX;
	plan->user_gid = 1000;
	plan->group_count = AC_GROUPS_MAX;
	for (i = 0; i < AC_GROUPS_MAX; i++)
		plan->groups[i] = UINT32_MAX - i;
	memset(plan->user_home, 'h', AC_PATH_MAX - 1);
	plan->user_home[0] = '/';
	strcpy(plan->cwd, "/home/dev/\033[2Jx");
	strcpy(plan->command, "/usr/bin/claude");
	fill_paths(&plan->declared_paths, "declared", AC_PATHS_MAX);
	fill_paths(&plan->read_paths, "read", 0);
	fill_paths(&plan->excluded_paths, "excluded", 1);
	plan->risk = AC_RISK_HIGH;
	plan->wall_clock_limit_s = UINT64_MAX;
	plan->started = 1790000000;
	plan->sudo_pid = 4242;
	plan->network = 4026531840;
	plan->loginuid = UINT32_MAX;
	plan->audit_session = 3;
}

static void fill_policy(struct ac_policy *policy)
{
	unsigned i;

	policy->group_count = 2;
	policy->groups[0] = 2000;
	policy->groups[1] = UINT32_MAX;
	strcpy(policy->session_id, ID);
	strcpy(policy->os_user, "agentcell-" ID);
	strcpy(policy->role_user, "agentcell-worker");
	policy->uid = 70000;
	policy->gid = 70001;
	fill_paths(&policy->write_paths, "write", 2);
	fill_paths(&policy->read_paths, "read", 3);
	fill_paths(&policy->excluded_paths, "excluded", 4);
	fill_paths(&policy->bait_paths, "bait", 5);
	fill_paths(&policy->tool_paths, "tool", AC_PATHS_MAX);
	policy->placements.count = AC_PLACEMENTS_MAX;
	for (i = 0; i < AC_PLACEMENTS_MAX; i++) {
		struct ac_placement *placement = &policy->placements.placement[i];

		placement->kind = (enum ac_placement_kind)(i % 4);
		snprintf(placement->target, AC_PATH_MAX, "%starget \n%u", i % 4 ? "" : "/etc/", i);
		if (i % 4 < 2)
			snprintf(placement->source, AC_PATH_MAX, "/etc/source %u", i);
	}
	policy->env_allowlist.count = AC_ENV_NAMES_MAX;
	for (i = 0; i < AC_ENV_NAMES_MAX; i++)
		snprintf(policy->env_allowlist.name[i], AC_NAME_MAX, "NAME_%u", i);
	policy->endpoint_count = 3;
	policy->endpoints[0] = (struct ac_endpoint){ "api.example.com", 443, 0, 0 };
	policy->endpoints[1] = (struct ac_endpoint){ "10.0.0.0", 65535, AF_INET, 8 };
	policy->endpoints[2] = (struct ac_endpoint){ "::1", 1, AF_INET6, 128 };
	strcpy(policy->egress_proxy, "proxy.example.com:3128");
	policy->tolerated.count = 1;
	strcpy(policy->tolerated.name[0], "notices.example.com");
	policy->firewall_enabled = policy->dev_server = true;
	policy->visitor = 1000;
	strcpy(policy->firewall_rule, "tcp to api.example.com:443, nothing else");
	policy->limits = (struct ac_limits){ 1, 2, 3, 4, 5, 6, 7 };
	policy->risk = AC_RISK_MEDIUM;
	policy->protect_git = true;
	policy->access_acl = true;
	policy->access_umask = 027;
	policy->nested_sandbox = true;
	strcpy(policy->backup_id, "20261130T044712Z-" ID);
	strcpy(policy->backup_directory, "/var/lib/agentcell/backups/dev");
	strcpy(policy->home, "/home/agent");
	strcpy(policy->responses, "escape: killed");
}

static void setup(void)
{
	memset(&session, 0, sizeof(session));
	memset(&again, 0xee, sizeof(again));
	fill_plan(&session.plan);
	fill_policy(&session.policy);
	strcpy(directory, "/tmp/check-policy-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void teardown(void)
{
	unlinkat(directory_fd, AC_POLICY_NAME, 0);
	close(directory_fd);
	rmdir(directory);
}

static size_t write_and_load(void)
{
	ac_autoclose int fd = -1;
	ssize_t length;

	ck_assert_msg(ac_policy_write(directory_fd, &session, &err) == 0, "%s", err.text);
	fd = openat(directory_fd, AC_POLICY_NAME, O_RDONLY | O_CLOEXEC);
	length = ac_read_all(fd, text, sizeof(text) - 1);
	ck_assert_int_gt(length, 0);
	text[length] = '\0';
	return (size_t)length;
}

START_TEST(test_round_trip)
{
	size_t length = write_and_load();

	ck_assert_msg(ac_policy_parse(text, length, &again, &err) == 0, "%s", err.text);
	ck_assert_mem_eq(&again, &session, sizeof(session));
	ck_assert_ptr_null(strchr(text, '\033'));
	ck_assert_ptr_null(memchr(text, 0xff, length));
}
END_TEST

START_TEST(test_written_once_and_private)
{
	struct stat st;

	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), 0);
	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), -EEXIST);
	ck_assert_int_eq(fstatat(directory_fd, AC_POLICY_NAME, &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
	if (geteuid() != 0) {
		puts("SKIP: owner of policy.json (needs root)");
		return;
	}
	ck_assert_msg(ac_policy_read(directory_fd, &again, &err) == 0, "%s", err.text);
	ck_assert_mem_eq(&again, &session, sizeof(session));
	ck_assert_int_eq(fchmodat(directory_fd, AC_POLICY_NAME, 0644, 0), 0);
	ck_assert_int_eq(ac_policy_read(directory_fd, &again, &err), -EPERM);
	ck_assert_int_eq(fchmodat(directory_fd, AC_POLICY_NAME, 0600, 0), 0);
	ck_assert_int_eq(fchownat(directory_fd, AC_POLICY_NAME, 1, 0, 0), 0);
	ck_assert_int_eq(ac_policy_read(directory_fd, &again, &err), -EPERM);
	ck_assert_int_eq(unlinkat(directory_fd, AC_POLICY_NAME, 0), 0);
	ck_assert_int_eq(symlinkat("/etc/passwd", directory_fd, AC_POLICY_NAME), 0);
	ck_assert_int_eq(ac_policy_read(directory_fd, &again, &err), -ELOOP);
}
END_TEST

/* The member of plan (or policy) that field number i names, out of a parsed document. */
static json_object *part_of(json_object *root, bool is_plan)
{
	json_object *part;

	ck_assert(json_object_object_get_ex(root, is_plan ? "plan" : "policy", &part));
	return part;
}

static int parse_object(json_object *root)
{
	size_t length;
	const char *bytes = json_object_to_json_string_length(
		root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE, &length);

	memset(&err, 0, sizeof(err));
	return ac_policy_parse(bytes, length, &again, &err);
}

START_TEST(test_each_field_is_needed)
{
	const struct ac_field *tables[] = { ac_policy_fields, ac_plan_fields };
	unsigned table, checked = 0;

	write_and_load();
	for (table = 0; table < 2; table++) {
		const struct ac_field *field;

		for (field = tables[table]; field->name; field++, checked++) {
			json_object *root = json_tokener_parse(text);

			ck_assert_int_eq(parse_object(root), 0);
			json_object_object_del(part_of(root, table == 1), field->name);
			ck_assert_int_eq(parse_object(root), -EBADMSG);
			ck_assert_msg(strstr(err.text, field->name), "%s", err.text);
			json_object_put(root);
		}
	}
	ck_assert_uint_eq(checked, 35 + 20);
}
END_TEST

START_TEST(test_each_field_has_its_type)
{
	const struct ac_field *tables[] = { ac_policy_fields, ac_plan_fields };
	unsigned table;

	write_and_load();
	for (table = 0; table < 2; table++) {
		const struct ac_field *field;

		for (field = tables[table]; field->name; field++) {
			json_object *root = json_tokener_parse(text);
			json_object *part = part_of(root, table == 1);

			json_object_object_add(part, field->name, json_object_new_double(1.5));
			ck_assert_int_eq(parse_object(root), -EBADMSG);
			json_object_object_add(part, field->name, NULL);
			ck_assert_int_eq(parse_object(root), -EBADMSG);
			json_object_object_add(part, field->name, json_object_new_string("%GG"));
			ck_assert_int_eq(parse_object(root), -EBADMSG);
			json_object_object_add(part, field->name, json_object_new_int64(-1));
			ck_assert_int_eq(
				parse_object(root), field->kind == AC_FIELD_SIGNED ? 0 : -EBADMSG);
			json_object_put(root);
		}
	}
}
END_TEST

START_TEST(test_unknown_fields)
{
	static const char *const parts[] = { "plan", "policy" };
	unsigned i;

	write_and_load();
	for (i = 0; i < 3; i++) {
		json_object *root = json_tokener_parse(text), *part = root;

		if (i < 2)
			json_object_object_get_ex(root, parts[i], &part);
		json_object_object_add(part, "extra", json_object_new_int(1));
		ck_assert_int_eq(parse_object(root), -EBADMSG);
		json_object_put(root);
	}
}
END_TEST

/* Replaces the first `from` in the written text by `to` and parses. */
static int parse_edited(const char *from, const char *to)
{
	static char edited[sizeof(text)];
	char *found = strstr(text, from);

	ck_assert_msg(found, "no %s in the text", from);
	snprintf(edited, sizeof(edited), "%.*s%s%s", (int)(found - text), text, to,
		found + strlen(from));
	memset(&err, 0, sizeof(err));
	return ac_policy_parse(edited, strlen(edited), &again, &err);
}

START_TEST(test_other_spellings)
{
	size_t length = write_and_load();

	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\":70000"), 0);
	/* doubled key: the last would win */
	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\":0,\n    \"uid\":70000"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\": 70000"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\":070000"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\":7e4"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\":4294967296"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"uid\":70000", "\"uid\":18446744073709551616"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"dev\"", "\"\\u0064ev\""), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"dev\"", "\"d%65v\""), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"dev\"", "\"d\\u0000v\""), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"high\"", "\"HIGH\""), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"/read/0", "\"/read/../0"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"kind\":\"file\"", "\"kind\":\"fifo\""), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"port\":443", "\"port\":0"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"port\":443", "\"port\":65536"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"family\":2", "\"family\":3"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"prefix\":8", "\"prefix\":33"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"kind\":\"seed\"", "\"kind\":\"seeds\""), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"/etc/target", "\"/usr/target"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"target %0A1", "\"../target %0A1"), -EBADMSG);
	ck_assert_int_eq(parse_edited("\"source\":\"\"", "\"source\":\"/x\""), -EBADMSG);
	/* the two ids must agree */
	ck_assert_int_eq(parse_edited("\"" ID "\"", "\"0123456789ac\""), -EBADMSG);
	ck_assert_int_eq(ac_policy_parse(text, length - 1, &again, &err), -EBADMSG);
	text[length] = '\n';
	ck_assert_int_eq(ac_policy_parse(text, length + 1, &again, &err), -EBADMSG);
	ck_assert_int_eq(ac_policy_parse("", 0, &again, &err), -EBADMSG);
	ck_assert_int_eq(ac_policy_parse("[]", 2, &again, &err), -EBADMSG);
}
END_TEST

START_TEST(test_every_truncation_and_bit)
{
	size_t length, i;

	/* short lists: the text has some 3 KiB */
	fill_paths(&session.plan.declared_paths, "d", 1);
	fill_paths(&session.policy.tool_paths, "t", 1);
	session.policy.placements.count = 1;
	memset(&session.policy.placements.placement[1], 0,
		(AC_PLACEMENTS_MAX - 1) * sizeof(struct ac_placement));
	session.policy.env_allowlist.count = 2;
	memset(session.policy.env_allowlist.name[2], 0, AC_NAME_MAX);
	strcpy(session.plan.user_home, "/home/dev");
	length = write_and_load();
	for (i = 0; i < length; i += 7)
		ck_assert_int_lt(ac_policy_parse(text, i, &again, &err), 0);
	for (i = 0; i < length; i += 3) {
		char saved = text[i];

		memset(&again, 0, sizeof(again));
		text[i] ^= 1;
		/* an edited value may be valid, but then it must be the value read */
		if (ac_policy_parse(text, length, &again, &err) == 0)
			ck_assert_mem_ne(&again, &session, sizeof(session));
		text[i] = saved;
	}
}
END_TEST

START_TEST(test_bad_values_are_not_written)
{
	session.plan.declared_paths.count = AC_PATHS_MAX + 1;
	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), -EINVAL);
	session.plan.declared_paths.count = 0;
	session.policy.risk = (enum ac_risk)7;
	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), -EINVAL);
	session.policy.risk = AC_RISK_LOW;
	memset(session.plan.user, 'x', sizeof(session.plan.user)); /* no NUL */
	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), -EINVAL);
	strcpy(session.plan.user, "dev");
	strcpy(session.plan.session_id, "0123456789ac");
	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), -EINVAL);
	strcpy(session.plan.session_id, ID);
	session.policy.endpoints[1].port = 0;
	ck_assert_int_eq(ac_policy_write(directory_fd, &session, &err), -EINVAL);
	ck_assert_int_eq(faccessat(directory_fd, AC_POLICY_NAME, F_OK, 0), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy");
	TCase *tcase = tcase_create("policy");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_round_trip);
	tcase_add_test(tcase, test_written_once_and_private);
	tcase_add_test(tcase, test_each_field_is_needed);
	tcase_add_test(tcase, test_each_field_has_its_type);
	tcase_add_test(tcase, test_unknown_fields);
	tcase_add_test(tcase, test_other_spellings);
	tcase_add_test(tcase, test_every_truncation_and_bit);
	tcase_add_test(tcase, test_bad_values_are_not_written);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

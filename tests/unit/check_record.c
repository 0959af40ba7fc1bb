/* SPDX-License-Identifier: ISC */
/*
 * Raw audit records and events: lines as kernels and auditd wrote them, and broken ones.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../auditd_rules/event.h"

static struct ac_record parse(const char *line)
{
	struct ac_record record;

	ck_assert_msg(!ac_record_parse_line(line, strlen(line), &record), "%s", line);
	return record;
}

static void parse_text(const char *line, const char *name, char *text, size_t size)
{
	struct ac_record record = parse(line);
	struct ac_field field;

	ck_assert(ac_record_find(&record, name, &field));
	(void)ac_field_text(&field, text, size);
}

START_TEST(heads)
{
	struct ac_record record = parse(
		"type=SYSCALL msg=audit(1796015080.063:16): arch=c000003e\n");

	ck_assert_int_eq(record.type, AC_RECORD_SYSCALL);
	ck_assert_uint_eq(record.serial, 16);
	ck_assert_uint_eq(record.time_ms, 1796015080063);
	ck_assert_int_eq(parse("node=h type=PATH msg=audit(1.000:2): item=0").type, AC_RECORD_PATH);
	ck_assert_int_eq(parse("type=UNKNOWN[1423] msg=audit(1.000:2): a=b").type, 1423);
	ck_assert_int_eq(parse("type=1424 msg=audit(1.000:2): a=b").type, 1424);
	ck_assert_int_eq(parse("type=DAEMON_START msg=audit(1.000:2): a=b").type, AC_RECORD_DAEMON);
	ck_assert_int_eq(parse("type=LOGIN msg=audit(1.000:2): a=b").type, 0);
}
END_TEST

START_TEST(broken_heads)
{
	static const char *const lines[] = { "", "type=SYSCALL", "type=SYSCALL msg=", "msg=audit(",
		"type=SYSCALL msg=audit(1.0):", "type=SYSCALL msg=audit(1.0:x): a=b",
		"type=SYSCALL msg=audit(1.1000:1): a=b", "type=SYSCALL msg=audit(1.000:1) a=b",
		"type=SYSCALL msg=audit(99999999999.000:1): a=b",
		"type=SYSCALL msg=audit(1.000:99999999999999999999): a=b",
		"type=SYSCALL msg=audit(-1.000:1): a=b", "type=SYSCALL msg=audit(1.000:): a=b" };
	struct ac_record record;

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ck_assert_msg(ac_record_parse_line(lines[i], strlen(lines[i]), &record) == -EBADMSG,
			"%s", lines[i]);
}
END_TEST

START_TEST(enriched_is_cut)
{
	struct ac_record record = parse(
		"type=SYSCALL msg=audit(1.000:2): uid=7 comm=\"x\"\x1dUID=\"root\" uid=0");
	struct ac_span rest = record.body;
	struct ac_field field;
	unsigned count = 0;

	while (ac_record_next(&rest, &field))
		count++;
	ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(names)
{
	char text[AC_PATH_MAX];

	parse_text(
		"type=PATH msg=audit(1.0:2): item=0 name=\"/a b\" x=y", "name", text, sizeof(text));
	ck_assert_str_eq(text, "/a b");
	parse_text("type=PATH msg=audit(1.0:2): name=2F612262", "name", text, sizeof(text));
	ck_assert_str_eq(text, "/a\"b");
	parse_text("type=PATH msg=audit(1.0:2): name=2F610A0962", "name", text, sizeof(text));
	ck_assert_str_eq(text, "/a\n\tb");
	parse_text("type=PATH msg=audit(1.0:2): name=FFFE80", "name", text, sizeof(text));
	ck_assert_str_eq(text, "\xff\xfe\x80");
	parse_text("type=PATH msg=audit(1.0:2): name=(null)", "name", text, sizeof(text));
	ck_assert_str_eq(text, "");
	parse_text("type=1423 msg=audit(1.0:2): path=0061636C", "path", text, sizeof(text));
	ck_assert_str_eq(text, "@acl");
	/* A quoted name that looks like hex is what it says. */
	parse_text("type=PATH msg=audit(1.0:2): name=\"ABCD\"", "name", text, sizeof(text));
	ck_assert_str_eq(text, "ABCD");
	/* An unquoted word that is no hex stands as it is. */
	parse_text("type=SYSCALL msg=audit(1.0:2): tty=pts0", "tty", text, sizeof(text));
	ck_assert_str_eq(text, "pts0");
}
END_TEST

START_TEST(long_names)
{
	char line[2 * AC_PATH_MAX + 200] = "type=PATH msg=audit(1.000:2): item=0 name=";
	struct ac_event event;
	struct ac_record record;
	size_t length = strlen(line);

	for (unsigned i = 0; i < AC_PATH_MAX - 1; i++, length += 2)
		memcpy(line + length, "41", 3);
	record = parse(line);
	ac_event_init(&event, &record);
	ac_event_add(&event, &record);
	ck_assert(!event.path[0].cut);
	ck_assert_uint_eq(strlen(event.path[0].name), AC_PATH_MAX - 1);
	memcpy(line + length, "4141", 5);
	record = parse(line);
	ac_event_add(&event, &record);
	ck_assert(event.path[1].cut);
	ck_assert_uint_eq(strlen(event.path[1].name), AC_PATH_MAX - 1);
}
END_TEST

START_TEST(numbers)
{
	uint64_t u;
	int64_t i;

	ck_assert(ac_span_decimal((struct ac_span){ "-13", 3 }, &i) && i == -13);
	ck_assert(ac_span_decimal((struct ac_span){ "4294967295", 10 }, &i) && i == 4294967295);
	ck_assert(!ac_span_decimal((struct ac_span){ "", 0 }, &i));
	ck_assert(!ac_span_decimal((struct ac_span){ "-", 1 }, &i));
	ck_assert(!ac_span_decimal((struct ac_span){ "1a", 2 }, &i));
	ck_assert(!ac_span_decimal((struct ac_span){ "99999999999999999999", 20 }, &i));
	ck_assert(ac_span_hex((struct ac_span){ "0x11170", 7 }, &u) && u == 0x11170);
	ck_assert(ac_span_hex((struct ac_span){ "c000003e", 8 }, &u) && u == 0xc000003e);
	ck_assert(!ac_span_hex((struct ac_span){ "11111111111111111", 17 }, &u));
	ck_assert(ac_span_octal((struct ac_span){ "0104755", 7 }, &u) && u == 0104755);
	ck_assert(!ac_span_octal((struct ac_span){ "8", 1 }, &u));
}
END_TEST

/* The records of one `cat /etc/shadow` and one refused unlink, from Linux 6.18. */
static const char *const shadow[] = {
	"type=1300 msg=audit(1796015080.063:16): arch=c000003e syscall=257 success=no exit=-13 "
	"a0=ffffff9c a1=5607922a2038 a2=0 a3=0 items=1 ppid=10045 pid=10057 auid=4294967295 "
	"uid=71901 gid=71901 euid=71901 suid=71901 fsuid=71901 egid=71901 sgid=71901 fsgid=71901 "
	"tty=(none) ses=4294967295 comm=\"cat\" exe=\"/usr/bin/cat\" key=\"t2\"",
	"type=1307 msg=audit(1796015080.063:16): cwd=\"/tmp/x\"",
	"type=1302 msg=audit(1796015080.063:16): item=0 name=\"/etc/shadow\" inode=861 dev=fe:00 "
	"mode=0100640 ouid=0 ogid=42 rdev=00:00 nametype=NORMAL cap_fp=0 cap_fi=0 cap_fe=0 "
	"cap_fver=0 cap_frootid=0",
	"type=1327 msg=audit(1796015080.063:16): proctitle=\"cat\"",
	"type=1320 msg=audit(1796015080.063:16): ",
};
static const char *const removal[] = {
	"type=SYSCALL msg=audit(1796015080.063:18): arch=c000003e syscall=87 success=no exit=-13 "
	"a0=1 a1=2 a2=0 a3=0 items=2 ppid=1 pid=2 auid=1000 uid=71901 gid=1 euid=71901 suid=71901 "
	"fsuid=71901 comm=7A20 exe=\"/x\" key=(null)",
	"type=CWD msg=audit(1796015080.063:18): cwd=\"<too_long>\"",
	"type=PATH msg=audit(1796015080.063:18): item=0 name=\"/etc/\" inode=19 dev=fe:00 "
	"mode=040755 nametype=PARENT cap_fp=0",
	"type=PATH msg=audit(1796015080.063:18): item=1 name=\"/etc/passwd\" inode=409610 "
	"dev=fd:1f "
	"mode=0100644 nametype=DELETE cap_fp=3000 cap_fi=0",
};

static void fill(struct ac_event *event, const char *const lines[], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct ac_record record = parse(lines[i]);

		if (!i)
			ac_event_init(event, &record);
		ac_event_add(event, &record);
	}
}

START_TEST(whole_event)
{
	struct ac_event event;

	fill(&event, shadow, 5);
	ck_assert_uint_eq(event.seen, AC_SEEN_SYSCALL | AC_SEEN_CWD | AC_SEEN_PATH | AC_SEEN_END);
	ck_assert_uint_eq(event.arch, 0xc000003e);
	ck_assert_int_eq(event.syscall, 257);
	ck_assert(!event.success);
	ck_assert_int_eq(event.exit, -13);
	ck_assert_uint_eq(event.a[0], 0xffffff9c);
	ck_assert_int_eq(event.pid, 10057);
	ck_assert_int_eq(event.ppid, 10045);
	ck_assert_uint_eq(event.uid, 71901);
	ck_assert_uint_eq(event.auid, AC_UID_UNSET);
	ck_assert_str_eq(event.comm, "cat");
	ck_assert_str_eq(event.exe, "/usr/bin/cat");
	ck_assert_str_eq(event.cwd, "/tmp/x");
	ck_assert_str_eq(event.path[0].name, "/etc/shadow");
	ck_assert_uint_eq(event.path[0].object.inode, 861);
	ck_assert_uint_eq(event.path[0].object.major, 0xfe);
	ck_assert_uint_eq(event.path[0].mode, 0100640);
	ck_assert(!event.path[0].file_caps);
}
END_TEST

START_TEST(parent_and_odd_values)
{
	struct ac_event event;

	fill(&event, removal, 4);
	ck_assert_uint_eq(event.path_count, 1);
	ck_assert_str_eq(event.path[0].name, "/etc/passwd");
	ck_assert_str_eq(event.parent[0].name, "/etc/");
	ck_assert(event.path[0].file_caps);
	ck_assert_uint_eq(event.path[0].object.minor, 0x1f);
	ck_assert_str_eq(event.comm, "z ");
	ck_assert_str_eq(event.cwd, "");
	ck_assert_uint_eq(event.auid, 1000);
}
END_TEST

START_TEST(other_records)
{
	struct ac_event event;
	static const char *const landlock[] = {
		"type=UNKNOWN[1423] msg=audit(1.000:9): domain=111ed0435 blockers=fs.read_file "
		"path=\"/x/secret\" dev=\"vda\" ino=11018389",
		"type=UNKNOWN[1424] msg=audit(1.000:9): domain=111ed0435 status=allocated "
		"mode=enforcing pid=26926 uid=61901 exe=\"/usr/bin/ll\" comm=\"ll\"",
	};
	static const char *const ended[] = {
		"type=1424 msg=audit(1.000:9): domain=1 status=deallocated denials=1026"
	};
	static const char *const packet[] = {
		"type=NETFILTER_PKT msg=audit(1.000:9): mark=0x11559 saddr=10.0.0.1 "
		"daddr=192.0.2.7 proto=6"
	};
	static const char *const object[] = {
		"type=OBJ_PID msg=audit(1.000:9): opid=1 oauid=-1 ouid=0 oses=-1 ocomm=\"init\""
	};
	static const char *const seccomp[] = {
		"type=SECCOMP msg=audit(1.000:9): auid=5 uid=71901 gid=1 ses=1 pid=10 comm=\"x\" "
		"exe=\"/x\" sig=0 arch=c000003e syscall=165 compat=0 ip=0x7fce01 code=0x50000"
	};
	static const char *const address[] = {
		"type=SOCKADDR msg=audit(1.000:9): saddr=020000507F0000010000000000000000"
	};

	fill(&event, landlock, 2);
	ck_assert_uint_eq(event.domain, 0x111ed0435);
	ck_assert_str_eq(event.blockers, "fs.read_file");
	ck_assert_str_eq(event.landlock_path, "/x/secret");
	ck_assert_uint_eq(event.uid, 61901);
	ck_assert(!event.domain_ended);
	fill(&event, ended, 1);
	ck_assert(event.domain_ended);
	fill(&event, packet, 1);
	ck_assert_uint_eq(event.mark, 0x11559);
	ck_assert_str_eq(event.packet_address, "192.0.2.7");
	ck_assert_uint_eq(event.protocol, 6);
	fill(&event, object, 1);
	ck_assert_uint_eq(event.object_uid, 0);
	fill(&event, seccomp, 1);
	ck_assert_uint_eq(event.seccomp_code, 0x50000);
	ck_assert_int_eq(event.syscall, 165);
	fill(&event, address, 1);
	ck_assert_uint_eq(event.address_length, 16);
	ck_assert_uint_eq(event.address[4], 127);
}
END_TEST

START_TEST(owners)
{
	struct ac_record record = parse(shadow[0]);
	uint32_t uid, auid;

	ck_assert(ac_record_owner(&record, &uid, &auid));
	ck_assert_uint_eq(uid, 71901);
	ck_assert_uint_eq(auid, AC_UID_UNSET);
	record = parse("type=NETFILTER_PKT msg=audit(1.0:1): mark=0x11559 saddr=1.1.1.1");
	ck_assert(ac_record_owner(&record, &uid, &auid) && uid == 0x11559);
	record = parse(shadow[1]);
	ck_assert(!ac_record_owner(&record, &uid, &auid));
	/* What the cell chooses comes quoted or as hex: it can't put in a field of its own. */
	record = parse("type=SYSCALL msg=audit(1.0:1): comm=2075696430 auid=1 uid=2");
	ck_assert(ac_record_owner(&record, &uid, &auid) && uid == 2);
}
END_TEST

/* However a record is cut off, nothing is read behind its end (run under ASan). */
START_TEST(every_cut)
{
	for (unsigned i = 0; i < 5; i++)
		for (size_t length = 0; length <= strlen(shadow[i]); length++) {
			char *copy = malloc(length + 1);
			struct ac_record record;
			struct ac_event event;

			memcpy(copy, shadow[i], length);
			if (!ac_record_parse_line(copy, length, &record)) {
				ac_event_init(&event, &record);
				ac_event_add(&event, &record);
			}
			free(copy);
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *cases = tcase_create("record");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_test(cases, heads);
	tcase_add_test(cases, broken_heads);
	tcase_add_test(cases, enriched_is_cut);
	tcase_add_test(cases, names);
	tcase_add_test(cases, long_names);
	tcase_add_test(cases, numbers);
	tcase_add_test(cases, whole_event);
	tcase_add_test(cases, parent_and_odd_values);
	tcase_add_test(cases, other_records);
	tcase_add_test(cases, owners);
	tcase_add_test(cases, every_cut);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

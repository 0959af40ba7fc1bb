/* SPDX-License-Identifier: ISC */
/*
 * The hot thread's work without the thread: records in, freezes and kills out (into files of memory
 * that stand for cgroup.freeze and cgroup.kill).
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../auditd_rules/watch.h"

#define UID 70001
#define OTHER 70002
#define CALL \
	"type=SYSCALL msg=audit(%u.%03u:%u): arch=c000003e syscall=%d success=%s exit=%d a0=%x " \
	"a1=0 " \
	"a2=0 a3=0 items=1 ppid=9 pid=%d auid=1000 uid=%u gid=1 euid=%u suid=%u fsuid=%u ses=1 " \
	"comm=\"x\" exe=\"/usr/bin/x\" key=\"k\""

static struct ac_session_policy session, other_session;
static struct ac_silent silent;
static struct ac_judge judge = { .session = &session, .silent = &silent };
static struct ac_judge other_judge = { .session = &other_session, .silent = &silent };
static struct ac_watch *watch;
static struct ac_watched watched;
static struct ac_report report;
static int freeze_fd, kill_fd, other_freeze_fd, other_kill_fd;
static unsigned clock_ms;

static void record(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void record(const char *format, ...)
{
	char line[8192];
	struct ac_record parsed;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	ck_assert_msg(!ac_record_parse_line(line, strlen(line), &parsed), "%s", line);
	ac_watch_record(watch, &parsed);
}

static void call(unsigned serial, uint32_t uid, int number, int code, int pid)
{
	record(CALL, clock_ms / 1000, clock_ms % 1000, serial, number, code < 0 ? "no" : "yes",
		code, 0xffffff9c, pid, uid, uid, uid, uid);
}

static void path(unsigned serial, const char *name)
{
	record("type=CWD msg=audit(1.000:%u): cwd=\"/home/dev/app\"", serial);
	record("type=PATH msg=audit(1.000:%u): item=0 name=\"%s\" nametype=NORMAL cap_fp=0", serial,
		name);
}

static void end(unsigned serial)
{
	record("type=EOE msg=audit(1.000:%u): ", serial);
}

static char state(int fd)
{
	char c = '0';

	(void)!pread(fd, &c, 1, 0);
	return c;
}

static const struct ac_watched *seen(uint32_t uid)
{
	ck_assert(ac_watch_read(watch, uid, &watched));
	return &watched;
}

static void init(struct ac_session_policy *one, uint32_t uid)
{
	memset(one, 0, sizeof(*one));
	one->policy.uid = one->policy.gid = uid;
	one->policy.risk = AC_RISK_MEDIUM;
	(void)strcpy(one->policy.home, "/home/cell");
	(void)strcpy(one->plan.user_home, "/home/dev");
	(void)strcpy(one->plan.cwd, "/home/dev/app");
	one->policy.write_paths.count = one->policy.bait_paths.count = 1;
	(void)strcpy(one->policy.write_paths.entry[0].path, "/home/dev/app");
	(void)strcpy(one->policy.bait_paths.entry[0].path, "/home/dev/.ssh");
}

static void set_up(void)
{
	static const char text[] =
		"baseline /usr/** -- x\nprivate /tmp/** -- x\nprogram sudo -- x\n";
	struct ac_err err;

	ck_assert(!ac_silent_parse("t", text, sizeof(text) - 1, &silent, &err));
	init(&session, UID);
	init(&other_session, OTHER);
	clock_ms = 1000;
	watch = ac_watch_create(70000, 70999, &err);
	ck_assert_ptr_nonnull(watch);
	freeze_fd = memfd_create("freeze", 0);
	kill_fd = memfd_create("kill", 0);
	other_freeze_fd = memfd_create("freeze", 0);
	other_kill_fd = memfd_create("kill", 0);
	ck_assert(!ac_watch_add(watch, UID, &judge, freeze_fd, kill_fd, &err));
	ck_assert(!ac_watch_add(watch, OTHER, &other_judge, other_freeze_fd, other_kill_fd, &err));
}

static void tear_down(void)
{
	ac_watch_destroy(watch);
	close(freeze_fd);
	close(kill_fd);
	close(other_freeze_fd);
	close(other_kill_fd);
}

static void arm(uint32_t uid, unsigned serial)
{
	ac_watch_arm(watch, uid, 100);
	call(serial, uid, 59, 0, 100);
	path(serial, "/usr/bin/x");
	end(serial);
	ck_assert(seen(uid)->armed);
}

START_TEST(registration)
{
	struct ac_err err;

	ck_assert_int_eq(ac_watch_add(watch, UID, &judge, 0, 0, &err), -EEXIST);
	ck_assert_int_eq(ac_watch_add(watch, 1000, &judge, 0, 0, &err), -ERANGE);
	ck_assert(!ac_watch_read(watch, 70003, &watched));
	ac_watch_remove(watch, UID);
	ck_assert(!ac_watch_read(watch, UID, &watched));
	ck_assert(!ac_watch_add(watch, UID, &judge, freeze_fd, kill_fd, &err));
}
END_TEST

START_TEST(canary)
{
	call(1, UID, 257, -13, 5);
	path(1, "/run/agentcell/sessions/canary");
	end(1);
	ck_assert_uint_eq(seen(UID)->canary, AC_CANARY_RULE);
	record("type=1423 msg=audit(1.000:2): domain=1a blockers=fs.read_dir path=\"/\"");
	record("type=1424 msg=audit(1.000:2): domain=1a status=allocated pid=5 uid=%u comm=\"x\"",
		UID);
	ck_assert_uint_eq(seen(UID)->canary, AC_CANARY_RULE | AC_CANARY_LANDLOCK);
	ck_assert_uint_eq(seen(OTHER)->canary, 0);
	ck_assert(!seen(UID)->escaped);
}
END_TEST

START_TEST(the_launcher_is_not_the_agent)
{
	ac_watch_arm(watch, UID, 100);
	call(1, UID, 117, 0, 100); /* setresuid, of the launcher */
	end(1);
	call(2, UID, 257, -13, 100);
	path(2, "/home/dev/.ssh/x");
	end(2);
	call(3, UID, 59, 0, 101); /* somebody else's exec */
	end(3);
	ck_assert(!seen(UID)->armed && !seen(UID)->escaped);
	call(4, UID, 59, 0, 100);
	path(4, "/usr/bin/sudo"); /* the harness itself is judged, too */
	ck_assert(seen(UID)->armed && seen(UID)->escaped);
	ck_assert_int_eq(state(kill_fd), '1');
}
END_TEST

START_TEST(killed_at_the_decisive_record)
{
	arm(UID, 1);
	call(2, UID, 257, -13, 102);
	ck_assert_int_eq(state(kill_fd), '0');
	path(2, "/home/dev/.ssh/id_rsa");
	ck_assert_int_eq(state(freeze_fd), '1');
	ck_assert_int_eq(state(kill_fd), '1');
	ck_assert(seen(UID)->escaped);
	end(2);
	ck_assert_str_eq(seen(UID)->escape.target, "/home/dev/.ssh/id_rsa");
	ck_assert_int_eq(watched.escape.pid, 102);
	ck_assert_int_eq(state(other_kill_fd), '0');
	/* The first one is what is reported. */
	call(3, UID, 257, -13, 103);
	path(3, "/home/dev/.ssh/other");
	end(3);
	ck_assert_int_eq(seen(UID)->escape.pid, 102);
}
END_TEST

START_TEST(interleaved)
{
	arm(UID, 1);
	arm(OTHER, 2);
	call(3, UID, 257, -13, 1);
	call(4, OTHER, 257, -13, 2);
	call(5, 1000, 257, -13, 3); /* nobody of ours */
	path(5, "/home/dev/.ssh/x");
	path(4, "/home/dev/.ssh/x");
	ck_assert_int_eq(state(kill_fd), '0');
	ck_assert_int_eq(state(other_kill_fd), '1');
	path(3, "/usr/lib/x");
	end(4);
	end(3);
	end(5);
	ck_assert(!seen(UID)->escaped);
	ck_assert(seen(OTHER)->escaped);
}
END_TEST

START_TEST(landlock)
{
	arm(UID, 1);
	/* The domain's first denial says whose it is. */
	record("type=1423 msg=audit(1.000:2): domain=2b blockers=fs.read_dir path=\"/mnt\"");
	record("type=1424 msg=audit(1.000:2): domain=2b status=allocated pid=7 uid=%u comm=\"x\"",
		UID);
	call(2, UID, 257, -13, 7);
	path(2, "/mnt");
	end(2);
	ck_assert_uint_eq(seen(UID)->denied, 1);
	ck_assert(ac_watch_take(watch, &report));
	ck_assert_str_eq(report.target, "/mnt");
	ck_assert_int_eq(report.pid, 7);
	ck_assert_str_eq(report.cwd, "/home/dev/app");
	/* Later ones are known by their domain, before SYSCALL is there. */
	record("type=1423 msg=audit(1.000:3): domain=2b blockers=fs.read_file "
	       "path=\"/home/dev/.ssh/x\"");
	ck_assert_int_eq(state(kill_fd), '1');
	/* A domain that nobody knows waits for SYSCALL. */
	arm(OTHER, 4);
	record("type=1423 msg=audit(1.000:5): domain=3c blockers=fs.read_file "
	       "path=\"/home/dev/.ssh/x\"");
	ck_assert_int_eq(state(other_kill_fd), '0');
	call(5, OTHER, 257, -13, 7);
	ck_assert_int_eq(state(other_kill_fd), '1');
	/* The end of a domain only counts. */
	record("type=1424 msg=audit(1.000:6): domain=2b status=deallocated denials=2");
	ck_assert(!ac_watch_take(watch, &report));
}
END_TEST

START_TEST(resolving_freezes)
{
	arm(UID, 1);
	call(2, UID, 257, -13, 7);
	path(2, "link");
	ck_assert_int_eq(state(freeze_fd), '1');
	ck_assert_int_eq(state(kill_fd), '0');
	end(2);
	ck_assert_uint_eq(seen(UID)->resolving, 1);
	ck_assert(ac_watch_take(watch, &report));
	ck_assert_int_eq(report.kind, AC_VERDICT_RESOLVE);
	ck_assert_str_eq(report.target, "/home/dev/app/link");
	report.kind = AC_VERDICT_SILENT;
	ac_watch_resolved(watch, UID, &report);
	ck_assert_int_eq(state(freeze_fd), '0');
	call(3, UID, 257, -13, 7);
	path(3, "link");
	end(3);
	ac_watch_freeze(watch, UID, true); /* sudo was stopped, too */
	ck_assert(ac_watch_take(watch, &report));
	report.kind = AC_VERDICT_DENIED;
	ac_watch_resolved(watch, UID, &report);
	ck_assert_int_eq(state(freeze_fd), '1');
	ac_watch_freeze(watch, UID, false);
	ck_assert_int_eq(state(freeze_fd), '0');
	call(4, UID, 257, -13, 7);
	path(4, "link");
	end(4);
	ck_assert(ac_watch_take(watch, &report));
	report.kind = AC_VERDICT_ESCAPE;
	ac_watch_resolved(watch, UID, &report);
	ck_assert_int_eq(state(kill_fd), '1');
	ac_watch_freeze(watch, UID, false);
	ck_assert_int_eq(state(freeze_fd), '1'); /* nothing thaws a cell that is being killed */
}
END_TEST

START_TEST(unresolved_when_the_ring_is_full)
{
	arm(UID, 1);
	for (unsigned serial = 2; serial < 2 + 192; serial++) {
		call(serial, UID, 257, -13, 7);
		path(serial, "link");
		end(serial);
	}
	ck_assert(!seen(UID)->escaped);
	call(300, UID, 257, -13, 7);
	path(300, "link");
	end(300);
	ck_assert(seen(UID)->escaped);
	ck_assert_int_eq(state(kill_fd), '1');
}
END_TEST

START_TEST(packet_and_its_process)
{
	arm(UID, 1);
	record("type=NETFILTER_PKT msg=audit(1.000:2): mark=0x%x saddr=10.0.0.1 daddr=192.0.2.7 "
	       "proto=6",
		UID);
	ck_assert_int_eq(state(kill_fd), '1');
	ck_assert_int_eq(seen(UID)->escape.pid, 0);
	ck_assert_str_eq(watched.escape.target, "192.0.2.7");
	call(3, UID, 42, -115, 76); /* another's, to 192.0.2.70 */
	record("type=SOCKADDR msg=audit(1.000:3): saddr=02000050C00002460000000000000000");
	end(3);
	ck_assert_int_eq(seen(UID)->escape.pid, 0);
	call(4, UID, 42, -111, 77);
	record("type=SOCKADDR msg=audit(1.000:4): saddr=02000050C00002070000000000000000");
	end(4);
	ck_assert_int_eq(seen(UID)->escape.pid, 77);
	ck_assert_str_eq(watched.escape.target, "192.0.2.7:80");
	ck_assert_int_eq(watched.escape.class, AC_CLASS_NETWORK);
	call(5, UID, 42, -111, 78); /* the first one stays */
	record("type=SOCKADDR msg=audit(1.000:5): saddr=02000051C00002070000000000000000");
	end(5);
	ck_assert_int_eq(seen(UID)->escape.pid, 77);
	ck_assert_str_eq(watched.escape.target, "192.0.2.7:80");
}
END_TEST

START_TEST(packet_of_ipv6_and_its_port)
{
	arm(UID, 1);
	record("type=NETFILTER_PKT msg=audit(1.000:2): mark=0x%x saddr=2001:db8::9 "
	       "daddr=2001:db8::2 proto=6",
		UID);
	ck_assert_str_eq(seen(UID)->escape.target, "2001:db8::2");
	call(3, UID, 42, -115, 77);
	record("type=SOCKADDR msg=audit(1.000:3): "
	       "saddr=0A0001BB0000000020010DB800000000000000000000000200000000");
	end(3);
	ck_assert_int_eq(seen(UID)->escape.pid, 77);
	ck_assert_str_eq(watched.escape.target, "[2001:db8::2]:443");
}
END_TEST

/* Under way when it was recorded: it is the one nevertheless, and it is no look-up any more. */
START_TEST(datagram_and_its_process)
{
	arm(UID, 1);
	record("type=NETFILTER_PKT msg=audit(1.000:2): mark=0x%x saddr=2001:db8::9 "
	       "daddr=2001:db8::7 proto=17",
		UID);
	ck_assert_int_eq(seen(UID)->escape.class, AC_CLASS_LOOKUP);
	call(3, UID, 44, -1, 77);
	record("type=SOCKADDR msg=audit(1.000:3): "
	       "saddr=0A0001BB0000000020010DB800000000000000000000000700000000");
	end(3);
	ck_assert_int_eq(seen(UID)->escape.pid, 77);
	ck_assert_str_eq(watched.escape.target, "[2001:db8::7]:443");
	ck_assert_int_eq(watched.escape.class, AC_CLASS_NETWORK);
}
END_TEST

START_TEST(flood)
{
	unsigned serial = 2;

	arm(UID, 1);
	for (; serial < 9000; serial++) {
		call(serial, UID, 59, 0, 7);
		path(serial, "/usr/bin/x");
		end(serial);
	}
	ck_assert(!seen(UID)->escaped); /* a busy build */
	clock_ms += 60000;
	for (unsigned i = 0; i < 9000; i++, serial++) {
		call(serial, UID, 59, 0, 7);
		path(serial, "/usr/bin/x");
		end(serial);
	}
	ck_assert(!seen(UID)->escaped); /* after a pause, again */
	for (unsigned i = 0; i < 2000 && !seen(UID)->escaped; i++, serial++) {
		call(serial, UID, 59, 0, 7);
		path(serial, "/usr/bin/x");
		end(serial);
	}
	ck_assert(seen(UID)->escaped);
	ck_assert_int_eq(watched.escape.class, AC_CLASS_FLOOD);
	ck_assert_int_eq(state(kill_fd), '1');
	ck_assert(!seen(OTHER)->escaped);
}
END_TEST

/* The ends of 256 events never come; what was judged of them is not lost, and the next is judged. */
START_TEST(events_without_end)
{
	unsigned denied = 0;

	arm(UID, 1);
	for (unsigned serial = 2; serial < 600; serial++) {
		call(serial, UID, 257, -13, 7);
		path(serial, "/mnt/x");
		while (ac_watch_take(watch, &report))
			denied++;
	}
	ck_assert_uint_eq(denied, 598 - 256);
	call(601, UID, 257, -13, 7);
	path(601, "/home/dev/.ssh/x");
	ck_assert_int_eq(state(kill_fd), '1');
}
END_TEST

START_TEST(somebody_else_now)
{
	arm(UID, 1);
	record("type=SYSCALL msg=audit(1.000:2): arch=c000003e syscall=39 success=yes exit=1 a0=0 "
	       "a1=0 "
	       "a2=0 a3=0 items=0 ppid=1 pid=2 auid=%u uid=0 gid=0 euid=0 suid=0 fsuid=0 "
	       "comm=\"x\"",
		UID);
	ck_assert_int_eq(state(kill_fd), '1');
}
END_TEST

START_TEST(marks)
{
	ac_watch_expect(watch, 0x0123456789abcdef);
	record("type=TRUSTED_APP msg=audit(1.000:1): pid=1 uid=0 "
	       "msg='op=agentcell-mark=00000000000000ff "
	       "exe=\"x\"'");
	ck_assert(!ac_watch_saw(watch, 0x0123456789abcdef));
	record("type=TRUSTED_APP msg=audit(1.000:2): pid=1 uid=0 "
	       "msg='op=agentcell-mark=0123456789abcdef "
	       "exe=\"x\"'");
	ck_assert(ac_watch_saw(watch, 0x0123456789abcdef));
	record("type=TRUSTED_APP msg=audit(1.000:3): msg='op=agentcell-mark=01");
}
END_TEST

START_TEST(stream_state)
{
	struct ac_stream stream;

	call(1, 0, 257, 0, 1);
	call(3, 0, 257, 0, 1);
	record("type=CONFIG_CHANGE msg=audit(1.000:12000): op=remove_rule key=\"agentcell-exec\"");
	ac_watch_stream(watch, &stream);
	ck_assert_uint_eq(stream.records, 3);
	ck_assert_uint_eq(stream.config_changes, 1);
	ck_assert_uint_gt(stream.missing, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watch");
	TCase *cases = tcase_create("watch");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, registration);
	tcase_add_test(cases, canary);
	tcase_add_test(cases, the_launcher_is_not_the_agent);
	tcase_add_test(cases, killed_at_the_decisive_record);
	tcase_add_test(cases, interleaved);
	tcase_add_test(cases, landlock);
	tcase_add_test(cases, resolving_freezes);
	tcase_add_test(cases, unresolved_when_the_ring_is_full);
	tcase_add_test(cases, packet_and_its_process);
	tcase_add_test(cases, packet_of_ipv6_and_its_port);
	tcase_add_test(cases, datagram_and_its_process);
	tcase_add_test(cases, flood);
	tcase_add_test(cases, events_without_end);
	tcase_add_test(cases, somebody_else_now);
	tcase_add_test(cases, marks);
	tcase_add_test(cases, stream_state);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

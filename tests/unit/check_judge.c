/* SPDX-License-Identifier: ISC */
/*
 * The judge: the risk table cell by cell, then events of every kind, as rows.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "../../auditd_rules/judge.h"
#include "../../auditd_rules/syscalls.h"

#define UID 70001
#define CWD ((uint64_t)(uint32_t)AT_FDCWD)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct ac_session_policy session;
static struct ac_silent silent;
static struct ac_addresses declared;
static struct ac_names tolerated = { 1, { "192.0.2.99" } };
static struct ac_judge judge = { &session, &silent, &declared, &tolerated };
static struct ac_event event;
static struct ac_verdict verdict;

static void add(struct ac_path_list *list, const char *path)
{
	(void)snprintf(list->entry[list->count++].path, AC_PATH_MAX, "%s", path);
}

static void set_up(void)
{
	struct ac_policy *policy = &session.policy;
	static char text[65536];
	struct ac_err err;
	FILE *file = fopen("auditd_rules/silent.conf", "re");
	size_t length;

	ck_assert_ptr_nonnull(file);
	length = fread(text, 1, sizeof(text), file);
	(void)fclose(file);
	ck_assert_msg(!ac_silent_parse("silent.conf", text, length, &silent, &err), "%s", err.text);
	memset(&session, 0, sizeof(session));
	policy->uid = policy->gid = UID;
	policy->risk = AC_RISK_MEDIUM;
	(void)strcpy(policy->home, "/home/agentcell");
	(void)strcpy(session.plan.user_home, "/home/dev");
	(void)strcpy(session.plan.cwd, "/home/dev/src/app");
	add(&policy->write_paths, "/home/dev/src/app");
	add(&policy->read_paths, "/srv/data");
	add(&policy->tool_paths, "/home/dev/.local/share/claude");
	add(&policy->excluded_paths, "/home/dev/src/app/private");
	add(&policy->bait_paths, "/home/dev/.ssh");
	add(&policy->bait_paths, "/home/dev/.netrc");
	add(&policy->bait_paths, "/home/other");
	declared.count = 2;
	declared.address[1] = (struct ac_address){ .family = AF_INET,
		.prefix = 32,
		.port = 443,
		.state = AC_ADDRESS_CLOSED,
		.bytes = { 198, 51, 100, 6 } };
	declared.address[0] = (struct ac_address){
		.family = AF_INET, .prefix = 32, .port = 443, .bytes = { 198, 51, 100, 7 }
	};
}

static void start(int number, int64_t code)
{
	struct ac_record record = { .serial = 1 };

	ac_event_init(&event, &record);
	event.seen = AC_SEEN_SYSCALL | AC_SEEN_CWD;
	event.arch = ac_call_native_arch();
	event.syscall = number;
	event.exit = code;
	event.success = code >= 0;
	event.uid = event.euid = event.suid = event.fsuid = UID;
	event.pid = 100;
	event.a[0] = CWD;
	(void)strcpy(event.exe, "/usr/bin/x");
	(void)strcpy(event.cwd, "/home/dev/src/app");
}

static void add_name(const char *name, uint32_t mode)
{
	struct ac_event_path *path = &event.path[event.path_count++];

	memset(path, 0, sizeof(*path));
	(void)snprintf(path->name, sizeof(path->name), "%s", name);
	path->mode = mode;
	event.seen |= AC_SEEN_PATH;
}

static void finish(void)
{
	event.seen |= AC_SEEN_END;
	ac_judge_event(&judge, &event, true, &verdict);
}

#define EXPECT(wanted_class, wanted_kind) \
	do { \
		ck_assert_msg(verdict.class == AC_CLASS_##wanted_class && \
				      verdict.kind == AC_VERDICT_##wanted_kind, \
			"%s: is %s %s, not %s %s", verdict.target, ac_class_name(verdict.class), \
			ac_verdict_name(verdict.kind), #wanted_class, #wanted_kind); \
	} while (0)

/* architecture.md 10, written out a second time: s(ilent), d(enied), e(scape) for low medium high. */
START_TEST(risk_table)
{
	static const char *const rows[AC_CLASS_COUNT] = {
		[AC_CLASS_NORMAL] = "sss",
		[AC_CLASS_SECRET] = "eee",
		[AC_CLASS_OUTSIDE_DONE] = "eee",
		[AC_CLASS_PRIVILEGE] = "eee",
		[AC_CLASS_NETWORK] = "eee",
		[AC_CLASS_TOLERATED] = "dde",
		[AC_CLASS_LOOKUP] = "dee",
		[AC_CLASS_BASELINE_WRITE] = "dde",
		[AC_CLASS_OUTSIDE_REFUSED] = "dde",
		[AC_CLASS_FLOOD] = "eee",
	};

	for (unsigned class = 0; class < AC_CLASS_COUNT; class ++)
		for (unsigned risk = 0; risk < 3; risk++) {
			enum ac_verdict_kind kind = ac_class_verdict(
				(enum ac_class) class, (enum ac_risk)risk);

			ck_assert_int_eq("wsdre"[kind], rows[class][risk]);
		}
	ck_assert_int_eq(ac_class_verdict(AC_CLASS_COUNT, AC_RISK_LOW), AC_VERDICT_ESCAPE);
	ck_assert_int_eq(ac_class_verdict(AC_CLASS_NORMAL, (enum ac_risk)3), AC_VERDICT_ESCAPE);
}
END_TEST

struct place {
	const char *path;
	enum ac_operation operation;
	bool success;
	enum ac_class class;
};

#define R AC_OPERATION_READ
#define W AC_OPERATION_WRITE
#define X AC_OPERATION_EXECUTE

START_TEST(places)
{
	static const struct place rows[] = {
		{ "/home/dev/src/app", R, false, AC_CLASS_NORMAL },
		{ "/home/dev/src/app/x", W, true, AC_CLASS_NORMAL },
		{ "/home/dev/src/app/private/x", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/src/app/private/x", R, true, AC_CLASS_OUTSIDE_DONE },
		{ "/home/dev/src/apple", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/src/apple", R, true, AC_CLASS_OUTSIDE_DONE },
		{ "/srv/data/x", R, false, AC_CLASS_NORMAL },
		{ "/srv/data/x", W, false, AC_CLASS_BASELINE_WRITE },
		{ "/srv/data/x", W, true, AC_CLASS_OUTSIDE_DONE },
		{ "/home/dev/.local/share/claude/v/claude", X, true, AC_CLASS_NORMAL },
		{ "/home/dev/.ssh", R, false, AC_CLASS_SECRET },
		{ "/home/dev/.ssh/id_rsa", R, false, AC_CLASS_SECRET },
		{ "/home/dev/.ssh/id_rsa", W, true, AC_CLASS_SECRET },
		{ "/home/dev/.sshx", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/.netrc", R, false, AC_CLASS_SECRET },
		{ "/home/other/x", R, false, AC_CLASS_SECRET },
		{ "/home/third/x", R, false, AC_CLASS_SECRET },
		{ "/home/third", R, false, AC_CLASS_SECRET },
		{ "/home/devil/x", R, false, AC_CLASS_SECRET },
		{ "/home", R, false, AC_CLASS_NORMAL },
		{ "/", R, false, AC_CLASS_NORMAL },
		{ "/home/dev", R, false, AC_CLASS_NORMAL },
		{ "/home/dev/src", R, false, AC_CLASS_NORMAL },
		{ "/home/dev/src", W, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/CLAUDE.md", R, false, AC_CLASS_NORMAL },
		{ "/home/dev/CLAUDE.md", W, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/src/.git/config", R, false, AC_CLASS_NORMAL },
		{ "/home/dev/.claude/settings.json", R, false, AC_CLASS_NORMAL },
		{ "/home/dev/.claude/.credentials.json", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/.codex/auth.json", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/dev/.claude/settings.json", X, true, AC_CLASS_OUTSIDE_DONE },
		{ "/home/dev/notes.txt", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/home/agentcell/.cache/x", W, true, AC_CLASS_NORMAL },
		{ "/home/agentcell/.netrc", R, false, AC_CLASS_NORMAL },
		{ "/tmp/x", W, true, AC_CLASS_NORMAL },
		{ "/tmpx", W, true, AC_CLASS_OUTSIDE_DONE },
		{ "/usr/bin/cat", X, true, AC_CLASS_NORMAL },
		{ "/usr/bin/cat", W, false, AC_CLASS_BASELINE_WRITE },
		{ "/usr/bin/cat", W, true, AC_CLASS_OUTSIDE_DONE },
		{ "/etc/hosts", R, false, AC_CLASS_NORMAL },
		{ "/etc/shadow", R, false, AC_CLASS_SECRET },
		{ "/etc/shadow", R, true, AC_CLASS_SECRET },
		{ "/etc/sudoers.d/x", R, false, AC_CLASS_SECRET },
		{ "/root", R, false, AC_CLASS_SECRET },
		{ "/root/.bashrc", W, false, AC_CLASS_SECRET },
		{ "/proc/kcore", R, false, AC_CLASS_SECRET },
		{ "/proc/meminfo", R, false, AC_CLASS_NORMAL },
		{ "/proc/sys/kernel/core_pattern", W, false, AC_CLASS_BASELINE_WRITE },
		{ "/proc/self/oom_score_adj", W, false, AC_CLASS_NORMAL },
		{ "/dev/sda", R, false, AC_CLASS_SECRET },
		{ "/dev/tty", W, false, AC_CLASS_NORMAL },
		{ "/run/agentcell/sessions", R, false, AC_CLASS_SECRET },
		{ "/mnt/x", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/mnt/x", X, true, AC_CLASS_OUTSIDE_DONE },
		{ "relative", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "/usr/../root", R, false, AC_CLASS_OUTSIDE_REFUSED },
		{ "", R, false, AC_CLASS_OUTSIDE_REFUSED },
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		ac_judge_path(&judge, rows[i].operation, rows[i].success, rows[i].path, &verdict);
		/* Not canonical: never reached by a resolved name; then the name tells nothing. */
		ck_assert_msg(verdict.class == rows[i].class, "%s %s %d: %s", rows[i].path,
			ac_operation_name(rows[i].operation), rows[i].success,
			ac_class_name(verdict.class));
	}
}
END_TEST

START_TEST(opens)
{
	start(SYS_openat, -EACCES);
	ac_judge_event(&judge, &event, false, &verdict);
	ck_assert_int_eq(verdict.kind, AC_VERDICT_WAIT);
	add_name("/home/dev/.ssh/id_rsa", 0);
	ac_judge_event(&judge, &event, false, &verdict);
	EXPECT(SECRET, ESCAPE);
	ck_assert_int_eq(verdict.operation, AC_OPERATION_READ);

	start(SYS_openat, -EACCES);
	event.a[2] = O_WRONLY | O_CREAT;
	add_name("../../.ssh/id_rsa", 0);
	ac_judge_event(&judge, &event, false, &verdict);
	EXPECT(SECRET, ESCAPE);
	ck_assert_int_eq(verdict.operation, AC_OPERATION_WRITE);
	ck_assert_str_eq(verdict.target, "/home/dev/.ssh/id_rsa");

	start(SYS_openat, -EACCES);
	event.a[2] = O_PATH;
	add_name("/home/dev/.ssh/id_rsa", 0);
	finish();
	EXPECT(NORMAL, SILENT);

	/* Looks inside, but it was refused: a symlink may have led it anywhere. */
	start(SYS_openat, -EACCES);
	add_name("link/id_rsa", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert_str_eq(verdict.target, "/home/dev/src/app/link/id_rsa");
	ck_assert(!verdict.relative && verdict.follow);
	/* The kernel came to no inode: a directory on the way refused.  EROFS says nothing of the kind. */
	ck_assert(verdict.barred && !verdict.object.inode);
	start(SYS_openat, -EROFS);
	add_name("link/id_rsa", 0);
	finish();
	ck_assert(verdict.kind == AC_VERDICT_RESOLVE && !verdict.barred);

	/* What it came to is told with the question. */
	start(SYS_openat, -EACCES);
	add_name("link", 0);
	event.path[0].object = (struct ac_object){ 861, 0xfe, 1 };
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert(!verdict.barred && verdict.object.inode == 861 && verdict.object.minor == 1);

	/* Relative to a descriptor. */
	start(SYS_openat, -EACCES);
	event.a[0] = 7;
	add_name("id_rsa", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert(verdict.relative);
	ck_assert_int_eq(verdict.directory, 7);

	/* An absolute name needs no descriptor, whatever is given for it. */
	start(SYS_openat, -EACCES);
	event.a[0] = 7;
	add_name("/root/x", 0);
	finish();
	EXPECT(SECRET, ESCAPE);

	/* The directory is not known any more (too long, removed). */
	start(SYS_openat, -EACCES);
	event.cwd[0] = 0;
	add_name("x", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert_int_eq(verdict.directory, AT_FDCWD);

	start(SYS_openat, -EACCES);
	add_name("/proc/self/cwd/x", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);

	/* "..", behind what may be a symlink, leads where the symlink says. */
	start(SYS_openat, -EACCES);
	add_name("/proc/self/cwd/../x", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert_str_eq(verdict.target, "/proc/self/cwd/../x");
	start(SYS_openat, -EACCES);
	add_name("sub/../../../.ssh/x", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert_str_eq(verdict.target, "/home/dev/src/app/sub/../../../.ssh/x");

	start(SYS_openat, -EROFS);
	event.a[2] = O_RDWR;
	add_name("/usr/lib/python3/x", 0);
	finish();
	EXPECT(BASELINE_WRITE, DENIED);

	/* A site's rule records what succeeds, too. */
	start(SYS_openat, 3);
	add_name("text", 0);
	finish();
	EXPECT(NORMAL, SILENT);
}
END_TEST

START_TEST(changes)
{
	start(SYS_renameat2, -EACCES);
	add_name("a", 0);
	ac_judge_event(&judge, &event, false, &verdict);
	ck_assert_int_eq(verdict.kind, AC_VERDICT_WAIT);
	add_name("/root/b", 0);
	ac_judge_event(&judge, &event, false, &verdict);
	EXPECT(SECRET, ESCAPE);
	ck_assert_int_eq(verdict.operation, AC_OPERATION_WRITE);

	start(SYS_mkdirat, -EACCES); /* only the parent is known */
	event.parent_count = 1;
	(void)strcpy(event.parent[0].name, "/mnt/");
	finish();
	EXPECT(OUTSIDE_REFUSED, DENIED);
	ck_assert_str_eq(verdict.target, "/mnt");

	/* Beside its own project, where tools only read.  Of what a read-only directory refuses the kernel
	 * does not tell the name: the directory stands for it. */
	start(SYS_mkdirat, -EROFS);
	event.parent_count = 1;
	(void)strcpy(event.parent[0].name, "/home/dev/src/");
	event.parent[0].object = (struct ac_object){ 7, 8, 1 };
	finish();
	EXPECT(OUTSIDE_REFUSED, DENIED);
	ck_assert_int_eq(verdict.operation, AC_OPERATION_WRITE);
	ck_assert_str_eq(verdict.target, "/home/dev/src");

	start(SYS_unlinkat, -EROFS);
	add_name("/usr/bin/cat", 0);
	finish();
	EXPECT(BASELINE_WRITE, DENIED);

	start(SYS_unlinkat, -EACCES);
	add_name("x", 0);
	finish();
	ck_assert_int_eq(verdict.kind, AC_VERDICT_RESOLVE);
	ck_assert(!verdict.follow);
}
END_TEST

struct exec_row {
	const char *name, *exe;
	uint32_t mode;
	bool caps;
	int64_t code;
	enum ac_class class;
};

START_TEST(programs)
{
	static const struct exec_row rows[] = {
		{ "/usr/bin/cat", "/usr/bin/cat", 0100755, false, 0, AC_CLASS_NORMAL },
		{ "/usr/bin/mount", "/usr/bin/mount", 0104755, false, 0, AC_CLASS_PRIVILEGE },
		{ "/usr/bin/wall", "/usr/bin/wall", 0102755, false, 0, AC_CLASS_PRIVILEGE },
		{ "/usr/bin/ping", "/usr/bin/ping", 0100755, true, 0, AC_CLASS_PRIVILEGE },
		{ "/usr/bin/sudo", "/usr/bin/sudo", 0100755, false, 0, AC_CLASS_PRIVILEGE },
		{ "./s", "/usr/bin/sudo", 0100755, false, 0, AC_CLASS_PRIVILEGE },
		{ "./sudo", "/home/dev/src/app/sudo", 0100755, false, 0, AC_CLASS_NORMAL },
		{ "./sudo", "/usr/bin/dash", 0100755, false, 0, AC_CLASS_NORMAL },
		{ "/tmp/su", "/tmp/su", 0100755, false, 0, AC_CLASS_NORMAL },
		{ "./tool", "/home/dev/src/app/tool", 0104755, false, 0, AC_CLASS_PRIVILEGE },
		{ "x", "/memfd:x (deleted)", 0100777, false, 0, AC_CLASS_NORMAL },
		{ "/mnt/x", "/mnt/x", 0100755, false, 0, AC_CLASS_OUTSIDE_DONE },
		{ "/home/other/x", "/home/other/x", 0100755, false, 0, AC_CLASS_SECRET },
		{ "/home/dev/src/app/private/x", "/home/dev/src/app/private/x", 0100755, false, 0,
			AC_CLASS_OUTSIDE_DONE },
		{ "/root/x", "/usr/bin/sh", 0, false, -EACCES, AC_CLASS_SECRET },
		{ "/usr/bin/sudo", "/usr/bin/sh", 0104750, false, -EACCES, AC_CLASS_PRIVILEGE },
		{ "/mnt/x", "/usr/bin/sh", 0100644, false, -EACCES, AC_CLASS_OUTSIDE_REFUSED },
		{ "/usr/share/x", "/usr/bin/sh", 0100644, false, -EACCES, AC_CLASS_NORMAL },
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		start(SYS_execve, rows[i].code);
		(void)strcpy(event.exe, rows[i].exe);
		ac_judge_event(&judge, &event, false, &verdict);
		ck_assert_int_eq(verdict.kind, AC_VERDICT_WAIT);
		add_name(rows[i].name, rows[i].mode);
		event.path[0].file_caps = rows[i].caps;
		finish();
		ck_assert_msg(verdict.class == rows[i].class, "%s (%s): %s", rows[i].name,
			rows[i].exe, ac_class_name(verdict.class));
	}
}
END_TEST

static void set_in(const char *address, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, address, &in.sin_addr), 1);
	memcpy(event.address, &in, sizeof(in));
	event.address_length = sizeof(in);
	event.seen |= AC_SEEN_SOCKADDR;
}

static void set_in6(const char *address, uint16_t port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET6, address, &in.sin6_addr), 1);
	memcpy(event.address, &in, sizeof(in));
	event.address_length = sizeof(in);
	event.seen |= AC_SEEN_SOCKADDR;
}

struct connect_row {
	int number;
	const char *address;
	uint16_t port;
	int64_t code;
	enum ac_class class;
};

START_TEST(connections)
{
	static const struct connect_row rows[] = {
		{ SYS_connect, "198.51.100.7", 443, 0, AC_CLASS_NORMAL },
		{ SYS_connect, "198.51.100.7", 443, -ECONNREFUSED, AC_CLASS_NORMAL },
		{ SYS_connect, "198.51.100.7", 80, -ECONNREFUSED, AC_CLASS_NETWORK },
		{ SYS_connect, "198.51.100.8", 443, -ECONNREFUSED, AC_CLASS_NETWORK },
		{ SYS_connect, "198.51.100.8", 443, -ENETUNREACH, AC_CLASS_NETWORK },
		{ SYS_connect, "198.51.100.8", 443, -EINPROGRESS,
			AC_CLASS_NORMAL }, /* nft speaks */
		{ SYS_connect, "198.51.100.8", 443, 0, AC_CLASS_NORMAL }, /* UDP: no packet yet */
		{ SYS_sendto, "198.51.100.8", 443, -EPERM, AC_CLASS_NETWORK },
		{ SYS_connect, "198.51.100.6", 443, -ECONNREFUSED, AC_CLASS_TOLERATED },
		{ SYS_connect, "198.51.100.6", 80, -ECONNREFUSED, AC_CLASS_NETWORK },
		{ SYS_connect, "198.51.100.6", 53, -ECONNREFUSED, AC_CLASS_LOOKUP },
		{ SYS_connect, "127.0.0.1", 3000, -ECONNREFUSED, AC_CLASS_NORMAL },
		{ SYS_connect, "127.0.0.1", 53, 0, AC_CLASS_LOOKUP },
		{ SYS_sendto, "8.8.8.8", 53, -EPERM, AC_CLASS_LOOKUP },
		{ SYS_connect, "8.8.8.8", 853, -ECONNREFUSED, AC_CLASS_LOOKUP },
		{ SYS_connect, "169.254.169.254", 80, -ECONNREFUSED, AC_CLASS_NETWORK },
		{ SYS_connect, "192.0.2.99", 443, -ECONNREFUSED, AC_CLASS_TOLERATED },
		{ SYS_bind, "0.0.0.0", 3000, 0, AC_CLASS_NORMAL },
		{ SYS_bind, "0.0.0.0", 80, -EACCES, AC_CLASS_NORMAL },
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		start(rows[i].number, rows[i].code);
		ac_judge_event(&judge, &event, false, &verdict);
		ck_assert_int_eq(verdict.kind, AC_VERDICT_WAIT);
		set_in(rows[i].address, rows[i].port);
		ac_judge_event(&judge, &event, false, &verdict);
		ck_assert_msg(verdict.class == rows[i].class, "%s:%u %lld: %s", rows[i].address,
			rows[i].port, (long long)rows[i].code, ac_class_name(verdict.class));
	}
	start(SYS_connect, -ECONNREFUSED);
	set_in6("::ffff:198.51.100.8", 443);
	finish();
	EXPECT(NETWORK, ESCAPE);
	ck_assert_str_eq(verdict.target, "198.51.100.8:443");
	start(SYS_connect, -ENETUNREACH);
	set_in6("2001:db8::1", 443);
	finish();
	EXPECT(NETWORK, ESCAPE);
	ck_assert_str_eq(verdict.target, "[2001:db8::1]:443");
	start(SYS_connect, -ECONNREFUSED);
	set_in6("::1", 9000);
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_sendmsg, 1); /* on a connected socket */
	finish();
	EXPECT(NORMAL, SILENT);
}
END_TEST

static void set_unix(const char *name, size_t length)
{
	sa_family_t family = AF_UNIX;

	memcpy(event.address, &family, sizeof(family));
	memset(event.address + sizeof(family), 0, sizeof(event.address) - sizeof(family));
	memcpy(event.address + sizeof(family), name, length);
	event.address_length = 110;
	event.seen |= AC_SEEN_SOCKADDR;
}

START_TEST(unix_sockets)
{
	static const struct {
		const char *name;
		int64_t code;
		enum ac_class class;
	} rows[] = {
		{ "/run/docker.sock", -ENOENT, AC_CLASS_NETWORK },
		{ "/var/run/docker.sock", -EACCES, AC_CLASS_NETWORK },
		{ "/var/run/nscd/socket", -ENOENT, AC_CLASS_NORMAL },
		{ "/dev/log", -ENOENT, AC_CLASS_NORMAL },
		{ "/run/user/1000/bus", -ENOENT, AC_CLASS_NORMAL },
		{ "/run/user/1000/keyring/ssh", -ENOENT, AC_CLASS_NETWORK },
		{ "/tmp/x.sock", 0, AC_CLASS_NORMAL },
		{ "x.sock", 0, AC_CLASS_NORMAL },
		{ "/home/dev/.gnupg/S.gpg-agent", -EACCES, AC_CLASS_NETWORK },
		{ "/home/agentcell/.gnupg/S.gpg-agent", 0, AC_CLASS_NORMAL },
		{ "/home/dev/.ssh/agent", -EACCES, AC_CLASS_SECRET },
		{ "/srv/x.sock", -ENOENT, AC_CLASS_OUTSIDE_REFUSED },
		{ "/srv/x.sock", 0, AC_CLASS_OUTSIDE_DONE },
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		start(SYS_connect, rows[i].code);
		set_unix(rows[i].name, strlen(rows[i].name));
		finish();
		ck_assert_msg(verdict.class == rows[i].class, "%s: %s", rows[i].name,
			ac_class_name(verdict.class));
	}
	start(SYS_connect, 0);
	set_unix("\0abstract", 9);
	finish();
	EXPECT(NORMAL, SILENT);
	/* A name that fills the field has no NUL. */
	start(SYS_connect, -ENOENT);
	set_unix("/tmp/012345678901234567890123456789012345678901234567890123456789012345678901"
		 "234567890123456789012345678901234567",
		108);
	finish();
	EXPECT(NORMAL, SILENT);
}
END_TEST

START_TEST(sockets)
{
	start(SYS_socket, 3);
	event.a[0] = AF_VSOCK;
	finish();
	EXPECT(NETWORK, ESCAPE);
	start(SYS_socket, -EPERM);
	event.a[0] = AF_INET;
	event.a[1] = SOCK_RAW | SOCK_CLOEXEC;
	finish();
	EXPECT(NETWORK, ESCAPE);
	start(SYS_socket, 3);
	event.a[0] = AF_NETLINK;
	event.a[1] = SOCK_RAW;
	event.a[2] = 9;
	finish();
	EXPECT(NETWORK, ESCAPE);
	start(SYS_socket, 3);
	event.a[0] = AF_NETLINK;
	event.a[1] = SOCK_RAW;
	event.a[2] = 0;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_bind, 0);
	event.address[0] = AF_VSOCK;
	event.address_length = 16;
	event.seen |= AC_SEEN_SOCKADDR;
	finish();
	EXPECT(NETWORK, ESCAPE);
}
END_TEST

START_TEST(packets)
{
	static const struct {
		const char *address;
		uint32_t port, protocol;
		enum ac_class class;
	} rows[] = {
		{ "198.51.100.8", 0, IPPROTO_TCP, AC_CLASS_NETWORK },
		{ "198.51.100.8", 443, IPPROTO_TCP, AC_CLASS_NETWORK },
		{ "198.51.100.6", 0, IPPROTO_TCP, AC_CLASS_TOLERATED },
		{ "198.51.100.6", 443, IPPROTO_TCP, AC_CLASS_TOLERATED },
		{ "198.51.100.6", 22, IPPROTO_TCP, AC_CLASS_NETWORK },
		{ "198.51.100.8", 0, IPPROTO_UDP, AC_CLASS_LOOKUP },
		{ "198.51.100.8", 443, IPPROTO_UDP, AC_CLASS_NETWORK },
		{ "8.8.8.8", 53, IPPROTO_UDP, AC_CLASS_LOOKUP },
		{ "127.0.0.1", 0, IPPROTO_TCP, AC_CLASS_OUTSIDE_REFUSED },
		{ "::1", 0, IPPROTO_TCP, AC_CLASS_OUTSIDE_REFUSED },
		{ "192.0.2.99", 0, IPPROTO_TCP, AC_CLASS_TOLERATED },
		{ "2001:db8::1", 0, IPPROTO_TCP, AC_CLASS_NETWORK },
		{ "nonsense", 0, IPPROTO_TCP, AC_CLASS_NETWORK },
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		start(-1, 0);
		event.seen = AC_SEEN_PACKET;
		event.mark = UID;
		(void)strcpy(event.packet_address, rows[i].address);
		event.packet_port = rows[i].port;
		event.protocol = rows[i].protocol;
		finish();
		ck_assert_msg(verdict.class == rows[i].class, "%s: %s", rows[i].address,
			ac_class_name(verdict.class));
	}
}
END_TEST

START_TEST(identities)
{
	start(SYS_setuid, 0);
	event.a[0] = UID;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_setuid, -EPERM);
	event.a[0] = 0;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_setresuid, 0);
	event.a[0] = event.a[1] = event.a[2] = UID;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_setresuid, 0);
	event.a[0] = UINT32_MAX;
	event.a[1] = UID;
	event.a[2] = UINT64_MAX;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_setresuid, -EPERM);
	event.a[0] = event.a[1] = UID;
	event.a[2] = 0;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_setgroups, -EPERM);
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_capset, 0);
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_capset, -EPERM);
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	/* Whatever it does: it is somebody else now. */
	start(SYS_openat, 3);
	event.euid = 0;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_getpid, 1);
	event.uid = event.euid = event.suid = event.fsuid = 0;
	event.auid = UID;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	/* Another interface of the machine. */
	start(20, 1);
	event.arch = AUDIT_ARCH_I386;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(0x40000000 + 39, 1);
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
}
END_TEST

START_TEST(processes)
{
	start(SYS_ptrace, -EPERM);
	event.a[0] = 16;
	event.a[1] = 1;
	ac_judge_event(&judge, &event, false, &verdict);
	ck_assert_int_eq(verdict.kind, AC_VERDICT_WAIT);
	event.seen |= AC_SEEN_OBJECT;
	event.object_pid = 1;
	event.object_uid = 0;
	ac_judge_event(&judge, &event, false, &verdict);
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_ptrace, 0);
	event.seen |= AC_SEEN_OBJECT;
	event.object_uid = UID;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_ptrace, -ESRCH);
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_process_vm_readv, -EPERM);
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
}
END_TEST

START_TEST(walls)
{
	static const int loud[] = { SYS_mount, SYS_pivot_root, SYS_setns, SYS_chroot, SYS_bpf,
		SYS_perf_event_open, SYS_keyctl, SYS_init_module, SYS_open_by_handle_at,
		SYS_userfaultfd, SYS_reboot };

	for (unsigned i = 0; i < COUNT(loud); i++) {
		start(loud[i], -EPERM);
		finish();
		EXPECT(PRIVILEGE, ESCAPE);
		/* The same, as the launcher's filter tells it. */
		start(loud[i], 0);
		event.seen = AC_SEEN_SECCOMP;
		event.seccomp_code = 0x50000;
		finish();
		EXPECT(PRIVILEGE, ESCAPE);
		/* ... and as a filter that the cell made for logging. */
		event.seccomp_code = 0x7ffc0000;
		finish();
		EXPECT(NORMAL, SILENT);
	}
	start(SYS_socket,
		0); /* of a family that nobody uses; of one that leads past the firewall */
	event.seen = AC_SEEN_SECCOMP;
	event.seccomp_code = 0x50000;
	finish();
	EXPECT(OUTSIDE_REFUSED, DENIED);
	event.seccomp_code = 0x80000000;
	finish();
	EXPECT(NETWORK, ESCAPE);
	start(SYS_syslog, 0); /* dmesg: refused, no more */
	event.seen = AC_SEEN_SECCOMP;
	event.seccomp_code = 0x50000;
	finish();
	EXPECT(OUTSIDE_REFUSED, DENIED);
	start(SYS_unshare, 0);
	event.a[0] = CLONE_FILES;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_unshare, -EPERM);
	event.a[0] = CLONE_NEWUSER;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	session.policy.nested_sandbox = true;
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_mount, -ENOENT); /* it looks what there is */
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_unshare, 0);
	event.a[0] = CLONE_NEWUSER;
	finish();
	EXPECT(NORMAL, SILENT);
	event.seen = AC_SEEN_SECCOMP;
	event.seccomp_code = 0x50000;
	finish();
	EXPECT(TOLERATED, DENIED);
	session.policy.nested_sandbox = false;
	start(SYS_unshare, 0);
	event.a[0] = CLONE_NEWUSER;
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_io_uring_setup, -ENOSYS);
	finish();
	EXPECT(NORMAL, SILENT);
	start(SYS_io_uring_setup, 3);
	finish();
	EXPECT(PRIVILEGE, ESCAPE);
	start(SYS_getpid, 1);
	finish();
	EXPECT(NORMAL, SILENT);
}
END_TEST

START_TEST(landlock)
{
	static const struct {
		const char *blockers, *path;
		enum ac_operation operation;
		enum ac_class class;
	} rows[] = {
		{ "fs.read_file", "/home/dev/.ssh/x", R, AC_CLASS_SECRET },
		{ "fs.read_dir", "/home/dev", R, AC_CLASS_NORMAL },
		{ "fs.read_dir", "/srv", R, AC_CLASS_NORMAL }, /* above a declared path */
		{ "fs.read_dir", "/mnt", R, AC_CLASS_OUTSIDE_REFUSED },
		{ "fs.make_reg", "/usr/lib", W, AC_CLASS_BASELINE_WRITE },
		{ "fs.execute,fs.read_file", "/mnt/x", X, AC_CLASS_OUTSIDE_REFUSED },
		{ "fs.refer,fs.make_reg", "/mnt", W, AC_CLASS_OUTSIDE_REFUSED },
		{ "scope.signal", "", AC_OPERATION_PRIVILEGE, AC_CLASS_OUTSIDE_REFUSED },
		{ "scope.abstract_unix_socket", "@x", AC_OPERATION_NETWORK, AC_CLASS_NETWORK },
		{ "net.bind_tcp", "", AC_OPERATION_NETWORK, AC_CLASS_OUTSIDE_REFUSED },
		{ "fs.change_topology", "/", AC_OPERATION_PRIVILEGE, AC_CLASS_PRIVILEGE },
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		start(SYS_openat, -EACCES);
		event.seen = AC_SEEN_LANDLOCK;
		(void)strcpy(event.blockers, rows[i].blockers);
		(void)strcpy(event.landlock_path, rows[i].path);
		ac_judge_event(&judge, &event, false, &verdict);
		ck_assert_msg(verdict.class == rows[i].class, "%s %s: %s", rows[i].blockers,
			rows[i].path, ac_class_name(verdict.class));
		ck_assert_int_eq(verdict.operation, rows[i].operation);
	}
}
END_TEST

/* Nothing in an event that is complete leaves the judge waiting, whatever it is made of. */
START_TEST(always_an_answer)
{
	for (int number = -1; number < 500; number++)
		for (unsigned seen = 0; seen < AC_SEEN_END; seen++) {
			start(number, number % 2 ? -EACCES : 0);
			event.seen = seen;
			ac_judge_event(&judge, &event, true, &verdict);
			ck_assert_int_ne(verdict.kind, AC_VERDICT_WAIT);
			ck_assert_ptr_nonnull(verdict.reason);
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("judge");
	TCase *cases = tcase_create("judge");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, set_up, NULL);
	tcase_add_test(cases, risk_table);
	tcase_add_test(cases, places);
	tcase_add_test(cases, opens);
	tcase_add_test(cases, changes);
	tcase_add_test(cases, programs);
	tcase_add_test(cases, connections);
	tcase_add_test(cases, unix_sockets);
	tcase_add_test(cases, sockets);
	tcase_add_test(cases, packets);
	tcase_add_test(cases, identities);
	tcase_add_test(cases, processes);
	tcase_add_test(cases, walls);
	tcase_add_test(cases, landlock);
	tcase_add_test(cases, always_an_answer);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

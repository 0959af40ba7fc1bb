/* SPDX-License-Identifier: ISC */
/*
 * The opener against whoever asks: it gives out what its user could have by a chmod, and nothing else,
 * whatever descriptor and name it is sent.  Root only: it is about a capability.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backup_opener.h"
#include "resolve.h"
#include "util.h"

#define USER 47111
#define OTHER 47112

static char base[64];
static struct ac_opener opener;
static const struct ac_identity who = { .uid = USER, .gid = USER };

static void put(const char *name, uid_t owner, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", base, name);
	ac_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, name, strlen(name)), (ssize_t)strlen(name));
	ck_assert_int_eq(fchown(fd, owner, owner), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
}

static void put_directory(const char *name, uid_t owner, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", base, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(chown(path, owner, owner), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static int handle_of(const char *name) /* as root: whoever asks could have been sent it */
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", base, name);
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s", path);
	return fd;
}

static void setup(void)
{
	snprintf(base, sizeof base, "/var/tmp/check-opener.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	ck_assert_int_eq(chmod(base, 0755), 0);
	put("own", USER, 0);
	put("root", 0, 0600);
	put("other", OTHER, 0600);
	put_directory("closed", USER, 0);
	put("closed/own", USER, 0);
	put("closed/root", 0, 0600);
	put_directory("vault", 0, 0700);
	put("vault/own", USER, 0600);
	put_directory("others", OTHER, 0700);
	put("others/own", USER, 0600);
	ck_assert_int_eq(ac_opener_start(&opener, &who), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void teardown(void)
{
	ac_opener_stop(&opener);
	ck_assert_int_eq(nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Calls work in a process that is the user, as the one that makes a backup is. */
static void as_user(void (*work)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
			_exit(99);
		work();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "status %x", (unsigned)status);
}

static int read_by_handle(const char *name)
{
	ac_autoclose int handle = handle_of(name);

	return ac_opener_read(&opener, handle);
}

static int look_in(const char *directory, const char *name)
{
	ac_autoclose int fd = handle_of(directory);
	struct ac_opener_request request = { .kind = AC_OPENER_LOOK };
	struct ac_opener_reply reply = { .result = -EPIPE };
	int found = -1;

	/* Not by ac_opener_look: that would look by itself, and this process is root. */
	snprintf(request.name, sizeof request.name, "%s", name);
	ck_assert_int_eq(ac_opener_send(opener.fd, &request, sizeof request, NULL, 0, fd), 0);
	ck_assert_int_eq(
		ac_opener_receive(opener.fd, &reply, sizeof reply, NULL, 0, &found), sizeof reply);
	ck_assert_int_eq(reply.result < 0, found < 0);
	return reply.result < 0 ? reply.result : found;
}

static void expect_content(int fd, const char *want)
{
	char text[64] = "";

	ck_assert_msg(fd >= 0, "%s: %s", want, strerror(-fd));
	ck_assert_int_eq(read(fd, text, sizeof text - 1), (ssize_t)strlen(want));
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static void work_as_user(void)
{
	int closed = open(base, O_RDONLY | O_DIRECTORY);
	int handle = ac_opener_look(&opener, closed, "own");
	int fd = ac_opener_read(&opener, handle);
	char text[8] = "";

	if (fd < 0 || read(fd, text, sizeof text) != 3 || strcmp(text, "own") != 0)
		_exit(1);
	handle = ac_opener_look(&opener, closed, "closed");
	fd = ac_opener_look(&opener, handle, "own");
	if (openat(handle, "own", O_PATH) >= 0 || errno != EACCES || fd < 0)
		_exit(2);
	fd = ac_opener_read(&opener, fd);
	if (fd < 0 || read(fd, text, sizeof text) != 8)
		_exit(3);
	fd = ac_opener_read(&opener, handle);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory || !readdir(directory))
		_exit(4);
}

START_TEST(test_gives_what_is_the_users)
{
	struct stat before, after;
	ac_autoclose int own = handle_of("own");

	ck_assert_int_eq(fstat(own, &before), 0);
	as_user(work_as_user);
	ck_assert_int_eq(fstat(own, &after), 0);
	ck_assert(!memcmp(&before, &after, sizeof before)); /* atime and ctime among it */
	expect_content(read_by_handle("own"), "own");
	expect_content(read_by_handle("closed/own"), "closed/own");
}
END_TEST

START_TEST(test_refuses_what_is_not)
{
	char path[128], link_path[128];

	ck_assert_int_eq(read_by_handle("root"), -EACCES);
	ck_assert_int_eq(read_by_handle("other"), -EACCES);
	ck_assert_int_eq(read_by_handle("vault"), -EACCES);
	ck_assert_int_eq(read_by_handle("closed/root"), -EACCES);
	/* A hard link in the user's own directory is still of its owner. */
	snprintf(path, sizeof path, "%s/root", base);
	snprintf(link_path, sizeof link_path, "%s/closed/link", base);
	ck_assert_int_eq(link(path, link_path), 0);
	ck_assert_int_eq(read_by_handle("closed/link"), -EACCES);
	/* What is the user's, in a directory that he may not search and could not open up. */
	ck_assert_int_eq(look_in("vault", "own"), -EACCES);
	ck_assert_int_eq(look_in("others", "own"), -EACCES);
	/* Neither files, nor ways out, nor ways through. */
	ck_assert_int_eq(look_in("own", "."), -EACCES);
	ck_assert_int_eq(look_in("closed", ".."), -EACCES);
	ck_assert_int_eq(look_in("closed", "../root"), -EACCES);
	ck_assert_int_eq(look_in("closed", "/etc/shadow"), -EACCES);
	ck_assert_int_eq(look_in("closed", ""), -EACCES);
	ck_assert_int_eq(look_in("closed", "missing"), -ENOENT);
	/* The control: the same questions about what is the user's. */
	int fd = look_in("closed", "own");

	ck_assert_int_ge(fd, 0);
	close(fd);
	expect_content(read_by_handle("own"), "own");
}
END_TEST

START_TEST(test_symlinks_and_others_are_only_handles)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof path, "%s/closed/symlink", base);
	ck_assert_int_eq(symlink("../root", path), 0);
	ck_assert_int_eq(lchown(path, USER, USER), 0);
	snprintf(path, sizeof path, "%s/closed/fifo", base);
	ck_assert_int_eq(mkfifo(path, 0), 0);
	ck_assert_int_eq(chown(path, USER, USER), 0);
	ac_autoclose int handle = look_in("closed", "symlink");
	ac_autoclose int fifo = look_in("closed", "fifo");

	ck_assert_int_eq(fstat(handle, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(fcntl(handle, F_GETFL) & O_PATH, O_PATH);
	ck_assert_int_eq(ac_opener_read(&opener, handle), -EACCES);
	ck_assert_int_eq(ac_opener_read(&opener, fifo), -EACCES); /* and does not wait */
}
END_TEST

START_TEST(test_attributes)
{
	char path[128], value[AC_OPENER_VALUE_MAX];
	const char *names[] = { "own", "root" };

	for (unsigned i = 0; i < AC_COUNT(names); i++) {
		snprintf(path, sizeof path, "%s/%s", base, names[i]);
		ck_assert_int_eq(setxattr(path, "user.a", "value", 5, 0), 0);
		ck_assert_int_eq(setxattr(path, "trusted.a", "value", 5, 0), 0);
	}
	ac_autoclose int own = open(path, O_RDONLY | O_CLOEXEC); /* root's */

	ck_assert_int_eq(ac_opener_attribute(&opener, own, "user.a", value, sizeof value), -EACCES);
	ac_autoclose int fd = read_by_handle("own");

	ck_assert_int_eq(ac_opener_attribute(&opener, fd, "user.a", value, sizeof value), 5);
	ck_assert(!memcmp(value, "value", 5));
	ck_assert_int_eq(ac_opener_attribute(&opener, fd, "user.b", value, sizeof value), -ENODATA);
	ck_assert_int_eq(
		ac_opener_attribute(&opener, fd, "trusted.a", value, sizeof value), -EACCES);
}
END_TEST

/* Nothing that a chmod by its owner would not open. */
START_TEST(test_refuses_what_chmod_could_not)
{
	char path[128];
	int flags = FS_IMMUTABLE_FL, none = 0;

	snprintf(path, sizeof path, "%s/own", base);
	ac_autoclose int own = open(path, O_RDONLY | O_CLOEXEC);

	if (!ioctl(own, FS_IOC_SETFLAGS, &flags)) { /* not every file system has it */
		ck_assert_int_eq(read_by_handle("own"), -EACCES);
		ck_assert_int_eq(ioctl(own, FS_IOC_SETFLAGS, &none), 0);
	}
	expect_content(read_by_handle("own"), "own");
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount(base, base, NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(mount(NULL, base, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
	ck_assert_int_eq(read_by_handle("own"), -EACCES);
	ck_assert_int_eq(look_in("closed", "own"), -EACCES);
	ck_assert_int_eq(umount2(base, MNT_DETACH), 0);
	ck_assert_int_eq(read_by_handle("vault/own") >= 0, 1); /* the handle, not its way */
}
END_TEST

START_TEST(test_refuses_proc)
{
	char path[64];
	struct stat st;
	pid_t pid = fork();

	if (!pid) {
		if (!setresuid(USER, USER, USER) && !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
			raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	ac_autoclose int fd = open(path, O_PATH | O_CLOEXEC);

	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, USER);
	int result = ac_opener_read(&opener, fd);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(result, -EACCES);
}
END_TEST

static void read_status(char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/status", (int)opener.pid);
	ac_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, size - 1);

	ck_assert_int_gt(length, 0);
	text[length] = '\0';
}

START_TEST(test_holds_one_capability)
{
	char text[8192];

	close(read_by_handle("own")); /* it is ready now */
	read_status(text, sizeof text);
	ck_assert_ptr_nonnull(strstr(text, "\nUid:\t47111\t47111\t47111\t47111\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nGid:\t47111\t47111\t47111\t47111\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nCapInh:\t0000000000000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nCapPrm:\t0000000000000004\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nCapEff:\t0000000000000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nCapBnd:\t0000000000000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nCapAmb:\t0000000000000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nNoNewPrivs:\t1\n"));
}
END_TEST

/* It answers nothing more, and its client goes on without it. */
START_TEST(test_nonsense_ends_it)
{
	struct ac_opener_request request = { .kind = AC_OPENER_READ };
	ac_autoclose int own = handle_of("own");

	switch (_i) {
	case 0: /* too short */
		ck_assert_int_eq(ac_opener_send(opener.fd, &request, 8, NULL, 0, own), 0);
		break;
	case 1: /* about nothing */
		ck_assert_int_eq(
			ac_opener_send(opener.fd, &request, sizeof request, NULL, 0, -1), 0);
		break;
	case 2: /* too long */
		ck_assert_int_eq(
			ac_opener_send(opener.fd, &request, sizeof request, "x", 1, own), 0);
		break;
	case 3: /* a name without an end */
		memset(request.name, 'x', sizeof request.name);
		ck_assert_int_eq(
			ac_opener_send(opener.fd, &request, sizeof request, NULL, 0, own), 0);
		break;
	default:
		ck_assert_int_eq(kill(opener.pid, SIGKILL), 0);
		break;
	}
	ck_assert_int_eq(waitpid(opener.pid, NULL, 0), opener.pid);
	opener.pid = -1;
	ck_assert_int_eq(ac_opener_read(&opener, own), -EPIPE);
	ck_assert(!ac_opener_is_there(&opener));
	ck_assert_int_eq(ac_opener_read(NULL, own), -EPIPE);
}
END_TEST

START_TEST(test_none_for_root)
{
	struct ac_opener none;

	ck_assert_int_eq(ac_opener_start(&none, &(struct ac_identity){ .uid = 0 }), 0);
	ck_assert(!ac_opener_is_there(&none));
	ac_opener_stop(&none);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backup_opener");
	TCase *tests = tcase_create("all");

	if (geteuid()) {
		printf("check_backup_opener: skipped, needs root\n");
		return 0;
	}
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_gives_what_is_the_users);
	tcase_add_test(tests, test_refuses_what_is_not);
	tcase_add_test(tests, test_symlinks_and_others_are_only_handles);
	tcase_add_test(tests, test_attributes);
	tcase_add_test(tests, test_refuses_what_chmod_could_not);
	tcase_add_test(tests, test_refuses_proc);
	tcase_add_test(tests, test_holds_one_capability);
	tcase_add_loop_test(tests, test_nonsense_ends_it, 0, 5);
	tcase_add_test(tests, test_none_for_root);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed != 0;
}

/* SPDX-License-Identifier: ISC */
/* Trusted files: each thing that must be refused, beside the same thing put right. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

static char directory[] = "/tmp/check-safefile-XXXXXX";
static int directory_fd;
static struct ac_err err;

static void setup(void)
{
	strcpy(directory, "/tmp/check-safefile-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(directory_fd, 0);
}

static void teardown(void)
{
	ck_assert_msg(ac_remove_below(directory_fd, &err) == 0, "%s", err.text);
	close(directory_fd);
	ck_assert_int_eq(rmdir(directory), 0);
}

static const char *in(const char *name)
{
	static char path[2][128];
	static unsigned turn;

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", directory, name);
	return path[turn];
}

static void put(const char *name, const char *text)
{
	ck_assert_msg(ac_write_new(directory_fd, name, text, strlen(text), 0644, &err) == 0, "%s",
		err.text);
}

static int open_result(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static int open_absolute(const char *name)
{
	return open_result(ac_open_trusted(AT_FDCWD, in(name), 100, &err));
}

static int open_relative(const char *name)
{
	return open_result(ac_open_trusted(directory_fd, name, 100, &err));
}

static int make(const char *name)
{
	return open_result(ac_make_directory(in(name), 0750, &err));
}

START_TEST(test_write_and_read)
{
	ac_autoclose int fd = -1;
	char buffer[8];
	struct stat st;

	umask(077);
	put("f", "12345678");
	umask(022);
	ck_assert_int_eq(fstatat(directory_fd, "f", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0644);
	ck_assert_int_eq(ac_write_new(directory_fd, "f", "x", 1, 0644, &err), -EEXIST);
	ck_assert_int_eq(ac_write_new(directory_fd, "a/b", "x", 1, 0644, &err), -EINVAL);
	fd = openat(directory_fd, "f", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(ac_read_all(fd, buffer, sizeof(buffer)), 8);
	ck_assert_mem_eq(buffer, "12345678", 8);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(ac_read_all(fd, buffer, sizeof(buffer) - 1), -EFBIG);
}
END_TEST

START_TEST(test_failed_write_leaves_nothing)
{
	struct rlimit limit = { 4, RLIM_INFINITY };
	int too_long, is_there, fits;

	signal(SIGXFSZ, SIG_IGN);
	/* no ck_assert here: Check writes to a file as well */
	setrlimit(RLIMIT_FSIZE, &limit);
	too_long = ac_write_new(directory_fd, "f", "12345678", 8, 0644, &err);
	is_there = faccessat(directory_fd, "f", F_OK, 0);
	fits = ac_write_new(directory_fd, "f", "1234", 4, 0644, &err);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(too_long, -EFBIG);
	ck_assert_int_eq(is_there, -1);
	ck_assert_int_eq(fits, 0);
}
END_TEST

START_TEST(test_trusted)
{
	static char big[101];

	if (geteuid() != 0) {
		puts("SKIP: trusted files (needs root)");
		return;
	}
	put("f", "text");
	ck_assert_msg(open_absolute("f") == 0, "%s", err.text);
	ck_assert_int_eq(open_relative("f"), 0);
	memset(big, 'x', 101);
	ck_assert_int_eq(ac_write_new(directory_fd, "big", big, 101, 0644, &err), 0);
	ck_assert_int_eq(open_absolute("big"), -EFBIG);
	ck_assert_int_eq(chmod(in("f"), 0664), 0);
	ck_assert_int_eq(open_absolute("f"), -EPERM);
	ck_assert_int_eq(chmod(in("f"), 0642), 0);
	ck_assert_int_eq(open_relative("f"), -EPERM);
	ck_assert_int_eq(chmod(in("f"), 0644), 0);
	ck_assert_int_eq(chown(in("f"), 1000, 0), 0);
	ck_assert_int_eq(open_absolute("f"), -EPERM);
	ck_assert_int_eq(chown(in("f"), 0, 1000), 0);
	ck_assert_int_eq(open_absolute("f"), 0);
	ck_assert_int_eq(symlinkat("f", directory_fd, "link"), 0);
	ck_assert_int_eq(open_absolute("link"), -ELOOP);
	ck_assert_int_eq(open_relative("link"), -ELOOP);
	ck_assert_int_eq(mkfifoat(directory_fd, "fifo", 0644), 0);
	ck_assert_int_eq(open_absolute("fifo"), -EINVAL); /* and does not hang */
	ck_assert_int_eq(mkdirat(directory_fd, "d", 0755), 0);
	ck_assert_int_eq(open_absolute("d"), -EINVAL);
	ck_assert_int_eq(open_absolute("none"), -ENOENT);
	ck_assert_int_eq(open_relative("../f"), -EXDEV);
	ck_assert_int_eq(open_relative("d/../f"), 0);
	ck_assert_int_eq(open_absolute("d/../f"), -EINVAL);
}
END_TEST

START_TEST(test_parent_of_a_trusted_file)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(mkdirat(directory_fd, "d", 0755), 0);
	ck_assert_int_eq(close(openat(directory_fd, "d/f", O_WRONLY | O_CREAT, 0644)), 0);
	ck_assert_int_eq(symlinkat("d", directory_fd, "link"), 0);
	ck_assert_msg(open_absolute("d/f") == 0, "%s", err.text);
	ck_assert_int_lt(open_absolute("link/f"), 0);
	ck_assert_int_eq(chmod(in("d"), 0775), 0);
	ck_assert_int_eq(open_absolute("d/f"), -EPERM);
	ck_assert_int_eq(chmod(in("d"), 01777), 0);
	ck_assert_int_eq(open_absolute("d/f"), -EPERM);
	ck_assert_int_eq(chmod(in("d"), 0755), 0);
	ck_assert_int_eq(chown(in("d"), 1000, 0), 0);
	ck_assert_int_eq(open_absolute("d/f"), -EPERM);
	ck_assert_int_eq(chown(in("d"), 0, 0), 0);
	ck_assert_int_eq(open_absolute("d/f"), 0);
	/* an ancestor that somebody else owns, or that all may write */
	ck_assert_int_eq(chown(directory, 1000, 0), 0);
	ck_assert_int_eq(open_absolute("d/f"), -EPERM);
	ck_assert_int_eq(chown(directory, 0, 0), 0);
	ck_assert_int_eq(chmod(directory, 0777), 0);
	ck_assert_int_eq(open_absolute("d/f"), -EPERM);
	ck_assert_int_eq(chmod(directory, 0700), 0);
}
END_TEST

START_TEST(test_make_directory)
{
	struct stat st;

	if (geteuid() != 0) {
		puts("SKIP: making directories (needs root)");
		return;
	}
	umask(077);
	ck_assert_int_eq(setegid(1000), 0);
	ck_assert_msg(make("a/b/c") == 0, "%s", err.text);
	ck_assert_int_eq(setegid(0), 0);
	ck_assert_int_eq(fstatat(directory_fd, "a/b", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0750);
	ck_assert_uint_eq(st.st_gid, 0);
	ck_assert_int_eq(make("a/b/c"), 0);
	put("file", "");
	ck_assert_int_lt(make("file"), 0);
	ck_assert_int_lt(make("file/x"), 0);
	ck_assert_int_eq(symlinkat("a", directory_fd, "link"), 0);
	ck_assert_int_lt(make("link/x"), 0);
	ck_assert_int_eq(faccessat(directory_fd, "a/x", F_OK, 0), -1);
	ck_assert_int_eq(make("a/../x"), -EINVAL);
	ck_assert_int_eq(chown(in("a/b"), 1000, 0), 0);
	ck_assert_int_eq(make("a/b/d"), -EPERM);
	ck_assert_int_eq(faccessat(directory_fd, "a/b/d", F_OK, 0), -1);
	ck_assert_int_eq(chown(in("a/b"), 0, 0), 0);
	ck_assert_int_eq(make("a/b/d"), 0);
	ck_assert_int_eq(open_result(ac_make_directory("relative", 0755, &err)), -EINVAL);
	ck_assert_int_eq(open_result(ac_open_trusted_directory(in("none"), &err)), -ENOENT);
	ck_assert_int_eq(open_result(ac_open_trusted_directory(in("a"), &err)), 0);
}
END_TEST

START_TEST(test_remove_below)
{
	char name[16], path[32] = "deep";
	unsigned i;

	ck_assert_int_eq(mkdirat(directory_fd, "tree", 0700), 0);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "tree/%u", i);
		ck_assert_int_eq(close(openat(directory_fd, name, O_WRONLY | O_CREAT, 0600)), 0);
	}
	put("kept", "");
	ck_assert_int_eq(symlinkat("../kept", directory_fd, "tree/link"), 0);
	ck_assert_int_eq(symlinkat("..", directory_fd, "tree/up"), 0);
	ck_assert_int_eq(mkdirat(directory_fd, "tree/sub", 0700), 0);
	ck_assert_int_eq(symlinkat("../..", directory_fd, "tree/sub/up"), 0);
	ck_assert_int_eq(mkdirat(directory_fd, "deep", 0700), 0);
	for (i = 0; i < 12; i++) {
		strcat(path, "/d");
		ck_assert_int_eq(mkdirat(directory_fd, path, 0700), 0);
	}
	{
		ac_autoclose int tree = openat(directory_fd, "tree", O_PATH | O_CLOEXEC);

		ck_assert_msg(ac_remove_below(tree, &err) == 0, "%s", err.text);
	}
	ck_assert_int_eq(faccessat(directory_fd, "kept", F_OK, 0), 0);
	ck_assert_int_eq(unlinkat(directory_fd, "tree", AT_REMOVEDIR), 0);
	/* teardown removes the rest */
}
END_TEST

/* A mount in the tree, of another file system or a bind mount of the same one, stops the removal. */
START_TEST(test_remove_below_stops_at_mounts)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		puts("SKIP: mounts in a tree (needs root)");
		return;
	}
	ck_assert_int_eq(mkdirat(directory_fd, "tree", 0700), 0);
	ck_assert_int_eq(mkdirat(directory_fd, "tree/mnt", 0700), 0);
	ck_assert_int_eq(mkdirat(directory_fd, "other", 0700), 0);
	put("precious", "");
	ck_assert_int_eq(renameat(directory_fd, "precious", directory_fd, "other/precious"), 0);
	ck_assert_int_eq(mount(in("other"), in("tree/mnt"), NULL, MS_BIND, NULL), 0);
	ck_assert_int_lt(ac_remove_below(directory_fd, &err), 0);
	ck_assert_int_eq(umount2(in("tree/mnt"), MNT_DETACH), 0);
	if (faccessat(directory_fd, "other", F_OK, 0) == 0) /* removed on its own account, or not */
		ck_assert_int_eq(faccessat(directory_fd, "tree/mnt", F_OK, 0), 0);
	ck_assert_int_eq(mount("none", in("tree/mnt"), "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(close(openat(directory_fd, "tree/mnt/precious", O_CREAT, 0600)), 0);
	ck_assert_int_lt(ac_remove_below(directory_fd, &err), 0);
	ck_assert_int_eq(faccessat(directory_fd, "tree/mnt/precious", F_OK, 0), 0);
	ck_assert_int_eq(umount2(in("tree/mnt"), MNT_DETACH), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("safefile");
	TCase *tcase = tcase_create("safefile");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_write_and_read);
	tcase_add_test(tcase, test_failed_write_leaves_nothing);
	tcase_add_test(tcase, test_trusted);
	tcase_add_test(tcase, test_parent_of_a_trusted_file);
	tcase_add_test(tcase, test_make_directory);
	tcase_add_test(tcase, test_remove_below);
	tcase_add_test(tcase, test_remove_below_stops_at_mounts);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/*
 * Backups end to end in one process, as whoever runs the test: what is found again, what is told, what
 * stays after pruning, and that damage is never taken for content.  Needs no root.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup_force.h"
#include "backup_make.h"
#include "backup_prune.h"
#include "lifecycle.h"
#include "util.h"

static char base[64], project[128], store[128];
static int store_fd, serial;
static struct ac_path_list paths;
static struct ac_strings exclude;
static struct ac_err err;

static void put(const char *name, const char *content)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", project, name);
	FILE *stream = fopen(path, "w");

	ck_assert_ptr_nonnull(stream);
	fputs(content, stream);
	fclose(stream);
}

static void get(const char *name, char content[4096])
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", project, name);
	memset(content, 0, 4096);
	ac_autoclose int fd = open(path, O_RDONLY);

	if (fd >= 0 && read(fd, content, 4095) < 0)
		content[0] = '\0';
}

static bool exists(int directory, const char *name)
{
	return !faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void setup(void)
{
	snprintf(base, sizeof base, "/tmp/check-backup.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(project, sizeof project, "%s/project", base);
	snprintf(store, sizeof store, "%s/store", base);
	ck_assert_int_eq(mkdir(project, 0755), 0);
	ck_assert_int_eq(mkdir(store, 0700), 0);
	store_fd = ac_backup_open(store, &err);
	ck_assert_int_ge(store_fd, 0);
	memset(&paths, 0, sizeof paths);
	memset(&exclude, 0, sizeof exclude);
	paths.count = 1;
	snprintf(paths.entry[0].path, AC_PATH_MAX, "%s", project);
	serial = 0;
	put("a", "content of a");
	put("b", "content of b");
	put("c", "content of a");
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
	close(store_fd);
	ck_assert_int_eq(nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static const char *make(enum ac_make_state state, struct ac_backup_totals *totals)
{
	static char id[AC_BACKUP_ID_SIZE];
	struct ac_backup_totals own;

	serial++;
	snprintf(id, sizeof id, "20261130T%06uZ-%012x", (unsigned)serial % 1000,
		(unsigned)serial % 1000);
	const struct ac_backup_request request = { .backup_id = id,
		.session_id = strchr(id, '-') + 1,
		.user = "check",
		.paths = &paths,
		.exclude = &exclude,
		.environment = "{\"key\":1}" };

	ck_assert_msg(!ac_make(store_fd, &request, NULL, state, totals ? totals : &own, NULL, &err),
		"%s", err.text);
	return id;
}

static char told[4096];

static int tell(void *context, const struct ac_backup_change *change)
{
	size_t used = strlen(told);
	const char *name = change->path + strlen(project);

	(void)context;
	if (change->change == AC_CHANGE_MTIME)
		return 0;
	snprintf(told + used, sizeof told - used, "%s:%x ", name[0] ? name + 1 : ".",
		change->change & ~(unsigned)AC_CHANGE_MTIME);
	return 0;
}

static const char *diff(const char *id)
{
	const struct ac_backup_compare compare = {
		.store_fd = store_fd, .id = id, .patch_fd = -1, .each = tell
	};

	told[0] = '\0';
	ck_assert_msg(!ac_backup_diff(&compare, &err), "%s", err.text);
	return told;
}

static int restore(const char *id, struct ac_restore_outcome *outcome)
{
	const struct ac_restore_request request = {
		.store_fd = store_fd, .id = id, .is_forced = true, .user = "check"
	};

	return ac_backup_restore(&request, outcome, &err);
}

START_TEST(test_round_trip)
{
	struct ac_backup_totals totals;
	struct ac_restore_outcome outcome;
	char id[AC_BACKUP_ID_SIZE], path[256], content[4096];

	snprintf(id, sizeof id, "%s", make(AC_MAKE_LIVE, &totals));
	ck_assert_uint_eq(totals.files, 3);
	ck_assert_uint_eq(totals.new_bytes, 24); /* a and c are one */
	ck_assert_str_eq(diff(id), "");
	put("a", "changed of a");
	put("new", "new");
	snprintf(path, sizeof path, "%s/b", project);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("a", path), 0);
	diff(id);
	ck_assert_ptr_nonnull(strstr(told, "a:8 "));
	ck_assert_ptr_nonnull(strstr(told, "b:4 "));
	ck_assert_ptr_nonnull(strstr(told, "new:1 "));
	ck_assert_msg(!restore(id, &outcome), "%s", err.text);
	ck_assert_uint_eq(outcome.written, 2);
	ck_assert_uint_eq(outcome.removed, 1);
	ck_assert_str_eq(diff(id), "");
	get("a", content);
	ck_assert_str_eq(content, "content of a");
	ck_assert_msg(!restore(outcome.undo_id, &outcome), "%s", err.text);
	get("new", content);
	ck_assert_str_eq(content, "new");
	ck_assert_int_eq(ac_backup_verify(store_fd, id, &totals, &err), 0);
	ck_assert_uint_eq(totals.files, 3);
}
END_TEST

START_TEST(test_exclude)
{
	struct ac_restore_outcome outcome;
	char id[AC_BACKUP_ID_SIZE], path[256], content[4096];

	exclude.count = 2;
	snprintf(exclude.text[0], AC_PATH_MAX, "%s", "*.o");
	snprintf(exclude.text[1], AC_PATH_MAX, "%s", "dir/deep");
	snprintf(path, sizeof path, "%s/dir", project);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/dir/deep", project);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	put("x.o", "object");
	put("dir/deep/inside", "inside");
	put("dir/kept", "kept");
	snprintf(id, sizeof id, "%s", make(AC_MAKE_LIVE, NULL));
	ck_assert_str_eq(diff(id), "");
	put("x.o", "OBJECT");
	put("dir/deep/inside", "changed!");
	put("dir/kept", "changed");
	diff(id);
	ck_assert_msg(strstr(told, "x.o:208 ") != NULL, "%s", told);
	ck_assert_msg(strstr(told, "dir/deep/inside:208 ") != NULL, "%s", told);
	ck_assert_msg(!restore(id, &outcome), "%s", err.text);
	get("dir/kept", content);
	ck_assert_str_eq(content, "kept");
	get("x.o", content);
	ck_assert_str_eq(content, "OBJECT"); /* nobody has its content */
	get("dir/deep/inside", content);
	ck_assert_str_eq(content, "changed!");
}
END_TEST

static void flip(const char *suffix, off_t from_end)
{
	DIR *directory = opendir(store);
	const struct dirent *entry;
	unsigned char byte;

	ck_assert_ptr_nonnull(directory);
	while ((entry = readdir(directory))) {
		size_t length = strlen(entry->d_name);

		if (length < strlen(suffix) ||
			strcmp(entry->d_name + length - strlen(suffix), suffix) != 0)
			continue;
		ac_autoclose int fd = openat(store_fd, entry->d_name, O_RDWR);
		off_t at = from_end < 0 ? lseek(fd, 0, SEEK_END) + from_end : from_end;

		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	}
	closedir(directory);
}

START_TEST(test_damage)
{
	static const struct {
		const char *suffix;
		off_t at;
		bool is_replaced; /* the next backup notices and stores anew */
	} damages[] = { { ".pack", 24, false }, { ".pack", -1, true }, { ".pack", -60, true },
		{ ".pack", -100, true }, { ".manifest", 30, true }, { ".manifest", 250, true },
		{ ".manifest", -1, true }, { ".manifest", -40, true } };
	struct ac_backup_totals totals;
	struct ac_restore_outcome outcome;
	char id[AC_BACKUP_ID_SIZE], content[4096];

	snprintf(id, sizeof id, "%s", make(AC_MAKE_LIVE, NULL));
	ck_assert_int_eq(ac_backup_verify(store_fd, id, NULL, &err), 0);
	flip(damages[_i].suffix, damages[_i].at);
	ck_assert_int_lt(ac_backup_verify(store_fd, id, NULL, &err), 0);
	put("a", "changed");
	if (!damages[_i].is_replaced) {
		put("b", "changed");
		ck_assert_int_lt(restore(id, &outcome), 0);
		get("a", content);
		ck_assert(!strcmp(content, "changed") || !strcmp(content, "content of a"));
		get("b", content);
		ck_assert(!strcmp(content, "changed") || !strcmp(content, "content of b"));
		return;
	}
	snprintf(id, sizeof id, "%s", make(AC_MAKE_LIVE, &totals));
	ck_assert_msg(!ac_backup_verify(store_fd, id, NULL, &err), "%s", err.text);
	put("a", "");
	ck_assert_msg(!restore(id, &outcome), "%s", err.text);
	get("a", content);
	ck_assert_str_eq(content, "changed");
}
END_TEST

START_TEST(test_sweep)
{
	char path[256];
	struct stat st;

	make(AC_MAKE_LIVE, NULL);
	ac_autoclose int fd = openat(
		store_fd, "tmp-0123456789abcdef0123456789abcdef", O_CREAT | O_WRONLY, 0600);
	ac_autoclose int pack = openat(
		store_fd, "0123456789abcdef0123456789abcdef.pack", O_CREAT | O_WRONLY, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(pack, 0);
	ck_assert_int_eq(ac_store_state_set(store_fd, "orphan", "kept\n", &err), 0);
	/* As a backup that was killed while it read a file of mode 0. */
	snprintf(path, sizeof path, "%s/a", project);
	ck_assert_int_eq(chmod(path, 0400), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ac_autoclose int log = openat(store_fd, AC_FORCE_PREFIX "1", O_CREAT | O_WRONLY, 0600);

	ck_assert_int_gt(dprintf(log, "%llu %llu %o %s\n",
				 (unsigned long long)(st.st_dev >> 8) << 32 |
					 (unsigned long long)(st.st_dev & 0xff),
				 (unsigned long long)st.st_ino, S_IFREG, path),
		0);
	make(AC_MAKE_LIVE, NULL);
	ck_assert(!exists(store_fd, "tmp-0123456789abcdef0123456789abcdef"));
	ck_assert(!exists(store_fd, "0123456789abcdef0123456789abcdef.pack"));
	ck_assert(!exists(store_fd, "orphan.state"));
	ck_assert(!exists(store_fd, AC_FORCE_PREFIX "1"));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0);
}
END_TEST

START_TEST(test_refuse)
{
	struct ac_backup_totals totals;
	struct ac_backup_request request = { .backup_id = "..", .user = "check", .paths = &paths };

	ck_assert_int_eq(
		ac_make(store_fd, &request, NULL, AC_MAKE_KEPT, &totals, NULL, &err), -EINVAL);
	request.backup_id = "20261130T000001Z-000000000001";
	paths.entry[0].inode = 1; /* not what is there */
	ck_assert_int_eq(
		ac_make(store_fd, &request, NULL, AC_MAKE_KEPT, &totals, NULL, &err), -ESTALE);
	paths.entry[0].inode = 0;
	snprintf(paths.entry[0].path, AC_PATH_MAX, "%s/missing", project);
	ck_assert_int_eq(
		ac_make(store_fd, &request, NULL, AC_MAKE_KEPT, &totals, NULL, &err), -ENOENT);
	ck_assert(!exists(store_fd, "20261130T000001Z-000000000001.manifest"));
	ck_assert_int_eq(fchmod(store_fd, 0750), 0);
	ck_assert_int_eq(ac_backup_open(store, &err), -EPERM);
	ck_assert_int_eq(fchmod(store_fd, 0700), 0);
}
END_TEST

START_TEST(test_names)
{
	struct ac_pack_id id = { { 0, 1, 2, 0xff } }, back;
	char name[AC_STORE_NAME_MAX], made[AC_BACKUP_ID_SIZE];

	ac_store_pack_name(name, &id);
	ck_assert_str_eq(name, "000102ff000000000000000000000000.pack");
	ck_assert(ac_store_pack_id(name, &back));
	ck_assert_mem_eq(&id, &back, sizeof id);
	name[0] = 'G';
	ck_assert(!ac_store_pack_id(name, &back));
	ck_assert(!ac_store_pack_id("x.pack", &back));
	ck_assert(ac_store_id_is_valid("20261130T044712Z-0123456789ab"));
	ck_assert(!ac_store_id_is_valid(""));
	ck_assert(!ac_store_id_is_valid("-x"));
	ck_assert(!ac_store_id_is_valid("a/b"));
	ck_assert(!ac_store_id_is_valid("20261130T044712Z-0123456789abcde"));
	ck_assert_int_eq(ac_make_id(made, &err), 0);
	ck_assert(ac_store_id_is_valid(made));
	ck_assert_uint_eq(strlen(made), 29);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backup");
	TCase *tcase = tcase_create("backup");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_round_trip);
	tcase_add_test(tcase, test_exclude);
	tcase_add_loop_test(tcase, test_damage, 0, 8);
	tcase_add_test(tcase, test_sweep);
	tcase_add_test(tcase, test_refuse);
	tcase_add_test(tcase, test_names);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* SPDX-License-Identifier: ISC */
/*
 * Names, lock and garbage of a store.  All of it runs as the user whose directory it is; root never
 * opens anything in it.
 */
#include "backup_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup_force.h"
#include "util.h"

int ac_store_open(const char *directory, struct ac_err *err)
{
	ac_autoclose int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return ac_fail_errno(err, errno, "open the backup store %s", directory);
	if (fstat(fd, &st) < 0)
		return ac_fail_errno(err, errno, "stat %s", directory);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return ac_fail(err, EPERM,
			"the backup store %s must belong to uid %u with mode 0700; it has uid %u, "
			"mode "
			"%04o",
			directory, (unsigned)geteuid(), (unsigned)st.st_uid,
			(unsigned)st.st_mode & 07777);
	return ac_take_fd(&fd);
}

int ac_store_lock(int store_fd, bool exclusive, unsigned wait_s, struct ac_err *err)
{
	ac_autoclose int fd = openat(
		store_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };

	if (fd < 0)
		return ac_fail_errno(err, errno, "open the lock of the backup store");
	for (unsigned tries = 0;; tries++) {
		if (!flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB))
			return ac_take_fd(&fd);
		if (errno != EWOULDBLOCK && errno != EINTR)
			return ac_fail_errno(err, errno, "lock the backup store");
		if (tries >= wait_s * 20)
			break;
		nanosleep(&pause, NULL);
	}
	return ac_fail(err, EWOULDBLOCK,
		"the backup store is in use by another agentcell of this user; try again when it "
		"is done");
}

bool ac_store_id_is_valid(const char *id)
{
	size_t length = strlen(id);

	if (!length || length >= AC_BACKUP_ID_SIZE || id[0] == '-')
		return false;
	for (; *id; id++)
		if (!((*id >= '0' && *id <= '9') || (*id >= 'a' && *id <= 'z') ||
			    (*id >= 'A' && *id <= 'Z') || *id == '-'))
			return false;
	return true;
}

static void to_hex(char *text, const unsigned char *bytes, size_t count)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*text++ = digit[bytes[i] >> 4];
		*text++ = digit[bytes[i] & 15];
	}
	*text = '\0';
}

void ac_store_join(char name[AC_STORE_NAME_MAX], const char *a, const char *b)
{
	snprintf(name, AC_STORE_NAME_MAX, "%s%s", a, b);
}

void ac_store_pack_name(char name[AC_STORE_NAME_MAX], const struct ac_pack_id *id)
{
	char hex[2 * sizeof id->byte + 1];

	to_hex(hex, id->byte, sizeof id->byte);
	ac_store_join(name, hex, AC_STORE_PACK);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ac_store_pack_id(const char *name, struct ac_pack_id *id)
{
	if (strlen(name) != 2 * sizeof id->byte + strlen(AC_STORE_PACK) ||
		strcmp(name + 2 * sizeof id->byte, AC_STORE_PACK) != 0)
		return false;
	for (size_t i = 0; i < sizeof id->byte; i++) {
		int high = hex_value(name[2 * i]), low = hex_value(name[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id->byte[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

int ac_store_random(void *bytes, size_t size, struct ac_err *err)
{
	if (getrandom(bytes, size, 0) != (ssize_t)size)
		return ac_fail_errno(err, errno, "read random bytes");
	return 0;
}

int ac_store_temporary(int store_fd, char name[AC_STORE_NAME_MAX], struct ac_err *err)
{
	unsigned char bytes[16];
	char hex[2 * sizeof bytes + 1];
	int result = ac_store_random(bytes, sizeof bytes, err);

	if (result)
		return result;
	to_hex(hex, bytes, sizeof bytes);
	ac_store_join(name, AC_STORE_TEMPORARY, hex);
	int fd = openat(store_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return ac_fail_errno(err, errno, "make a file in the backup store");
	return fd;
}

int ac_store_write(int fd, const unsigned char *bytes, size_t length, uint64_t offset)
{
	while (length) {
		ssize_t done = pwrite(fd, bytes, length, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -ENOSPC;
		bytes += done;
		length -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

/* Calls each with every name in the store. */
static int each_name(int store_fd, int (*each)(void *context, const char *name), void *context,
	struct ac_err *err)
{
	int fd = openat(store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	int result = 0;

	if (!directory) {
		result = ac_fail_errno(err, errno, "read the backup store");
		if (fd >= 0)
			close(fd);
		return result;
	}
	while (!result) {
		errno = 0;
		const struct dirent *entry = readdir(directory);

		if (!entry) {
			if (errno)
				result = ac_fail_errno(err, errno, "read the backup store");
			break;
		}
		result = each(context, entry->d_name);
	}
	closedir(directory);
	return result;
}

struct id_list {
	struct ac_store_id *ids;
	struct ac_pack_id *packs;
	unsigned count, room;
	struct ac_err *err;
};

static int make_room(struct id_list *list, void **array, size_t size)
{
	if (list->count < list->room)
		return 0;
	unsigned room = list->room ? list->room * 2 : 32;
	void *grown = reallocarray(*array, room, size);

	if (!grown)
		return ac_fail_errno(list->err, ENOMEM, "list the backup store");
	*array = grown;
	list->room = room;
	return 0;
}

static int add_id(void *context, const char *name)
{
	struct id_list *list = context;
	size_t length = strlen(name), suffix = strlen(AC_STORE_MANIFEST);
	void *array = list->ids;

	if (length <= suffix || length - suffix >= AC_BACKUP_ID_SIZE ||
		strcmp(name + length - suffix, AC_STORE_MANIFEST) != 0)
		return 0;
	if (make_room(list, &array, sizeof list->ids[0]))
		return -ENOMEM;
	list->ids = array;
	struct ac_store_id *id = &list->ids[list->count];

	memset(id, 0, sizeof *id);
	memcpy(id->text, name, length - suffix);
	if (ac_store_id_is_valid(id->text))
		list->count++;
	return 0;
}

/* An id begins with the second in which its session was planned, and then only tells sessions
 * apart: within one second the manifest says which was first. */
struct dated_id {
	struct ac_store_id id;
	int64_t started_s;
	uint32_t started_ns;
};

#define STAMP_LENGTH 16 /* 20261130T044712Z */

static int newest_first(const void *a, const void *b)
{
	const struct dated_id *left = a, *right = b;
	int order = -strncmp(left->id.text, right->id.text, STAMP_LENGTH);

	if (!order)
		order = (left->started_s < right->started_s) - (left->started_s > right->started_s);
	if (!order)
		order = (left->started_ns < right->started_ns) -
			(left->started_ns > right->started_ns);
	return order ? order : -strcmp(left->id.text, right->id.text);
}

/* One that cannot be read keeps 0: it is damaged, and older than what is whole. */
static void read_started(int store_fd, struct dated_id *dated)
{
	struct ac_manifest_header header;
	char name[AC_STORE_NAME_MAX];

	ac_store_join(name, dated->id.text, AC_STORE_MANIFEST);
	ac_autoclose int fd = openat(
		store_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
		memcmp(header.magic, AC_MANIFEST_MAGIC, sizeof header.magic) != 0)
		return;
	dated->started_s = header.started_s;
	dated->started_ns = header.started_ns;
}

static bool has_same_stamp(const struct dated_id *a, const struct dated_id *b)
{
	return !strncmp(a->id.text, b->id.text, STAMP_LENGTH);
}

static int sort_ids(int store_fd, struct ac_store_id *ids, unsigned count, struct ac_err *err)
{
	ac_autofree struct dated_id *dated = calloc(count + 1u, sizeof *dated);

	if (!dated)
		return ac_fail_errno(err, ENOMEM, "list the backup store");
	for (unsigned i = 0; i < count; i++)
		dated[i].id = ids[i];
	qsort(dated, count, sizeof *dated, newest_first);
	for (unsigned i = 0; i < count; i++)
		if ((i && has_same_stamp(&dated[i - 1], &dated[i])) ||
			(i + 1 < count && has_same_stamp(&dated[i], &dated[i + 1])))
			read_started(store_fd, &dated[i]);
	qsort(dated, count, sizeof *dated, newest_first);
	for (unsigned i = 0; i < count; i++)
		ids[i] = dated[i].id;
	return 0;
}

int ac_store_ids(int store_fd, struct ac_store_id **ids, unsigned *count, struct ac_err *err)
{
	struct id_list list = { .err = err };
	int result = each_name(store_fd, add_id, &list, err);

	if (!result)
		result = sort_ids(store_fd, list.ids, list.count, err);
	if (result) {
		free(list.ids);
		return result;
	}
	*ids = list.ids;
	*count = list.count;
	return 0;
}

static int add_pack(void *context, const char *name)
{
	struct id_list *list = context;
	void *array = list->packs;

	if (make_room(list, &array, sizeof list->packs[0]))
		return -ENOMEM;
	list->packs = array;
	if (ac_store_pack_id(name, &list->packs[list->count]))
		list->count++;
	return 0;
}

int ac_store_packs(int store_fd, struct ac_pack_id **ids, unsigned *count, struct ac_err *err)
{
	struct id_list list = { .err = err };
	int result = each_name(store_fd, add_pack, &list, err);

	if (result) {
		free(list.packs);
		return result;
	}
	*ids = list.packs;
	*count = list.count;
	return 0;
}

struct sweep {
	int store_fd;
	struct ac_err *err;
};

/* A state file is written before its manifest is renamed, so one without a manifest is garbage. */
static bool is_orphaned_state(int store_fd, const char *name)
{
	char manifest[AC_STORE_NAME_MAX];
	size_t length = strlen(name), suffix = strlen(AC_STORE_STATE);

	if (length <= suffix || strcmp(name + length - suffix, AC_STORE_STATE) != 0 ||
		length - suffix + strlen(AC_STORE_MANIFEST) >= sizeof manifest)
		return false;
	memcpy(manifest, name, length - suffix);
	memcpy(manifest + length - suffix, AC_STORE_MANIFEST, sizeof AC_STORE_MANIFEST);
	return faccessat(store_fd, manifest, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static int sweep_name(void *context, const char *name)
{
	const struct sweep *sweep = context;
	bool garbage = !strncmp(name, AC_STORE_TEMPORARY, strlen(AC_STORE_TEMPORARY)) ||
		       is_orphaned_state(sweep->store_fd, name);

	if (!strncmp(name, AC_FORCE_PREFIX, strlen(AC_FORCE_PREFIX)))
		return ac_force_undo(sweep->store_fd, name, sweep->err);
	if (garbage && unlinkat(sweep->store_fd, name, 0) < 0 && errno != ENOENT)
		return ac_fail_errno(sweep->err, errno, "remove %s from the backup store", name);
	return 0;
}

int ac_store_sweep(int store_fd, struct ac_err *err)
{
	struct sweep sweep = { .store_fd = store_fd, .err = err };

	return each_name(store_fd, sweep_name, &sweep, err);
}

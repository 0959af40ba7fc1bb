// SPDX-License-Identifier: ISC
/*
 * Session cgroups: where they are, their making and removal.  Everything goes through directory
 * descriptors of cgroup2, whose files only root can write; names come from ac_session_id_is_valid()
 * ids, so they cannot climb.
 *
 * Two parents are possible, the delegated unit of the listener first; whoever looks for a session
 * that exists looks below both, since the unit may have been started or stopped meanwhile.
 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cgroup_parts.h"
#include "journal.h"
#include "mount.h"
#include "util.h"

#define UNIT "system.slice/agentcelld.service"
#define OF_ROOT 2 /* agentcell/<id> */
#define OF_UNIT 4 /* the same below UNIT */

static const char *const controllers[] = { "cpu", "memory", "pids" };

static int open_directory(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A mount of our own, which nobody else sees and which goes with its descriptor. */
static int mount_root(void)
{
	ac_autoclose int mount = ac_mount_new(
		"cgroup2", NULL, AC_MOUNT_NO_DEVICES | AC_MOUNT_NO_EXEC, NULL);

	return mount < 0 ? mount : open_directory(mount, ".");
}

/* The mount of version 2: alone, or beside version 1 hierarchies.  `ip netns exec` covers /sys with a fresh
 * one that has none. */
static int open_root(struct ac_err *err)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

	for (unsigned i = 0; i < AC_COUNT(places); i++) {
		ac_autoclose int fd = open_directory(AT_FDCWD, places[i]);
		struct statfs fs;

		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return ac_take_fd(&fd);
	}
	ac_autoclose int own = mount_root();

	if (own >= 0)
		return ac_take_fd(&own);
	return ac_fail(err, ENOTSUP,
		"no cgroup version 2 hierarchy at %s or %s: mount one there "
		"(kernel command line systemd.unified_cgroup_hierarchy=1, or mount -t cgroup2)",
		places[0], places[1]);
}

/* systemd marks what it delegated (trusted.delegate, and user.delegate from 254 on). */
static int open_unit(int root)
{
	static const char *const marks[] = { "trusted.delegate", "user.delegate" };
	ac_autoclose int fd = open_directory(root, UNIT);
	char value = 0;

	for (unsigned i = 0; fd >= 0 && i < AC_COUNT(marks); i++)
		if (fgetxattr(fd, marks[i], &value, 1) == 1 && value == '1')
			return ac_take_fd(&fd);
	return -ENOENT;
}

/*
 * The kernel gives a cgroup's controllers to its children only while it holds no process itself, and
 * systemd starts the listener right in the unit's.
 */
int ac_cgroup_make_room(struct ac_err *err)
{
	ac_autoclose int root = open_root(err);
	ac_autoclose int unit = root < 0 ? -1 : open_unit(root);
	ac_autoclose int own = -1;

	if (root < 0)
		return root;
	if (unit < 0 || ac_cgroup_has(unit, getpid()) != 1)
		return 0; /* not started by the unit */
	if (mkdirat(unit, "listener", 0755) && errno != EEXIST)
		return ac_fail_errno(err, errno, "make the listener's own cgroup");
	own = open_directory(unit, "listener");
	if (own < 0)
		return ac_fail_errno(err, errno, "open the listener's own cgroup");
	return ac_cgroup_enter(own, getpid(), err);
}

/* The inode that include/linux/proc_ns.h fixes for the first namespace (PROC_CGROUP_INIT_INO). */
static bool is_first_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/cgroup", &st) && st.st_ino == 0xeffffffbu;
}

void ac_cgroup_levels(int levels[AC_CGROUP_LEVELS_MAX + 1])
{
	bool is_known = is_first_namespace();
	unsigned count = 0;

	for (int level = 2; level < 2 + AC_CGROUP_LEVELS_MAX; level++)
		if (!is_known || level == OF_ROOT || level == OF_UNIT)
			levels[count++] = level;
	levels[count] = 0;
}

static bool holds_processes(int cgroup_fd)
{
	ac_autofclose FILE *procs = ac_cgroup_open_procs(cgroup_fd);

	return procs && fgetc(procs) != EOF;
}

/*
 * Hands the host's controllers down.  A refusal is no failure: rlimits remain.  A cgroup that holds
 * a process (the root may) is left alone: cpu and pids would be taken, and would make a threaded
 * domain of it, below which no session can live.
 */
static void enable_controllers(int directory_fd)
{
	bool is_root = faccessat(directory_fd, "cgroup.type", F_OK, AT_EACCESS) && errno == ENOENT;

	if (!is_root && holds_processes(directory_fd))
		return;
	for (unsigned i = 0; i < AC_COUNT(controllers); i++) {
		char text[16];

		snprintf(text, sizeof(text), "+%s", controllers[i]);
		(void)ac_cgroup_put(directory_fd, "cgroup.subtree_control", text);
	}
}

/* The directory in which sessions are made. */
static int make_parent(struct ac_err *err)
{
	ac_autoclose int root = open_root(err);
	ac_autoclose int unit = -1;
	int base, parent;

	if (root < 0)
		return root;
	unit = open_unit(root);
	base = unit >= 0 ? unit : root;
	enable_controllers(base);
	if (mkdirat(base, "agentcell", 0755) && errno != EEXIST)
		return ac_fail_errno(err, errno, "make the cgroup agentcell");
	parent = open_directory(base, "agentcell");
	if (parent < 0)
		return ac_fail_errno(err, errno, "open the cgroup agentcell");
	enable_controllers(parent);
	return parent;
}

/* The parent in which the session is: fd, or -ENOENT. */
static int find_parent(const char *session_id, struct ac_err *err)
{
	ac_autoclose int root = -1;
	ac_autoclose int unit = -1;

	if (!ac_session_id_is_valid(session_id))
		return ac_fail(err, EINVAL, "no session id: a cgroup needs 12 hex digits");
	root = open_root(err);
	if (root < 0)
		return root;
	unit = open_unit(root);
	for (int i = 0; i < 2; i++) {
		int base = i ? root : unit;
		ac_autoclose int parent = base < 0 ? -1 : open_directory(base, "agentcell");

		if (parent >= 0 &&
			!faccessat(parent, session_id, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW))
			return ac_take_fd(&parent);
	}
	return ac_fail(err, ENOENT, "the session %s has no cgroup", session_id);
}

/* Whether processes and memory are limited by it; the rest is welcome but not asked for. */
static bool set_limits(int fd, const struct ac_limits *limits)
{
	bool limited = !ac_cgroup_put_number(fd, "pids.max", limits->processes);

	if (limits->memory_bytes) {
		limited = !ac_cgroup_put_number(fd, "memory.max", limits->memory_bytes) && limited;
		(void)ac_cgroup_put(fd, "memory.swap.max", "0");
		(void)ac_cgroup_put(fd, "memory.oom.group", "0");
	}
	if (limits->cpu_weight)
		(void)ac_cgroup_put_number(fd, "cpu.weight", limits->cpu_weight);
	return limited;
}

int ac_cgroup_make(
	const char *session_id, const struct ac_limits *limits, bool *limited, struct ac_err *err)
{
	ac_autoclose int parent = -1;
	bool in_force, made;
	int fd;

	if (!ac_session_id_is_valid(session_id))
		return ac_fail(err, EINVAL, "no session id: a cgroup needs 12 hex digits");
	parent = make_parent(err);
	if (parent < 0)
		return parent;
	made = !mkdirat(parent, session_id, 0755);
	if (!made && errno != EEXIST)
		return ac_fail_errno(err, errno, "make the cgroup agentcell/%s", session_id);
	fd = open_directory(parent, session_id);
	if (fd < 0)
		return ac_fail_errno(err, errno, "open the cgroup agentcell/%s", session_id);
	/* A first try may have left it: fine while nobody is in. */
	if (!made && ac_cgroup_is_populated(fd)) {
		close(fd);
		return ac_fail(
			err, EEXIST, "the cgroup agentcell/%s has processes already", session_id);
	}
	in_force = set_limits(fd, limits);
	if (limited)
		*limited = in_force;
	return fd;
}

int ac_cgroup_open(const char *session_id, struct ac_err *err)
{
	ac_autoclose int parent = find_parent(session_id, err);
	int fd;

	if (parent < 0)
		return parent;
	fd = open_directory(parent, session_id);
	return fd >= 0 ? fd : ac_fail_errno(err, errno, "open the cgroup agentcell/%s", session_id);
}

int ac_cgroup_path(const char *session_id, char path[AC_PATH_MAX], struct ac_err *err)
{
	ac_autoclose int fd = ac_cgroup_open(session_id, err);
	char text[AC_PATH_MAX];
	ssize_t length;

	if (fd < 0)
		return fd;
	length = readlink(ac_fd_name(fd).text, text, sizeof(text) - 1);
	if (length < 0)
		return ac_fail_errno(
			err, errno, "read the path of cgroup agentcell/%s", session_id);
	text[length] = '\0';
	memcpy(path, text, (size_t)length + 1);
	return 0;
}

int ac_cgroup_remove(const char *session_id, struct ac_err *err)
{
	struct ac_err ignored;
	ac_autoclose int parent = find_parent(session_id, &ignored);

	if (parent == -ENOENT)
		return 0;
	if (parent < 0) {
		if (err)
			*err = ignored;
		return parent;
	}
	if (unlinkat(parent, session_id, AT_REMOVEDIR) && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove the cgroup agentcell/%s", session_id);
	return 0;
}

/* SPDX-License-Identifier: ISC */
/*
 * One kernel event: what its records have told so far.  Pure, fixed size, no allocation.
 * The judge decides as soon as the decisive record is in; nothing waits for the end of an event.
 */
#ifndef AC_EVENT_H
#define AC_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "names.h"
#include "record.h"

#define AC_EVENT_PATHS_MAX 4
#define AC_UID_UNSET UINT32_MAX

enum ac_event_seen { /* bits of ac_event.seen */
	AC_SEEN_SYSCALL = 1 << 0,
	AC_SEEN_CWD = 1 << 1,
	AC_SEEN_PATH = 1 << 2, /* an item that is acted on, not its parent directory */
	AC_SEEN_SOCKADDR = 1 << 3,
	AC_SEEN_OBJECT = 1 << 4, /* OBJ_PID: the process that was acted on */
	AC_SEEN_LANDLOCK = 1 << 5,
	AC_SEEN_DOMAIN = 1 << 6, /* 1424: who owns the Landlock domain */
	AC_SEEN_SECCOMP = 1 << 7,
	AC_SEEN_PACKET = 1 << 8,
	AC_SEEN_END = 1 << 9,
};

struct ac_object { /* a file as the kernel numbers it */
	uint64_t inode; /* 0: none */
	uint32_t major, minor;
};

struct ac_event_path {
	char name[AC_PATH_MAX]; /* as typed; "" when the kernel had none */
	bool cut; /* longer than AC_PATH_MAX */
	uint32_t mode; /* 0: no inode */
	struct ac_object object;
	bool file_caps; /* the file carries capabilities */
	bool child; /* found in its directory, for to be made or removed there */
};

struct ac_event {
	uint64_t serial;
	uint64_t time_ms;
	unsigned seen;
	/* SYSCALL (or SECCOMP: pid, uid, auid, syscall, arch, comm, exe only) */
	uint32_t arch;
	int syscall;
	bool success;
	int64_t exit;
	uint64_t a[4];
	pid_t pid, ppid;
	uint32_t uid, auid, euid, suid, fsuid;
	char comm[64];
	char exe[AC_PATH_MAX];
	/* CWD, PATH */
	char cwd[AC_PATH_MAX]; /* "" when unknown or too long */
	unsigned path_count;
	struct ac_event_path path[AC_EVENT_PATHS_MAX];
	/* Directories, for when nothing else is there; of more than two the first and the last.  Two names
	 * have one each; a name that is to be made has several when its last component is a symlink. */
	unsigned parent_count;
	struct ac_event_path parent[2];
	/* SOCKADDR */
	unsigned char address[128];
	unsigned address_length;
	/* OBJ_PID, and opid/ocomm of Landlock */
	pid_t object_pid;
	uint32_t object_uid;
	/* LANDLOCK_ACCESS and _DOMAIN */
	uint64_t domain;
	bool domain_ended; /* status=deallocated: a count, not a denial */
	char blockers[512];
	char landlock_path[AC_PATH_MAX]; /* canonical, as the cell sees it */
	/* SECCOMP */
	uint32_t seccomp_code;
	/* NETFILTER_PKT, and daddr/dest of Landlock */
	uint32_t mark;
	char packet_address[64];
	uint32_t packet_port; /* 0: the record does not say */
	uint32_t protocol;
};

void ac_event_init(struct ac_event *event, const struct ac_record *record);

/* Adds one record of the same serial; unknown types and fields are ignored. */
void ac_event_add(struct ac_event *event, const struct ac_record *record);

/*
 * Whose event a record is: uid and auid of SYSCALL and SECCOMP, uid of a Landlock domain, mark of a
 * packet (as uid).  False when the record does not say.
 */
bool ac_record_owner(const struct ac_record *record, uint32_t *uid, uint32_t *auid);

#endif

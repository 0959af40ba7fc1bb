/* SPDX-License-Identifier: ISC */
/* Finding again what access by ACL (access.h) was given to, and taking it back. */
#ifndef AC_ACCESS_BACK_H
#define AC_ACCESS_BACK_H

#include "access.h"
#include "resolve.h"

struct ac_access_back {
	struct ac_access access; /* with the range */
	struct ac_identity user; /* what is found is what she could reach */
	pid_t parent; /* in a child: what it is to die with; else 0 */
};

/* What stands at the entry's path now, through no symlink: an O_PATH descriptor, or -errno. */
int ac_access_look_up(const struct ac_path_entry *entry);
bool ac_access_is_same(int fd, const struct ac_path_entry *entry);

/* Again after each change of ids, which takes the signal away: one that lived on would walk beside
 * whoever has the session next. */
void ac_access_die_with(pid_t parent);

/* held_fd: of the object itself, where it was kept open, or -1.  Gone from the disk, too, afterwards. */
int ac_access_take_back(const struct ac_access_back *back, const struct ac_path_entry *entry,
	int held_fd, struct ac_err *err);

#endif

/* SPDX-License-Identifier: ISC */
/* What the cgroup's own files share: a cgroup's control files, by its open directory. */
#ifndef AC_CGROUP_PARTS_H
#define AC_CGROUP_PARTS_H

#include <stdint.h>
#include <stdio.h>

/* One write(2): what the kernel takes as one command. */
int ac_cgroup_put(int directory_fd, const char *name, const char *text);
int ac_cgroup_put_number(int directory_fd, const char *name, uint64_t number);

FILE *ac_cgroup_open_procs(int cgroup_fd); /* NULL and errno */

#endif

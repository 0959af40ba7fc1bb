/* SPDX-License-Identifier: ISC */
/* Loads agentcell_switch.so on demand, with a check of its own: sudo does not know of this file. */
#include "switch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"
#include "util.h"

#ifndef AC_SUDO_DIRECTORY
#define AC_SUDO_DIRECTORY "/usr/libexec/sudo"
#endif

const struct ac_switch *ac_switch_load(struct ac_err *err)
{
	static const char path[] = AC_SUDO_DIRECTORY "/" AC_SWITCH_FILE;
	static const struct ac_switch *loaded;
	struct stat status;

	if (loaded)
		return loaded;
	ac_autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) != 0) {
		ac_fail_errno(err, errno, "cannot open %s; install agentcell again", path);
		return NULL;
	}
	if (!S_ISREG(status.st_mode) || status.st_uid != 0 ||
		status.st_mode & (S_IWGRP | S_IWOTH)) {
		ac_fail(err, EPERM, "%s must be a file of root's that nobody else can write", path);
		return NULL;
	}
	/* By the descriptor that was judged. */
	void *handle = dlopen(ac_fd_name(fd).text, RTLD_NOW | RTLD_LOCAL);

	loaded = handle ? dlsym(handle, AC_SWITCH_SYMBOL) : NULL;
	if (!loaded)
		ac_fail(err, ENOEXEC, "cannot load %s: %s", path, dlerror());
	return loaded;
}

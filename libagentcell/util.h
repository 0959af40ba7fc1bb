/* SPDX-License-Identifier: ISC */
/*
 * Ownership helpers: descriptors, streams and heap blocks that are released when their variable
 * goes out of scope.  Hand over by ac_take_fd() / AC_TAKE(), which empties the variable.
 */
#ifndef AC_UTIL_H
#define AC_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void ac_close_pointer(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void ac_fclose_pointer(FILE **stream)
{
	if (*stream)
		fclose(*stream);
}

static inline void ac_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline int ac_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* The name that a descriptor has for this process (proc(5)): what takes a name acts on the very file,
 * whatever its path leads to by now. */
struct ac_fd_name {
	char text[32];
};

static inline struct ac_fd_name ac_fd_name(int fd)
{
	struct ac_fd_name name;

	(void)snprintf(name.text, sizeof(name.text), "/proc/self/fd/%d", fd);
	return name;
}

#define ac_autoclose __attribute__((cleanup(ac_close_pointer)))
#define ac_autofclose __attribute__((cleanup(ac_fclose_pointer)))
#define ac_autofree __attribute__((cleanup(ac_free_pointer)))
#define AC_TAKE(pointer) \
	({ \
		__typeof__(pointer) taken_ = (pointer); \
		(pointer) = NULL; \
		taken_; \
	})
#define AC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif

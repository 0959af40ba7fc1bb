/* SPDX-License-Identifier: ISC */
/* Reads AC_PRIVATE_FILE: NAME=value strings, each with its NUL.  The root of the view is root's and
 * read-only, so nobody else can have put it there; it is the session's, so that it can be read. */
#include "launch_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safefile.h"
#include "util.h"

static int read_file(const struct ac_cell *cell, char **bytes, size_t *length, struct ac_err *err)
{
	ac_autoclose int fd = open(AC_PRIVATE_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	*bytes = NULL;
	*length = 0;
	if (fd < 0)
		return errno == ENOENT ? 0
				       : ac_fail_errno(err, errno, "cannot open " AC_PRIVATE_FILE);
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != cell->uid ||
		(status.st_mode & 07777) != 0400)
		return ac_fail(err, EPERM, AC_PRIVATE_FILE " is not the session's own");
	*bytes = malloc(AC_PRIVATE_MAX);
	ssize_t size = *bytes ? ac_read_all(fd, *bytes, AC_PRIVATE_MAX) : -ENOMEM;

	if (size < 0)
		return ac_fail_errno(err, (int)-size, "cannot read " AC_PRIVATE_FILE);
	if (size && (*bytes)[size - 1] != '\0')
		return ac_fail(err, EBADMSG, AC_PRIVATE_FILE " is cut off");
	*length = (size_t)size;
	return 0;
}

static bool has_name(char *const list[], size_t count, const char *entry)
{
	size_t length = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < count; i++)
		if (strncmp(list[i], entry, length) == 0)
			return true;
	return false;
}

int launch_environment(
	const struct ac_cell *cell, char *environment[], char ***result, struct ac_err *err)
{
	size_t length, count = 0, room = 1;
	char *bytes;
	int code = read_file(cell, &bytes, &length, err);

	*result = environment;
	if (code || !bytes)
		return code;
	for (size_t i = 0; environment[i]; i++)
		room++;
	for (size_t i = 0; i < length; i++)
		room += bytes[i] == '\0';
	char **list = calloc(room, sizeof *list);

	if (!list)
		return ac_fail_errno(err, ENOMEM, "no memory for the environment");
	for (size_t i = 0; i < length; i += strlen(bytes + i) + 1)
		list[count++] = bytes + i;
	for (size_t i = 0, private = count; environment[i]; i++)
		if (!has_name(list, private, environment[i]))
			list[count++] = environment[i];
	*result = list;
	return 0;
}

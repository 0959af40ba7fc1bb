// SPDX-License-Identifier: ISC
/*
 * The cell file as the launcher reads it, and netlink attributes: whatever the bytes, nothing is read
 * beyond them, and a cell that is accepted keeps what its type promises.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cell.h"
#include "journal.h"
#include "netlink.h"
#include "path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static void check_paths(const struct ac_cell_paths *paths)
{
	need(paths->count <= AC_CELL_PATHS_MAX, "number of paths");
	for (unsigned i = 0; i < paths->count; i++)
		need(ac_path_is_canonical(paths->path[i]), "canonical path");
}

static void read_cell(const uint8_t *data, size_t size)
{
	static struct ac_cell cell;
	struct ac_err err = { 0 };
	int fd = memfd_create("cell", MFD_CLOEXEC);

	need(fd >= 0 && write(fd, data, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET), "memfd");
	if (!ac_cell_read(fd, &cell, &err)) {
		need(cell.uid && cell.gid, "no session is root's");
		need(ac_session_id_is_valid(cell.session_id), "session id");
		need(cell.group_count <= AC_GROUPS_MAX, "number of groups");
		need(ac_path_is_canonical(cell.cwd) && ac_path_is_canonical(cell.home) &&
				ac_path_is_canonical(cell.command),
			"canonical path");
		check_paths(&cell.write_paths);
		check_paths(&cell.read_paths);
		check_paths(&cell.excluded_paths);
	} else {
		need(err.code > 0 && err.text[0], "an error says what it is");
	}
	close(fd);
}

/* The bytes in a block of their own, so that one too many is noticed. */
static void find(const uint8_t *data, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);
	size_t length = 0;

	need(copy != NULL, "memory");
	memcpy(copy, data, size);
	for (unsigned type = 0; type < 8; type++) {
		const unsigned char *found = ac_netlink_find(copy, size, type, &length);

		need(!found || (found >= copy && length <= size - (size_t)(found - copy)),
			"bounds");
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_cell(data, size);
	find(data, size);
	return 0;
}

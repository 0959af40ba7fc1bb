/* SPDX-License-Identifier: ISC */
/*
 * Mounts below a declared path are not shown in the view, unless they are declared themselves: the id
 * map holds for one mount, and one that cannot be mapped would spoil the whole.  Who wonders where the
 * files are gets told.  Read from the kernel's table: nothing is looked up, so no automounter wakes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "plan_paths.h"
#include "util.h"

#define SHOWN_MAX 8

/* \040 and the like of /proc/self/mountinfo, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		unsigned byte = 0, digits = 0;

		while (*from == '\\' && digits < 3 && from[1 + digits] >= '0' &&
			from[1 + digits] <= '7')
			byte = byte << 3 | (unsigned)(from[1 + digits++] - '0');
		*to++ = digits == 3 ? (char)byte : *from;
		from += digits == 3 ? 3 : 0;
	}
	*to = '\0';
}

/* The fifth field of a line is the mount point. */
static char *mount_point(char *line)
{
	char *rest = line, *field = NULL;

	for (int i = 0; i < 5; i++)
		field = strsep(&rest, " ");
	if (field)
		unescape(field);
	return field;
}

static bool is_hidden(const struct ac_policy *policy, const char *path)
{
	const struct ac_path_list *const lists[] = { &policy->write_paths, &policy->read_paths,
		&policy->tool_paths };
	bool is_below = false;

	for (size_t i = 0; i < AC_COUNT(lists); i++) {
		for (unsigned k = 0; k < lists[i]->count; k++) {
			const char *declared = lists[i]->entry[k].path;

			if (strcmp(declared, path) == 0)
				return false;
			is_below = is_below || ac_path_covers(declared, path);
		}
	}
	return is_below;
}

void ac_plan_submounts(const struct ac_plan_look *look)
{
	ac_autofclose FILE *table = fopen("/proc/self/mountinfo", "re");
	ac_autofree char *line = NULL;
	unsigned hidden = 0;
	size_t size = 0;

	while (table && getline(&line, &size, table) > 0) {
		const char *path = mount_point(line);

		if (!path || !is_hidden(look->policy, path))
			continue;
		if (++hidden <= SHOWN_MAX)
			ac_plan_note(look,
				"%s is a mount of its own and is not shown in the session; declare "
				"it, too, if it is needed",
				path);
	}
	if (hidden > SHOWN_MAX)
		ac_plan_note(look, "%u more mounts are not shown", hidden - SHOWN_MAX);
}

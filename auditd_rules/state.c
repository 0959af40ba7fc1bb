/* SPDX-License-Identifier: ISC */
/*
 * One line: "enabled <0|1> backlog <n> rules <bit mask>".  Root's directory, root's file.
 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "names.h"
#include "safefile.h"
#include "util.h"

#define DIRECTORY AC_RUN_DIRECTORY
#define NAME "kernel"

_Static_assert(AC_RULES_MAX <= 64, "one bit for each rule");

static int read_note(char text[], size_t size)
{
	ac_autoclose int fd = ac_open_trusted(-1, DIRECTORY "/" NAME, size, NULL);
	ssize_t length = fd < 0 ? fd : ac_read_all(fd, text, size - 1);

	if (length < 0)
		return (int)length;
	text[length] = 0;
	return 0;
}

void ac_state_load(struct ac_kernel *kernel, struct ac_rules *rules)
{
	unsigned enabled, backlog;
	unsigned long long added;
	char text[128];

	if (read_note(text, sizeof(text)) ||
		/* NOLINTNEXTLINE(cert-err34-c): our own numbers */
		sscanf(text, "enabled %u backlog %u rules %llx", &enabled, &backlog, &added) != 3)
		return;
	kernel->was_enabled = enabled;
	kernel->old_backlog = backlog;
	for (unsigned i = 0; i < rules->count; i++)
		rules->rule[i].added = added >> i & 1;
}

void ac_state_clear(void)
{
	(void)unlink(DIRECTORY "/" NAME);
}

int ac_state_save(const struct ac_kernel *kernel, const struct ac_rules *rules, struct ac_err *err)
{
	ac_autoclose int fd = open(DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned long long added = 0;
	char text[128];
	int length;

	for (unsigned i = 0; i < rules->count; i++)
		added |= (unsigned long long)rules->rule[i].added << i;
	ac_state_clear();
	if (kernel->was_enabled && !kernel->old_backlog && !added)
		return 0;
	if (fd < 0)
		return ac_fail_errno(err, errno, "open %s", DIRECTORY);
	length = snprintf(text, sizeof(text), "enabled %d backlog %u rules %llx\n",
		kernel->was_enabled, kernel->old_backlog, added);
	return ac_write_new(fd, NAME, text, (size_t)length, 0600, err);
}

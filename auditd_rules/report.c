/* SPDX-License-Identifier: ISC */
/*
 * The report that sudo prints at the end: what was tried, by which process, what became of it, where
 * the record is, and the way back.  Everything that the cell chose is escaped.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cell.h"
#include "escape.h"

#define ANCESTORS 6

struct text {
	char *start;
	size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	if (text->used >= text->size)
		return;
	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is right above */
	length = vsnprintf(text->start + text->used, text->size - text->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->used += (size_t)length;
}

static void add_escaped(struct text *text, const char *bytes, size_t limit)
{
	char escaped[1024];

	(void)ac_escape(
		escaped, limit < sizeof(escaped) ? limit : sizeof(escaped), bytes, strlen(bytes));
	add(text, "%s", escaped);
}

static const struct ac_process *find_process(const struct ac_watched *watched, pid_t pid)
{
	for (unsigned i = 0; pid > 0 && i < AC_WATCH_PROCESSES; i++)
		if (watched->process[i].pid == pid)
			return &watched->process[i];
	return NULL;
}

/* As the exec records told it: the parents of a dead process are still known. */
static void add_ancestry(struct text *text, const struct ac_watched *watched)
{
	pid_t pid = watched->escape.ppid;

	for (unsigned i = 0; i < ANCESTORS; i++) {
		const struct ac_process *process = find_process(watched, pid);

		if (!process)
			break;
		add(text, "%s%d ", i ? ", " : "  started by:  ", (int)process->pid);
		add_escaped(text, process->comm, 64);
		pid = process->ppid;
	}
	if (watched->escape.ppid > 0 && find_process(watched, watched->escape.ppid))
		add(text, "\n");
}

static void add_culprit(struct text *text, const struct ac_report *escape)
{
	if (escape->pid <= 0) {
		add(text, "  by:          unknown (the record of a packet names no process)\n");
		return;
	}
	add(text, "  by:          process %d (", (int)escape->pid);
	add_escaped(text, escape->comm, 64);
	add(text, "), ");
	add_escaped(text, escape->exe, 512);
	if (escape->cwd[0]) {
		add(text, ", in ");
		add_escaped(text, escape->cwd, 512);
	}
	add(text, "\n");
}

static void add_escape(struct text *text, const struct ac_watched *watched)
{
	const struct ac_report *escape = &watched->escape;

	add(text, "  tried:       %s ", ac_operation_name(escape->operation));
	add_escaped(text, escape->target, 1024);
	add(text, " (%s)\n", escape->reason);
	add_culprit(text, escape);
	add_ancestry(text, watched);
	add(text, "  verdict:     escape (%s); every process of the session is dead\n",
		ac_class_name(escape->class));
}

static void add_history(struct text *text, const struct ac_cell *cell)
{
	if (!cell->history_count)
		return;
	add(text, "  refused before (the last %u):\n", cell->history_count);
	for (unsigned i = 0; i < cell->history_count; i++) {
		unsigned place = (cell->history_next + AC_CELL_HISTORY - cell->history_count + i) %
				 AC_CELL_HISTORY;
		const struct ac_denial *denial = &cell->history[place];

		add(text, "    %s ", ac_operation_name(denial->operation));
		add_escaped(text, denial->target, 120);
		add(text, " by %d ", (int)denial->pid);
		add_escaped(text, denial->comm, 64);
		add(text, "\n");
	}
}

static void add_way_back(struct text *text, const struct ac_cell *cell)
{
	add(text, "  record:      ");
	add_escaped(text, cell->guardian->config->log_path, 512);
	add(text, "; ausearch -m ANOM_ACCESS_FS,ANOM_EXEC,ANOM_ROOT_TRANS,RESP_TERM_ACCESS -i\n");
	if (cell->session.policy->policy.backup_id[0])
		add(text, "  restore:     agentcell restore %s\n",
			cell->session.policy->policy.backup_id);
}

void ac_cell_report(
	const struct ac_cell *cell, const struct ac_watched *watched, char *text, size_t size)
{
	struct text out = { text, size, 0 };
	enum ac_cause cause = (enum ac_cause)cell->session.life.cause;

	text[0] = 0;
	if (cause == AC_CAUSE_CLEAN) {
		if (watched->denied)
			add(&out,
				"agentcell: session %s ended; %llu accesses were refused "
				"(agentcell log)\n",
				cell->id, (unsigned long long)watched->denied);
		return;
	}
	add(&out, "agentcell: session %s %s: %s\n", cell->id,
		cause == AC_CAUSE_WALL_CLOCK ? "ended" : "was terminated", cell->why);
	if (watched->escaped)
		add_escape(&out, watched);
	add_way_back(&out, cell);
	add_history(&out, cell);
}

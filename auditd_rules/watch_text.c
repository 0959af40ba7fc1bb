/* SPDX-License-Identifier: ISC */
/*
 * The other source: lines of text in a pipe, from auditd, for sites that let nobody else read the
 * kernel's stream.  Slower (auditd's queue and pace are in between) and otherwise the same.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "watch_parts.h"

static void take_lines(struct ac_watch *watch)
{
	char *text = watch->line, *end = watch->line + watch->line_used, *stop;
	struct ac_record record;

	while ((stop = memchr(text, '\n', (size_t)(end - text)))) {
		if (!ac_record_parse_line(text, (size_t)(stop - text), &record))
			ac_watch_record(watch, &record);
		text = stop + 1;
	}
	watch->line_used = (size_t)(end - text);
	memmove(watch->line, text, watch->line_used);
	if (watch->line_used == sizeof(watch->line)) {
		watch->stream.missing++; /* no record is that long */
		watch->line_used = 0;
	}
}

bool ac_watch_take_text(struct ac_watch *watch)
{
	ssize_t length = read(watch->source_fd, watch->line + watch->line_used,
		sizeof(watch->line) - watch->line_used);

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (length <= 0) {
		watch->stream.closed = true;
		ac_watch_notify(watch);
		return false;
	}
	watch->line_used += (size_t)length;
	take_lines(watch);
	return true;
}

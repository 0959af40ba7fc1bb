/* SPDX-License-Identifier: ISC */
/*
 * Reader and matcher of silent.conf.  The matcher is a bit-set automaton of at most 64 states, so a
 * name that the cell made up costs no more than its length, whatever the pattern.
 */
#include "silent.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "path.h"
#include "safefile.h"
#include "util.h"

#define FILE_MAX (64u << 10)

enum { ANY_IN_COMPONENT = 256, ANY };

static const char *const kind_names[AC_SILENT_COUNT] = {
	[AC_SILENT_BASELINE] = "baseline",
	[AC_SILENT_PRIVATE] = "private",
	[AC_SILENT_SILENT] = "silent",
	[AC_SILENT_ANCESTOR] = "ancestor",
	[AC_SILENT_EXCEPT] = "except",
	[AC_SILENT_SECRET] = "secret",
	[AC_SILENT_SOCKET] = "socket",
	[AC_SILENT_SERVICE] = "service",
	[AC_SILENT_RESOLVER] = "resolver",
	[AC_SILENT_PROGRAM] = "program",
};

static int parse_kind(const char *word, size_t length, uint8_t *kind)
{
	for (unsigned i = 0; i < AC_SILENT_COUNT; i++)
		if (strlen(kind_names[i]) == length && !memcmp(kind_names[i], word, length)) {
			*kind = (uint8_t)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_pattern(const char *text, size_t length, struct ac_silent_line *line)
{
	bool plain = true;

	line->below = length > 3 && !memcmp(text + length - 3, "/**", 3);
	if (line->below)
		length -= 3;
	line->count = line->prefix = 0;
	for (size_t i = 0; i < length; i++) {
		uint16_t token = (unsigned char)text[i];

		if (text[i] == '*') {
			bool both = i + 1 < length && text[i + 1] == '*';

			token = both ? ANY : ANY_IN_COMPONENT;
			i += both;
			plain = false;
		}
		if (line->count == AC_SILENT_TOKENS_MAX)
			return -E2BIG;
		line->token[line->count++] = token;
		line->prefix = (uint8_t)(line->prefix + plain);
	}
	return line->count ? 0 : -EINVAL;
}

static size_t word_length(const char *text, const char *end)
{
	size_t length = 0;

	while (text + length < end && text[length] != ' ' && text[length] != '\t')
		length++;
	return length;
}

static const char *skip_blanks(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

/* NULL, or what is wrong with the line. */
static const char *parse_line(const char *text, const char *end, struct ac_silent_line *line)
{
	size_t length = word_length(text, end);
	bool absolute;

	if (parse_kind(text, length, &line->kind))
		return "unknown kind";
	text = skip_blanks(text + length, end);
	length = word_length(text, end);
	if (!length || parse_pattern(text, length, line))
		return "no pattern, or one of more than 63 characters";
	absolute = *text == '/' || *text == '*';
	if (absolute != (line->kind != AC_SILENT_ANCESTOR && line->kind != AC_SILENT_PROGRAM))
		return "this kind wants the other sort of pattern (absolute or relative)";
	text = skip_blanks(text + length, end);
	if (end - text < 4 || memcmp(text, "-- ", 3) != 0)
		return "no '-- reason'";
	text = skip_blanks(text + 3, end);
	if ((size_t)(end - text) >= sizeof(line->reason))
		return "reason too long";
	memcpy(line->reason, text, (size_t)(end - text));
	line->reason[end - text] = 0;
	return NULL;
}

int ac_silent_parse(const char *name, const char *text, size_t length, struct ac_silent *silent,
	struct ac_err *err)
{
	const char *end = text + length;

	silent->count = 0;
	for (unsigned number = 1; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = stop ? stop : end;
		const char *start = skip_blanks(text, line_end), *wrong;

		text = line_end + 1;
		if (start == line_end || *start == '#')
			continue;
		if (memchr(start, 0, (size_t)(line_end - start)))
			return ac_fail(err, EINVAL, "%s:%u: NUL byte", name, number);
		if (silent->count == AC_SILENT_LINES_MAX)
			return ac_fail(err, E2BIG, "%s:%u: more than %d lines", name, number,
				AC_SILENT_LINES_MAX);
		wrong = parse_line(start, line_end, &silent->line[silent->count]);
		if (wrong)
			return ac_fail(err, EINVAL, "%s:%u: %s", name, number, wrong);
		silent->count++;
	}
	return 0;
}

static int read_through(char *text, const char *path, struct ac_silent *silent, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(-1, path, FILE_MAX, err);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = ac_read_all(fd, text, FILE_MAX);
	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read %s", path);
	return ac_silent_parse(path, text, (size_t)length, silent, err);
}

int ac_silent_read(const char *path, struct ac_silent *silent, struct ac_err *err)
{
	char *text = malloc(FILE_MAX);
	int rc = text ? read_through(text, path, silent, err)
		      : ac_fail_errno(err, ENOMEM, "read %s", path);

	free(text);
	return rc;
}

/* A star may stand for nothing: its state is left as soon as it is entered. */
static uint64_t close_states(const struct ac_silent_line *line, uint64_t states)
{
	for (unsigned i = 0; i < line->count; i++)
		if (states >> i & 1 && line->token[i] >= ANY_IN_COMPONENT)
			states |= 1ull << (i + 1);
	return states;
}

static uint64_t step(const struct ac_silent_line *line, uint64_t states, unsigned char c)
{
	uint64_t next = 0;

	while (states) {
		int i = __builtin_ctzll(states);

		states &= states - 1;
		if (i == line->count)
			continue;
		if (line->token[i] == c)
			next |= 1ull << (i + 1);
		else if (line->token[i] == ANY || (line->token[i] == ANY_IN_COMPONENT && c != '/'))
			next |= 1ull << i;
	}
	return next;
}

bool ac_silent_line_matches(const struct ac_silent_line *line, const char *text)
{
	uint64_t states, accept = 1ull << line->count;

	for (unsigned i = 0; i < line->prefix; i++)
		if ((unsigned char)text[i] != line->token[i])
			return false;
	states = close_states(line, 1ull << line->prefix);
	for (text += line->prefix; *text; text++) {
		if (line->below && states & accept && *text == '/')
			return true;
		if (!states)
			return false;
		states = close_states(line, step(line, states, (unsigned char)*text));
	}
	return states & accept;
}

const struct ac_silent_line *ac_silent_find(
	const struct ac_silent *silent, enum ac_silent_kind kind, const char *text)
{
	for (unsigned i = 0; i < silent->count; i++)
		if (silent->line[i].kind == kind && ac_silent_line_matches(&silent->line[i], text))
			return &silent->line[i];
	return NULL;
}

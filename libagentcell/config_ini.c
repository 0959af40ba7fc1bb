/* SPDX-License-Identifier: ISC */
/*
 * The strict side of inih.
 *
 * Left alone, inih delivers a long line as two keys, an indented line as one more value of the key
 * before, and cuts a value at " ;".  So it never sees such a line: the reader below judges each line
 * first, and hands over an empty one where it complains.  Comments are kept from it as well, so that
 * its process-wide settings have no say.
 */
#include "config_ini.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "safefile.h"
#include "util.h"

#define BLANKS " \t"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD_BYTES LETTERS "0123456789_"

struct reader {
	const char *next, *end;
	ac_ini_handler *handler;
	void *context;
	struct ac_ini_errors *errors;
};

static void join(struct ac_err *err, const char *text)
{
	char before[AC_ERR_TEXT_MAX];

	if (!err)
		return;
	if (!err->code) {
		ac_fail(err, EBADMSG, "%s", text);
		return;
	}
	snprintf(before, sizeof(before), "%s", err->text);
	ac_fail(err, EBADMSG, "%s; %s", before, text);
}

void ac_ini_error(struct ac_ini_errors *errors, const char *format, ...)
{
	char text[AC_ERR_TEXT_MAX];
	int length;
	va_list args;

	length = errors->line ? snprintf(text, sizeof(text), "%s:%u: ", errors->file, errors->line)
			      : snprintf(text, sizeof(text), "%s: ", errors->file);
	if (length < 0 || (size_t)length >= sizeof(text))
		length = 0; /* a path of that length cannot have been opened */
	va_start(args, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format, args);
	va_end(args);
	if (errors->count++ == 0 && errors->err)
		errors->err->code = 0; /* whatever the caller had there */
	join(errors->err, text);
	if (errors->report) {
		struct ac_err printable = { 0 };

		ac_fail(&printable, EBADMSG, "%s", text);
		errors->report(errors->context, printable.text);
	}
}

static bool has_inline_comment(const char *value)
{
	const char *found = value;

	while ((found = strchr(found, ';'))) {
		if (found == value || strchr(BLANKS, found[-1]))
			return true;
		found++;
	}
	return false;
}

static bool section_is_valid(const char *line)
{
	size_t length = strspn(line + 1, "abcdefghijklmnopqrstuvwxyz_");
	const char *rest = line + 1 + length;

	return length > 0 && *rest == ']' && rest[1 + strspn(rest + 1, BLANKS)] == '\0';
}

static const char *line_is_refused(const char *line)
{
	size_t length = strspn(line, WORD_BYTES);
	const char *rest = line + length;

	if (line[0] == '[')
		return section_is_valid(line) ? NULL : "malformed section; write [name]";
	if (strchr(BLANKS, line[0]))
		return "the line begins with white space; there are no continuation lines";
	if (strpbrk(line, "\r"))
		return "carriage return; the file has DOS line ends";
	rest += strspn(rest, BLANKS);
	if (length == 0 || *rest != '=')
		return "not of the form 'key = value'";
	if (has_inline_comment(rest + 1))
		return "a comment needs a line of its own";
	for (; *line; line++)
		if (((unsigned char)*line < 0x20 && *line != '\t') || *line == 0x7f)
			return "control character";
	return NULL;
}

static bool is_empty(const char *line)
{
	return line[strspn(line, BLANKS)] == '\0' || line[0] == '#' || line[0] == ';';
}

/* Tells the handler that a section begins: inih does so only with its first key. */
static void begin_section(struct reader *reader, const char *line)
{
	char section[64];
	size_t length = strcspn(line + 1, "]");

	if (length >= sizeof(section)) {
		ac_ini_error(reader->errors, "unknown section");
		return;
	}
	memcpy(section, line + 1, length);
	section[length] = '\0';
	reader->handler(reader->context, reader->errors, section, NULL, NULL);
}

/* The fgets of inih: room for size bytes, the newline and the NUL included. */
static char *next_line(char *line, int size, void *stream)
{
	struct reader *reader = stream;
	const char *newline;
	size_t length;
	const char *refused;

	if (reader->next >= reader->end)
		return NULL;
	newline = memchr(reader->next, '\n', (size_t)(reader->end - reader->next));
	length = (size_t)((newline ? newline : reader->end) - reader->next);
	reader->errors->line++;
	if (memchr(reader->next, '\0', length)) {
		ac_ini_error(reader->errors, "NUL byte");
		length = 0;
	} else if (length && reader->next[0] == '#') {
		length = 0; /* of any length */
	} else if (length + 3 > (size_t)size) {
		ac_ini_error(reader->errors,
			"the line has more than %d bytes; a list may go on in another line with "
			"the "
			"same key",
			size - 3);
		length = 0;
	}
	memcpy(line, reader->next, length);
	line[length] = '\0';
	reader->next = newline ? newline + 1 : reader->end;
	refused = is_empty(line) ? NULL : line_is_refused(line);
	if (refused)
		ac_ini_error(reader->errors, "%s", refused);
	else if (line[0] == '[')
		begin_section(reader, line);
	if (refused || is_empty(line))
		length = 0;
	memcpy(line + length, "\n", 2);
	return line;
}

static int take_key(void *user, const char *section, const char *key, const char *value)
{
	struct reader *reader = user;

	if (!section[0])
		ac_ini_error(reader->errors, "key '%s' stands before any [section]", key);
	else
		reader->handler(reader->context, reader->errors, section, key, value);
	return 1;
}

void ac_ini_parse(const char *text, size_t length, ac_ini_handler *handler, void *context,
	struct ac_ini_errors *errors)
{
	struct reader reader = {
		.next = text,
		.end = text + length,
		.handler = handler,
		.context = context,
		.errors = errors,
	};
	int rc;

	errors->line = 0;
	rc = ini_parse_stream(next_line, &reader, take_key, &reader);
	errors->line = 0;
	if (rc != 0 && errors->count == 0)
		ac_ini_error(errors, "not understood (inih says %d)", rc);
}

int ac_ini_read(int fd, ac_ini_handler *handler, void *context, struct ac_ini_errors *errors)
{
	ac_autofree char *text = malloc(AC_INI_FILE_MAX);
	ssize_t length;

	if (!text) {
		ac_ini_error(errors, "out of memory");
		return -EBADMSG;
	}
	length = ac_read_all(fd, text, AC_INI_FILE_MAX);
	if (length < 0)
		ac_ini_error(errors, "cannot be read: %s",
			length == -EFBIG ? "it is too large" : "input/output error");
	else
		ac_ini_parse(text, (size_t)length, handler, context, errors);
	return errors->count ? -EBADMSG : 0;
}

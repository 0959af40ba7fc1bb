/* SPDX-License-Identifier: ISC */
/* Pure: no look at the file system. */
#include "placement.h"

#include <string.h>

#include "path.h"
#include "util.h"

static bool is_below_home(const char *path)
{
	char joined[AC_PATH_MAX];
	size_t length = strlen(path);

	if (length == 0 || length + 2 > sizeof(joined))
		return false;
	joined[0] = '/';
	memcpy(joined + 1, path, length + 1);
	return ac_path_is_canonical(joined);
}

bool ac_placement_is_valid(const struct ac_placement *placement)
{
	const char *target = placement->target;

	switch (placement->kind) {
	case AC_PLACE_FILE:
		return ac_path_is_canonical(target) && strncmp(target, "/etc/", 5) == 0 &&
		       ac_path_is_canonical(placement->source);
	case AC_PLACE_SEED:
		return is_below_home(target) && ac_path_is_canonical(placement->source);
	case AC_PLACE_CREDENTIAL:
	case AC_PLACE_KEEP:
		return is_below_home(target) && !placement->source[0];
	}
	return false;
}

static void put_quoted(FILE *stream, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f)
			fprintf(stream, "\\u%04x", byte);
		else if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else
			fputc(byte, stream);
	}
}

/* The end of a key; the whole of a short value would be too much. */
static const char *find_tail(char *const variables[], const char *name, size_t length)
{
	for (size_t i = 0; variables && variables[i]; i++) {
		const char *value = variables[i] + length + 1;

		if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=' &&
			strlen(value) > AC_KEY_TAIL)
			return value + strlen(value) - AC_KEY_TAIL;
	}
	return "";
}

/* {tail:NAME}: how long the word is, 0: none begins here. */
static size_t take_tail(const char *text, size_t left, char *const variables[], const char **value)
{
	static const char start[] = "{tail:";
	size_t begin = strlen(start);
	const char *end = left > begin && strncmp(text, start, begin) == 0 ? memchr(text, '}', left)
									   : NULL;
	size_t length = end ? (size_t)(end - text) - begin : 0;

	if (!end || length >= AC_NAME_MAX)
		return 0;
	*value = length ? find_tail(variables, text + begin, length) : "";
	return begin + length + 1;
}

static size_t take_word(
	const char *text, size_t left, const struct ac_session_policy *session, const char **value)
{
	const struct {
		const char *word, *value;
	} words[] = { { "{cwd}", session->plan.cwd }, { "{home}", session->policy.home },
		{ "{user}", session->plan.user } };

	for (size_t i = 0; i < AC_COUNT(words); i++) {
		size_t length = strlen(words[i].word);

		*value = words[i].value;
		if (left >= length && strncmp(text, words[i].word, length) == 0)
			return length;
	}
	return 0;
}

void ac_placement_expand(FILE *stream, const char *text, size_t length,
	const struct ac_session_policy *session, char *const variables[])
{
	const char *end = text + length;

	while (text < end) {
		const char *value = NULL;
		size_t left = (size_t)(end - text);
		size_t taken = take_word(text, left, session, &value);

		if (!taken)
			taken = take_tail(text, left, variables, &value);
		if (taken)
			put_quoted(stream, value);
		else
			fputc(*text, stream);
		text += taken ? taken : 1;
	}
}

/* One component; a star stands for any run of bytes in it, none included. */
static bool component_matches(
	const char *pattern, size_t pattern_length, const char *text, size_t text_length)
{
	size_t p = 0, t = 0, star = (size_t)-1, mark = 0;

	while (t < text_length) {
		if (p < pattern_length && pattern[p] == '*') {
			star = p++;
			mark = t;
		} else if (p < pattern_length && pattern[p] == text[t]) {
			p++;
			t++;
		} else if (star != (size_t)-1) {
			p = star + 1;
			t = ++mark;
		} else {
			return false;
		}
	}
	while (p < pattern_length && pattern[p] == '*')
		p++;
	return p == pattern_length;
}

size_t ac_package_match(const char *pattern, const char *path)
{
	const char *start = path;

	for (;;) {
		size_t pattern_length = strcspn(pattern, "/"), path_length = strcspn(path, "/");

		if (!pattern_length || !path_length ||
			!component_matches(pattern, pattern_length, path, path_length))
			return 0;
		pattern += pattern_length;
		path += path_length;
		if (!*pattern)
			return (size_t)(path - start);
		if (!*path)
			return 0;
		pattern++;
		path++;
	}
}

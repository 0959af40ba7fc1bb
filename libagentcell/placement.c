/* SPDX-License-Identifier: ISC */
/* Pure: no look at the file system. */
#include "placement.h"

#include <string.h>

#include "path.h"

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

void ac_placement_expand(
	FILE *stream, const char *text, size_t length, const struct ac_session_policy *session)
{
	const struct {
		const char *word, *value;
	} words[] = { { "{cwd}", session->plan.cwd }, { "{home}", session->policy.home },
		{ "{user}", session->plan.user } };
	const char *end = text + length;

	while (text < end) {
		size_t i = 0, left = (size_t)(end - text);

		while (i < 3 && (left < strlen(words[i].word) ||
					strncmp(text, words[i].word, strlen(words[i].word)) != 0))
			i++;
		if (i == 3) {
			fputc(*text++, stream);
			continue;
		}
		put_quoted(stream, words[i].value);
		text += strlen(words[i].word);
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

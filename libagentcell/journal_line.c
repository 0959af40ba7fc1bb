/* SPDX-License-Identifier: ISC */
/*
 * One line of the journal <-> struct, and session ids.  Pure except for ac_session_id_make.
 *
 * The parser is strict by construction: what it has read is formatted again and must give the same
 * bytes, so no second spelling of a record exists.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "journal.h"

#define LINE_MAX_BYTES 128
#define TRIES_MAX 255

int ac_journal_format(char line[], size_t size, const struct ac_journal_record *record)
{
	const char *state = ac_state_name(record->life.state);
	const char *cause = ac_cause_name(record->life.cause);
	int length;

	if (!state || !cause || record->pid < 0)
		return -EINVAL;
	length = snprintf(line, size, "%u %s %u %s %llu %d\n", record->count, state,
		record->life.tries, cause, (unsigned long long)record->time_ms, record->pid);
	return length < 0 || (size_t)length >= size ? -EMSGSIZE : length;
}

/* Takes one word off *rest; NULL at the end. */
static const char *next_word(char **rest)
{
	return strsep(rest, " ");
}

static int parse_number(const char *word, unsigned long long max, unsigned long long *number)
{
	char *end;

	if (!word || word[0] < '0' || word[0] > '9')
		return -EBADMSG;
	errno = 0;
	*number = strtoull(word, &end, 10);
	return errno || *end || *number > max ? -EBADMSG : 0;
}

static int find_name(const char *word, const char *(*name_of)(unsigned), unsigned count)
{
	unsigned i;

	for (i = 0; word && i < count; i++)
		if (strcmp(word, name_of(i)) == 0)
			return (int)i;
	return -EBADMSG;
}

static int parse_words(char *rest, struct ac_journal_record *record)
{
	unsigned long long count, tries, time_ms, pid;
	int state, cause;

	if (parse_number(next_word(&rest), UINT_MAX, &count) < 0)
		return -EBADMSG;
	state = find_name(next_word(&rest), ac_state_name, AC_STATE_COUNT);
	if (state < 0 || parse_number(next_word(&rest), TRIES_MAX, &tries) < 0)
		return -EBADMSG;
	cause = find_name(next_word(&rest), ac_cause_name, AC_CAUSE_COUNT);
	if (cause < 0 || parse_number(next_word(&rest), UINT64_MAX, &time_ms) < 0 ||
		parse_number(next_word(&rest), INT_MAX, &pid) < 0)
		return -EBADMSG;
	record->count = (unsigned)count;
	record->life.state = (unsigned char)state;
	record->life.tries = (unsigned char)tries;
	record->life.cause = (unsigned char)cause;
	record->time_ms = time_ms;
	record->pid = (pid_t)pid;
	return 0;
}

int ac_journal_parse(const char *line, size_t length, struct ac_journal_record *record)
{
	struct ac_journal_record parsed = { 0 };
	char copy[LINE_MAX_BYTES], again[LINE_MAX_BYTES];
	int again_length;

	if (length == 0 || length >= sizeof(copy) || line[length - 1] != '\n' ||
		memchr(line, '\0', length))
		return -EBADMSG;
	memcpy(copy, line, length);
	copy[length - 1] = '\0';
	if (parse_words(copy, &parsed) < 0)
		return -EBADMSG;
	again_length = ac_journal_format(again, sizeof(again), &parsed);
	if (again_length < 0 || (size_t)again_length != length || memcmp(again, line, length) != 0)
		return -EBADMSG;
	*record = parsed;
	return 0;
}

int ac_session_id_make(char session_id[AC_SESSION_ID_SIZE], struct ac_err *err)
{
	unsigned char bytes[(AC_SESSION_ID_SIZE - 1) / 2];
	unsigned i;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return ac_fail_errno(err, errno, "get random bytes for a session id");
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(session_id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool ac_session_id_is_valid(const char *session_id)
{
	return strnlen(session_id, AC_SESSION_ID_SIZE) == AC_SESSION_ID_SIZE - 1 &&
	       strspn(session_id, "0123456789abcdef") == AC_SESSION_ID_SIZE - 1;
}

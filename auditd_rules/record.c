/* SPDX-License-Identifier: ISC */
/*
 * Raw audit records to fields: pure, bounded by the length given, every byte untrusted.
 * Fuzzed by tests/fuzz/fuzz_record.c.
 */
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENRICHED '\x1d'

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 99;
}

static bool parse_number(struct ac_span span, int base, uint64_t *value)
{
	uint64_t total = 0;

	if (!span.length)
		return false;
	for (size_t i = 0; i < span.length; i++) {
		int digit = digit_value(span.text[i]);

		if (digit >= base || __builtin_mul_overflow(total, (uint64_t)base, &total) ||
			__builtin_add_overflow(total, (uint64_t)digit, &total))
			return false;
	}
	*value = total;
	return true;
}

bool ac_span_is(struct ac_span span, const char *word)
{
	return strlen(word) == span.length && !memcmp(span.text, word, span.length);
}

bool ac_span_decimal(struct ac_span span, int64_t *value)
{
	bool negative = span.length && *span.text == '-';
	uint64_t number;

	if (negative)
		span = (struct ac_span){ span.text + 1, span.length - 1 };
	if (!parse_number(span, 10, &number) || number > INT64_MAX)
		return false;
	*value = negative ? -(int64_t)number : (int64_t)number;
	return true;
}

bool ac_span_hex(struct ac_span span, uint64_t *value)
{
	if (span.length > 2 && span.text[0] == '0' && span.text[1] == 'x')
		span = (struct ac_span){ span.text + 2, span.length - 2 };
	return parse_number(span, 16, value);
}

bool ac_span_octal(struct ac_span span, uint64_t *value)
{
	return parse_number(span, 8, value);
}

/* Takes a decimal number that ends at `end` from the front of *rest. */
static bool take_number(struct ac_span *rest, char end, uint64_t *value)
{
	const char *stop = memchr(rest->text, end, rest->length);
	struct ac_span digits;

	if (!stop)
		return false;
	digits = (struct ac_span){ rest->text, (size_t)(stop - rest->text) };
	*rest = (struct ac_span){ stop + 1, rest->length - digits.length - 1 };
	return parse_number(digits, 10, value);
}

int ac_record_parse(int type, const char *text, size_t length, struct ac_record *record)
{
	static const char start[] = "audit(";
	struct ac_span rest = { text, length };
	const char *enriched = memchr(text, ENRICHED, length);
	uint64_t seconds, milliseconds, serial;

	if (enriched)
		rest.length = (size_t)(enriched - text);
	while (rest.length && (rest.text[rest.length - 1] == '\n' || !rest.text[rest.length - 1]))
		rest.length--;
	if (rest.length < sizeof(start) - 1 || memcmp(rest.text, start, sizeof(start) - 1) != 0)
		return -EBADMSG;
	rest = (struct ac_span){ rest.text + sizeof(start) - 1, rest.length - (sizeof(start) - 1) };
	if (!take_number(&rest, '.', &seconds) || !take_number(&rest, ':', &milliseconds) ||
		!take_number(&rest, ')', &serial) || seconds > UINT32_MAX || milliseconds > 999)
		return -EBADMSG;
	if (!rest.length || *rest.text != ':')
		return -EBADMSG;
	rest = (struct ac_span){ rest.text + 1, rest.length - 1 };
	*record = (struct ac_record){ type, serial, seconds * 1000 + milliseconds, rest };
	return 0;
}

static const struct {
	const char *name;
	int type;
} type_names[] = {
	{ "SYSCALL", AC_RECORD_SYSCALL },
	{ "PATH", AC_RECORD_PATH },
	{ "CONFIG_CHANGE", AC_RECORD_CONFIG_CHANGE },
	{ "SOCKADDR", AC_RECORD_SOCKADDR },
	{ "CWD", AC_RECORD_CWD },
	{ "OBJ_PID", AC_RECORD_OBJ_PID },
	{ "EOE", AC_RECORD_EOE },
	{ "NETFILTER_PKT", AC_RECORD_NETFILTER_PKT },
	{ "SECCOMP", AC_RECORD_SECCOMP },
	{ "URINGOP", AC_RECORD_URINGOP },
	{ "TRUSTED_APP", AC_RECORD_TRUSTED_APP },
	{ "LANDLOCK_ACCESS", AC_RECORD_LANDLOCK_ACCESS },
	{ "LANDLOCK_DOMAIN", AC_RECORD_LANDLOCK_DOMAIN },
};

/* SYSCALL, UNKNOWN[1423], 1300; 0: a type that nobody here asks for. */
static int type_number(struct ac_span word)
{
	static const char unknown[] = "UNKNOWN[", daemon[] = "DAEMON_";
	uint64_t number;

	for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++)
		if (ac_span_is(word, type_names[i].name))
			return type_names[i].type;
	if (word.length > sizeof(daemon) && !memcmp(word.text, daemon, sizeof(daemon) - 1))
		return AC_RECORD_DAEMON;
	if (word.length > sizeof(unknown) && !memcmp(word.text, unknown, sizeof(unknown) - 1) &&
		word.text[word.length - 1] == ']')
		word = (struct ac_span){ word.text + sizeof(unknown) - 1,
			word.length - sizeof(unknown) };
	return parse_number(word, 10, &number) && number < 65536 ? (int)number : 0;
}

int ac_record_parse_line(const char *line, size_t length, struct ac_record *record)
{
	struct ac_span rest = { line, length };
	struct ac_field field;
	int type = 0;

	/* A relayed line may start with node=NAME. */
	while (ac_record_next(&rest, &field)) {
		if (ac_span_is(field.name, "type"))
			type = type_number(field.value);
		if (ac_span_is(field.name, "msg"))
			return ac_record_parse(type, field.value.text,
				(size_t)(line + length - field.value.text), record);
	}
	return -EBADMSG;
}

/* The value starts at `text`; sets it and returns what lies behind it. */
static const char *take_value(const char *text, const char *end, struct ac_field *field)
{
	char quote = text < end && (*text == '"' || *text == '\'') ? *text : 0;
	const char *stop = NULL;

	field->quoted = false;
	if (quote == '"')
		stop = memchr(text + 1, quote, (size_t)(end - text - 1));
	else if (quote) /* msg='...' of a user-space record runs to the last quote */
		stop = memrchr(text + 1, quote, (size_t)(end - text - 1));
	if (stop) {
		field->quoted = true;
		field->value = (struct ac_span){ text + 1, (size_t)(stop - text - 1) };
		return stop + 1;
	}
	stop = memchr(text, ' ', (size_t)(end - text));
	if (!stop)
		stop = end;
	field->value = (struct ac_span){ text, (size_t)(stop - text) };
	return stop;
}

bool ac_record_next(struct ac_span *rest, struct ac_field *field)
{
	const char *text = rest->text, *end = text + rest->length;

	while (text < end) {
		const char *word = text;

		while (text < end && *text != ' ' && *text != '=')
			text++;
		if (text == end || *text == ' ' || text == word) {
			text += text < end; /* a word without '=': not a field */
			continue;
		}
		field->name = (struct ac_span){ word, (size_t)(text - word) };
		text = take_value(text + 1, end, field);
		*rest = (struct ac_span){ text, (size_t)(end - text) };
		return true;
	}
	*rest = (struct ac_span){ end, 0 };
	return false;
}

bool ac_record_find(const struct ac_record *record, const char *name, struct ac_field *field)
{
	struct ac_span rest = record->body;

	while (ac_record_next(&rest, field))
		if (ac_span_is(field->name, name))
			return true;
	return false;
}

static bool is_hex(struct ac_span span)
{
	if (!span.length || span.length % 2)
		return false;
	for (size_t i = 0; i < span.length; i++)
		if (digit_value(span.text[i]) > 15)
			return false;
	return true;
}

static char decode(const char *pair)
{
	return (char)(digit_value(pair[0]) * 16 + digit_value(pair[1]));
}

long ac_field_text(const struct ac_field *field, char *text, size_t size)
{
	bool hex = !field->quoted && is_hex(field->value);
	size_t length = hex ? field->value.length / 2 : field->value.length;
	size_t fits = length < size ? length : size - 1;

	text[0] = 0;
	if (!field->quoted && ac_span_is(field->value, "(null)"))
		return -ENODATA;
	for (size_t i = 0; i < fits; i++) {
		char c = hex ? decode(field->value.text + 2 * i) : field->value.text[i];

		text[i] = c ? c : '@';
	}
	text[fits] = 0;
	return fits == length ? (long)length : -ENAMETOOLONG;
}

long ac_field_bytes(const struct ac_field *field, unsigned char *bytes, size_t size)
{
	size_t length = field->value.length / 2;

	if (field->quoted || !is_hex(field->value))
		return -EBADMSG;
	if (length > size)
		length = size;
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)decode(field->value.text + 2 * i);
	return (long)length;
}

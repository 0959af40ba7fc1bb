/* SPDX-License-Identifier: ISC */
/* The error object: formats into the caller's struct, escapes control bytes, allocates nothing. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Messages go to terminals and logs: a path in them must not be able to forge a line. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

__attribute__((format(printf, 4, 0))) static int fill(
	struct ac_err *err, int code, const char *suffix, const char *format, va_list args)
{
	if (code <= 0)
		code = EINVAL;
	if (!err)
		return -code;
	char text[AC_ERR_TEXT_MAX]; /* err->text may be one of the arguments */
	int length = vsnprintf(text, sizeof text, format, args);

	if (length < 0)
		length = 0;
	if (suffix && (size_t)length < sizeof text)
		snprintf(text + length, sizeof text - (size_t)length, ": %s", suffix);
	make_printable(text);
	err->code = code;
	memcpy(err->text, text, sizeof text);
	return -code;
}

int ac_fail(struct ac_err *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int result = fill(err, code, NULL, format, args);
	va_end(args);
	return result;
}

int ac_fail_errno(struct ac_err *err, int code, const char *format, ...)
{
	char buffer[128];
	va_list args;

	va_start(args, format);
	int result = fill(err, code, strerror_r(code > 0 ? code : EINVAL, buffer, sizeof buffer),
		format, args);
	va_end(args);
	return result;
}

int ac_fail_within(struct ac_err *err, const char *format, ...)
{
	char prefix[AC_ERR_TEXT_MAX / 2];
	char text[AC_ERR_TEXT_MAX];
	va_list args;

	if (!err)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(prefix, sizeof prefix, format, args);
	va_end(args);
	make_printable(prefix);
	int length = snprintf(text, sizeof text, "%s: ", prefix);
	snprintf(text + length, sizeof text - (size_t)length, "%s", err->text);
	memcpy(err->text, text, sizeof text);
	return -err->code;
}

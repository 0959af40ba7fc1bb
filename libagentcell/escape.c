/* SPDX-License-Identifier: ISC */
/* Bytes <-> printable ASCII.  Pure; the caller owns both buffers. */
#include "escape.h"

#include <stdbool.h>

static const char digits[] = "0123456789ABCDEF";

static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte <= 0x7e && byte != '%';
}

size_t ac_escape(char *text, size_t size, const char *bytes, size_t length)
{
	size_t needed = 0, used = 0;
	bool is_full = false;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		size_t unit = is_plain(byte) ? 1 : 3;

		needed += unit;
		if (is_full || used + unit >= size) {
			is_full = true; /* cut here: no smaller unit may slip in behind the cut */
			continue;
		}
		if (unit == 1) {
			text[used] = (char)byte;
		} else {
			text[used] = '%';
			text[used + 1] = digits[byte >> 4];
			text[used + 2] = digits[byte & 15];
		}
		used += unit;
	}
	text[used] = '\0';
	return needed;
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

long ac_unescape(char *bytes, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text; text++) {
		int byte = (unsigned char)*text;

		if (byte == '%') {
			int high = hex_value(text[1]);
			int low = high < 0 ? -1 : hex_value(text[2]);

			if (low < 0)
				return -1;
			byte = high << 4 | low;
			if (is_plain((unsigned char)byte))
				return -1; /* ac_escape would not have written it */
			text += 2;
		} else if (!is_plain((unsigned char)byte)) {
			return -1;
		}
		if (byte == 0 || used + 1 >= size)
			return -1;
		bytes[used++] = (char)byte;
	}
	if (used >= size)
		return -1;
	bytes[used] = '\0';
	return (long)used;
}

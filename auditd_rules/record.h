/* SPDX-License-Identifier: ISC */
/*
 * One raw audit record: pure views into the caller's buffer, no copy, no allocation.
 *
 * Kernel form (netlink):  audit(1796015080.063:16): arch=c000003e syscall=257 ...
 * Text form (audit.log, the plugin pipe):  type=SYSCALL msg=audit(1796015080.063:16): arch=...
 * Enriched fields behind the byte 0x1D are cut off: they repeat in words what numbers said before.
 *
 * The kernel writes untrusted strings quoted when they are plain and as hex when they hold a quote,
 * a blank or anything else unprintable, so neither names nor values can be forged from inside.
 */
#ifndef AC_RECORD_H
#define AC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types that old headers of libaudit and Linux do not name. */
enum {
	AC_RECORD_DAEMON = 1200, /* auditd's own; their serials are not the kernel's */
	AC_RECORD_SYSCALL = 1300,
	AC_RECORD_PATH = 1302,
	AC_RECORD_CONFIG_CHANGE = 1305,
	AC_RECORD_SOCKADDR = 1306,
	AC_RECORD_CWD = 1307,
	AC_RECORD_OBJ_PID = 1318,
	AC_RECORD_EOE = 1320,
	AC_RECORD_NETFILTER_PKT = 1324,
	AC_RECORD_SECCOMP = 1326,
	AC_RECORD_URINGOP = 1336,
	AC_RECORD_TRUSTED_APP = 1121, /* user space; carries the marks of the drain */
	AC_RECORD_LANDLOCK_ACCESS = 1423,
	AC_RECORD_LANDLOCK_DOMAIN = 1424,
};

struct ac_span {
	const char *text;
	size_t length;
};

struct ac_record {
	int type;
	uint64_t serial;
	uint64_t time_ms; /* CLOCK_REALTIME, as coarse as the kernel's tick */
	struct ac_span body; /* the fields */
};

struct ac_field {
	struct ac_span name;
	struct ac_span value; /* without its quotes */
	bool quoted;
};

/* Both return 0 or -EBADMSG.  Nothing is copied: the record lives as long as the text. */
int ac_record_parse(int type, const char *text, size_t length, struct ac_record *record);
int ac_record_parse_line(const char *line, size_t length, struct ac_record *record);

/* Takes the next name=value from *rest; false at the end. */
bool ac_record_next(struct ac_span *rest, struct ac_field *field);

/* Finds the first field of that name. */
bool ac_record_find(const struct ac_record *record, const char *name, struct ac_field *field);

bool ac_span_is(struct ac_span span, const char *word);
bool ac_span_decimal(struct ac_span span, int64_t *value); /* -13, 4294967295 */
bool ac_span_hex(struct ac_span span, uint64_t *value); /* c000003e, 0x11170 */
bool ac_span_octal(struct ac_span span, uint64_t *value); /* 0104755 */

/*
 * The value as a C string: a quoted one as it stands, an unquoted one decoded from hex, or as it
 * stands when it is no hex ("(null)" gives -ENODATA).  NUL bytes inside become '@', as people write
 * abstract socket names.  Returns the length, -ENODATA, or -ENAMETOOLONG with as much as fits.
 */
long ac_field_text(const struct ac_field *field, char *text, size_t size);

/* Bytes of a hex value (saddr=); returns how many, cut at size, or -EBADMSG. */
long ac_field_bytes(const struct ac_field *field, unsigned char *bytes, size_t size);

#endif

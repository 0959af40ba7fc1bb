/* SPDX-License-Identifier: ISC */
/*
 * The error object of every function that can fail.
 *
 * A function takes `struct ac_err *err` last and returns 0, or -errno after filling *err.
 * Success never touches *err; on failure out-parameters are untouched.  The message says what
 * was tried, on what, why it failed and, where a person can do something, what to do next.
 * The caller owns the object (usually on its stack); nothing here allocates.
 */
#ifndef AC_ERR_H
#define AC_ERR_H

#define AC_ERR_TEXT_MAX 1024

struct ac_err {
	int code; /* positive errno value */
	char text[AC_ERR_TEXT_MAX]; /* one line, control bytes already escaped */
};

/* Fills *err and returns -code (code 0 counts as EINVAL).  err may be NULL. */
int ac_fail(struct ac_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As ac_fail, with ": strerror(code)" appended to the message. */
int ac_fail_errno(struct ac_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "what: " before the message that is already there; returns -err->code. */
int ac_fail_within(struct ac_err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif

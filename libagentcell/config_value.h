/* SPDX-License-Identifier: ISC */
/*
 * Values in configuration files: one parser for each syntax.  Text is untrusted; a list parser
 * appends.  Words of a list are separated by blanks; a blank or '%' in one is written %20, %25.
 */
#ifndef AC_CONFIG_VALUE_H
#define AC_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

int ac_bool_parse(const char *text, bool *value, struct ac_err *err); /* yes, no */
int ac_count_parse(const char *text, uint64_t max, uint64_t *value, struct ac_err *err);
int ac_name_parse(const char *text, char name[AC_NAME_MAX], struct ac_err *err); /* accounts */
int ac_path_parse(const char *text, char path[AC_PATH_MAX], struct ac_err *err); /* canonical */

enum ac_path_form {
	AC_FORM_ABSOLUTE, /* canonical */
	AC_FORM_HOME, /* canonical, or relative to a home without leading "./" or any ".." */
	AC_FORM_PATTERN /* anything */
};

int ac_strings_parse(
	const char *text, enum ac_path_form form, struct ac_strings *strings, struct ac_err *err);
int ac_environment_name_check(const char *name, struct ac_err *err);
int ac_environment_names_parse(const char *text, struct ac_names *names, struct ac_err *err);
int ac_commands_parse(const char *text, struct ac_names *names, struct ac_err *err);
int ac_hosts_parse(const char *text, struct ac_names *names, struct ac_err *err);
int ac_endpoints_parse(
	const char *text, struct ac_endpoint *endpoints, unsigned *count, struct ac_err *err);

/* Canonical form of a host name, lower case; NULL or the reason why it is none. */
const char *ac_host_refused(const char *text, char host[AC_HOST_MAX]);

#endif

/* SPDX-License-Identifier: ISC */
/* Numbers, words and lists of the configuration.  Pure; nothing depends on the locale. */
#include "config_value.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "path.h"
#include "util.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define BLANKS " \t"

/* Reads digits; *rest gets what follows them. */
static int take_number(const char *text, uint64_t *number, const char **rest)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return -ERANGE;
	}
	*number = value;
	*rest = text;
	return 0;
}

struct unit {
	char letter; /* '\0': none */
	uint64_t factor;
};

static int parse_scaled(const char *text, const struct unit *units, uint64_t *number)
{
	const char *rest;
	uint64_t value;
	int rc = take_number(text, &value, &rest);

	if (rc < 0)
		return rc;
	for (; units->factor; units++) {
		if (*rest != units->letter || (*rest && rest[1]))
			continue;
		if (__builtin_mul_overflow(value, units->factor, &value) || value > INT64_MAX)
			return -ERANGE;
		*number = value;
		return 0;
	}
	return -EINVAL;
}

int ac_duration_parse(const char *text, uint64_t *seconds, struct ac_err *err)
{
	static const struct unit units[] = { { '\0', 1 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 },
		{ 'd', 86400 }, { 0, 0 } };
	uint64_t value = 0;

	if (parse_scaled(text, units, &value) < 0 || value == 0)
		return ac_fail(err, EINVAL, "'%s' is no duration; write 90, 15m, 8h or 30d", text);
	*seconds = value;
	return 0;
}

int ac_size_parse(const char *text, uint64_t *bytes, struct ac_err *err)
{
	static const struct unit units[] = { { '\0', 1 }, { 'K', 1024 }, { 'M', 1048576 },
		{ 'G', 1073741824 }, { 'T', 1099511627776 }, { 0, 0 } };

	if (parse_scaled(text, units, bytes) < 0)
		return ac_fail(err, EINVAL, "'%s' is no size; write 512M or 4G", text);
	return 0;
}

int ac_count_parse(const char *text, uint64_t max, uint64_t *value, struct ac_err *err)
{
	const char *rest;
	uint64_t number;

	if (take_number(text, &number, &rest) < 0 || *rest || number > max)
		return ac_fail(err, EINVAL, "'%s' is no number from 0 to %llu", text,
			(unsigned long long)max);
	*value = number;
	return 0;
}

int ac_risk_parse(const char *text, enum ac_risk *risk, struct ac_err *err)
{
	unsigned i;

	for (i = AC_RISK_LOW; i <= AC_RISK_HIGH; i++) {
		if (strcmp(text, ac_risk_name((enum ac_risk)i)) == 0) {
			*risk = (enum ac_risk)i;
			return 0;
		}
	}
	return ac_fail(err, EINVAL, "'%s' is no risk; write low, medium or high", text);
}

int ac_bool_parse(const char *text, bool *value, struct ac_err *err)
{
	bool is_yes = strcmp(text, "yes") == 0;

	if (!is_yes && strcmp(text, "no") != 0)
		return ac_fail(err, EINVAL, "'%s' is neither yes nor no", text);
	*value = is_yes;
	return 0;
}

int ac_name_parse(const char *text, char name[AC_NAME_MAX], struct ac_err *err)
{
	size_t length = strlen(text);

	if (length == 0 || length > 31 || !strchr(LOWER "_", text[0]) ||
		strspn(text, LOWER DIGITS "_-") != length)
		return ac_fail(err, EINVAL,
			"'%s' is no name; up to 31 of a-z 0-9 _ -, beginning with a letter or _",
			text);
	memset(name, 0, AC_NAME_MAX);
	memcpy(name, text, length + 1);
	return 0;
}

int ac_path_parse(const char *text, char path[AC_PATH_MAX], struct ac_err *err)
{
	if (!ac_path_is_canonical(text))
		return ac_fail(err, EINVAL,
			"'%s' must be an absolute path without . .. or doubled slashes", text);
	memset(path, 0, AC_PATH_MAX);
	memcpy(path, text, strlen(text) + 1);
	return 0;
}

static int hex_digit(char digit)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF";
	const char *found = digit ? strchr(digits, digit) : NULL;

	return found ? (int)((found - digits) & 15) : -1;
}

/* Takes one word off *text, %XX decoded: its length, 0 at the end, or -errno. */
static int next_word(const char **text, char *word, size_t size)
{
	const char *from = *text + strspn(*text, BLANKS);
	size_t length = 0;

	for (; *from && !strchr(BLANKS, *from); from++) {
		int byte = (unsigned char)*from;

		if (byte == '%') {
			int high = hex_digit(from[1]);
			int low = high < 0 ? -1 : hex_digit(from[2]);

			if (low < 0 || (high == 0 && low == 0))
				return -EINVAL;
			byte = high << 4 | low;
			from += 2;
		}
		if (length + 1 >= size)
			return -ENAMETOOLONG;
		word[length++] = (char)byte;
	}
	word[length] = '\0';
	*text = from;
	return (int)length;
}

/* Calls add for each word; the error names the word. */
static int each_word(const char *text, char *word, size_t size,
	int (*add)(void *list, const char *word, struct ac_err *err), void *list,
	struct ac_err *err)
{
	int length;

	while ((length = next_word(&text, word, size)) > 0) {
		int rc = add(list, word, err);

		if (rc < 0)
			return rc;
	}
	if (length < 0)
		return ac_fail(err, -length, "%s in '%s'",
			length == -EINVAL ? "a '%' without two hex digits (write %25 for it)"
					  : "a word that is too long",
			text);
	return 0;
}

struct strings_target {
	struct ac_strings *strings;
	enum ac_path_form form;
};

static bool form_fits(enum ac_path_form form, const char *word)
{
	char joined[AC_PATH_MAX];

	switch (form) {
	case AC_FORM_ABSOLUTE:
		return ac_path_is_canonical(word);
	case AC_FORM_HOME:
		if (word[0] == '/')
			return ac_path_is_canonical(word);
		if (strlen(word) + 2 > sizeof(joined))
			return false;
		joined[0] = '/';
		memcpy(joined + 1, word, strlen(word) + 1);
		return ac_path_is_canonical(joined);
	case AC_FORM_PATTERN:
		return true;
	}
	return false;
}

static int add_string(void *list, const char *word, struct ac_err *err)
{
	const struct strings_target *target = list;
	struct ac_strings *strings = target->strings;
	unsigned i;

	if (!form_fits(target->form, word))
		return ac_fail(err, EINVAL, "'%s' must be %s, without . .. or doubled slashes",
			word,
			target->form == AC_FORM_HOME ? "an absolute path, or one below a home"
						     : "an absolute path");
	for (i = 0; i < strings->count; i++)
		if (strcmp(strings->text[i], word) == 0)
			return ac_fail(err, EEXIST, "'%s' stands there twice", word);
	if (strings->count == AC_PATHS_MAX)
		return ac_fail(err, E2BIG, "more than %d entries", AC_PATHS_MAX);
	memset(strings->text[strings->count], 0, AC_PATH_MAX);
	memcpy(strings->text[strings->count++], word, strlen(word) + 1);
	return 0;
}

int ac_strings_parse(
	const char *text, enum ac_path_form form, struct ac_strings *strings, struct ac_err *err)
{
	struct strings_target target = { strings, form };
	char word[AC_PATH_MAX];

	return each_word(text, word, sizeof(word), add_string, &target, err);
}

static int add_name(struct ac_names *names, const char *word, struct ac_err *err)
{
	unsigned i;

	for (i = 0; i < names->count; i++)
		if (strcmp(names->name[i], word) == 0)
			return ac_fail(err, EEXIST, "'%s' stands there twice", word);
	if (names->count == AC_ENV_NAMES_MAX)
		return ac_fail(err, E2BIG, "more than %d entries", AC_ENV_NAMES_MAX);
	memset(names->name[names->count], 0, AC_NAME_MAX);
	memcpy(names->name[names->count++], word, strlen(word) + 1);
	return 0;
}

static bool is_reserved(const char *name)
{
	static const char *const reserved[] = { "HOME", "PATH", "USER", "LOGNAME", "SHELL",
		"TMPDIR", "MAIL", "PWD", "OLDPWD", "XDG_RUNTIME_DIR", "BASH_ENV", "ENV", "IFS" };
	static const char *const prefixes[] = { "LD_", "SUDO_", "AGENTCELL_", "BASH_FUNC_" };
	unsigned i;

	for (i = 0; i < AC_COUNT(reserved); i++)
		if (strcmp(name, reserved[i]) == 0)
			return true;
	for (i = 0; i < AC_COUNT(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

int ac_environment_name_check(const char *name, struct ac_err *err)
{
	size_t length = strlen(name);

	if (length == 0 || length >= AC_NAME_MAX || strchr(DIGITS, name[0]) ||
		strspn(name, UPPER LOWER DIGITS "_") != length)
		return ac_fail(err, EINVAL, "'%s' is no name of an environment variable", name);
	if (is_reserved(name))
		return ac_fail(err, EPERM,
			"%s is set by agentcell itself or would change how programs load", name);
	return 0;
}

static int add_environment_name(void *list, const char *word, struct ac_err *err)
{
	int rc = ac_environment_name_check(word, err);

	return rc < 0 ? rc : add_name(list, word, err);
}

int ac_environment_names_parse(const char *text, struct ac_names *names, struct ac_err *err)
{
	char word[AC_NAME_MAX];

	return each_word(text, word, sizeof(word), add_environment_name, names, err);
}

static int add_command(void *list, const char *word, struct ac_err *err)
{
	struct ac_names *names = list;

	if (strchr(word, '/') || strcmp(word, ".") == 0 || strcmp(word, "..") == 0)
		return ac_fail(err, EINVAL, "'%s' must be the last part of a command's path", word);
	if (names->count == AC_COMMANDS_MAX)
		return ac_fail(err, E2BIG, "more than %d commands", AC_COMMANDS_MAX);
	return add_name(names, word, err);
}

int ac_commands_parse(const char *text, struct ac_names *names, struct ac_err *err)
{
	char word[AC_NAME_MAX];

	return each_word(text, word, sizeof(word), add_command, names, err);
}

static int add_host(void *list, const char *word, struct ac_err *err)
{
	char host[AC_HOST_MAX];
	const char *refused = ac_host_refused(word, host);

	if (refused)
		return ac_fail(err, EINVAL, "host '%s': %s", word, refused);
	return add_name(list, host, err);
}

int ac_hosts_parse(const char *text, struct ac_names *names, struct ac_err *err)
{
	char word[AC_NAME_MAX];

	return each_word(text, word, sizeof(word), add_host, names, err);
}

struct endpoints_target {
	struct ac_endpoint *endpoints;
	unsigned *count;
};

static int add_endpoint(void *list, const char *word, struct ac_err *err)
{
	const struct endpoints_target *target = list;
	struct ac_endpoint endpoint;
	int rc = ac_endpoint_parse(word, &endpoint, err);

	if (rc < 0)
		return rc;
	if (*target->count == AC_ENDPOINTS_MAX)
		return ac_fail(err, E2BIG, "more than %d endpoints", AC_ENDPOINTS_MAX);
	target->endpoints[(*target->count)++] = endpoint;
	return 0;
}

int ac_endpoints_parse(
	const char *text, struct ac_endpoint *endpoints, unsigned *count, struct ac_err *err)
{
	struct endpoints_target target = { endpoints, count };
	char word[AC_HOST_MAX + 32];

	return each_word(text, word, sizeof(word), add_endpoint, &target, err);
}

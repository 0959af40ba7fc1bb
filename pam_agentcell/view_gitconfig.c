/* SPDX-License-Identifier: ISC */
/*
 * The view's /etc/gitconfig: which repositories are the session's, that owners do not matter, and who makes
 * its commits.  Of the user's own configuration only name and e-mail go in, since much of the rest names
 * programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resolve.h"
#include "safefile.h"
#include "util.h"
#include "view_parts.h"

#define CONFIG_MAX 65536
#define VALUE_MAX 256

struct author {
	char name[VALUE_MAX], email[VALUE_MAX];
};

static void put_quoted(FILE *stream, const char *text)
{
	fputc('"', stream);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', stream);
		if (*text == '\n')
			fputs("\\n", stream);
		else
			fputc(*text, stream);
	}
	fputs("\"\n", stream);
}

/* What stands behind "=": with or without quotes; no control bytes. */
static void take_value(char value[VALUE_MAX], const char *text)
{
	bool is_quoted = *text == '"';
	char found[VALUE_MAX];
	size_t used = 0;

	for (text += is_quoted; *text && used + 1 < sizeof found; text++) {
		if (is_quoted ? *text == '"' : *text == '#' || *text == ';')
			break;
		if (*text == '\\' && text[1])
			text++;
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return;
		found[used++] = *text;
	}
	while (!is_quoted && used && found[used - 1] == ' ')
		used--;
	found[used] = '\0';
	if (used)
		memcpy(value, found, sizeof found);
}

/* The value of a line "key = value", or NULL. */
static const char *value_of(const char *line, const char *key)
{
	size_t length = strlen(key);

	if (strncasecmp(line, key, length) != 0)
		return NULL;
	line += length;
	line += strspn(line, " \t");
	if (*line++ != '=')
		return NULL;
	return line + strspn(line, " \t");
}

static void parse(struct author *author, char *text)
{
	bool is_user = false;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		const char *value;

		line += strspn(line, " \t");
		if (*line == '[')
			is_user = strncasecmp(line, "[user]", 6) == 0;
		if (!is_user)
			continue;
		if ((value = value_of(line, "name")))
			take_value(author->name, value);
		if ((value = value_of(line, "email")))
			take_value(author->email, value);
	}
}

static int open_config(void *context)
{
	int fd = open(context, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void read_config(
	const struct ac_view *view, const char *path, char *text, struct author *author)
{
	const struct ac_plan *plan = &view->session->plan;
	const struct ac_identity who = { plan->user_uid, plan->user_gid, plan->group_count,
		plan->groups };
	char name[AC_PATH_MAX + 32];
	struct ac_err ignored;
	struct stat status;

	snprintf(name, sizeof name, "%s", path);
	ac_autoclose int fd = ac_identity_run(&who, open_config, name, &ignored);

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	ssize_t length = ac_read_all(fd, text, CONFIG_MAX - 1);

	if (length < 0)
		return;
	text[length] = '\0';
	parse(author, text);
}

/* In git's own order: the last one wins. */
static void find_author(const struct ac_view *view, struct author *author)
{
	const char *home = view->session->plan.user_home;
	ac_autofree char *text = malloc(CONFIG_MAX);
	char path[AC_PATH_MAX + 32];

	if (!text)
		return;
	read_config(view, "/etc/gitconfig", text, author);
	snprintf(path, sizeof path, "%s/.config/git/config", home);
	read_config(view, path, text, author);
	snprintf(path, sizeof path, "%s/.gitconfig", home);
	read_config(view, path, text, author);
}

static void write_config(const struct ac_view *view, FILE *stream)
{
	const struct ac_path_list *list = &view->session->policy.write_paths;
	struct author author = { "", "" };

	/* git refuses a repository of another uid than its own, unless it is named here. */
	fputs("[safe]\n", stream);
	for (unsigned i = 0; i < list->count; i++) {
		fputs("\tdirectory = ", stream);
		put_quoted(stream, list->entry[i].path);
	}
	/* The index notes each file's owner, and in here that is another one: compared, it would have the
	 * first "git status" on either side read every file of the tree again. */
	fputs("[core]\n\tcheckStat = minimal\n", stream);
	find_author(view, &author);
	if (*author.name || *author.email)
		fputs("[user]\n", stream);
	if (*author.name) {
		fputs("\tname = ", stream);
		put_quoted(stream, author.name);
	}
	if (*author.email) {
		fputs("\temail = ", stream);
		put_quoted(stream, author.email);
	}
}

int ac_view_gitconfig(const struct ac_view *view, struct ac_err *err)
{
	ac_autofree char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return ac_fail_errno(err, ENOMEM, "no memory for the view's gitconfig");
	write_config(view, stream);
	if (fclose(stream) != 0)
		return ac_fail_errno(err, ENOMEM, "no memory for the view's gitconfig");
	return ac_view_write(view, "/etc/gitconfig", text, 0644, err);
}

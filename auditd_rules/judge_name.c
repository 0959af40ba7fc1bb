/* SPDX-License-Identifier: ISC */
/*
 * The judge's part for names: what was opened, changed or executed, as far as the records tell.  Pure.
 *
 * A name is what was typed.  When it could not be walked to its end its record has all of it; when its
 * directory was reached the record is the directory's, without the last component, until there is one
 * of what was found (or made) in it.  So of a name that is to be made and is a symlink that leads to
 * where the session may not go, all that is told is the symlink's directory, and the number of the last
 * one that was reached: the name is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "judge_parts.h"
#include "path.h"

#define SET_ID (S_ISUID | S_ISGID)

struct item { /* what one PATH record tells */
	const char *name;
	struct ac_object object;
	uint32_t mode;
	bool directory; /* only that of the name */
};

/* Descriptors are 32 bits wide, whatever the register held. */
static int descriptor(const struct ac_event *event, int argument)
{
	return (int)(int32_t)(uint32_t)event->a[argument];
}

static enum ac_operation open_operation(const struct ac_call *call, const struct ac_event *event)
{
	uint64_t flags;

	if (call->writes || call->kind == AC_CALL_MODE)
		return AC_OPERATION_WRITE;
	if (call->flags < 0)
		return AC_OPERATION_READ;
	flags = event->a[call->flags];
	return flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) ? AC_OPERATION_WRITE
							       : AC_OPERATION_READ;
}

/* Which directory descriptor a name starts from; AT_FDCWD for plain names. */
static int start_of(const struct ac_call *call, const struct ac_event *event, const char *name)
{
	if (name[0] == '/' || call->directory < 0)
		return AT_FDCWD;
	return descriptor(event, call->directory);
}

/* Which one it is of two, the records do not say. */
static int other_start(const struct ac_call *call, const struct ac_event *event, const char *name)
{
	if (name[0] == '/' || !call->pair)
		return start_of(call, event, name);
	return descriptor(event, call->directory + 2);
}

static struct item item_of(const struct ac_event_path *path)
{
	return (struct item){ path->name, path->object, path->mode, false };
}

/*
 * Of a typed name's directory the kernel keeps the slash behind it.  Without one it is the working
 * directory, which it names for all lone components, also those that start at a descriptor.
 */
static struct item item_of_directory(
	const struct ac_call *call, const struct ac_event *event, const struct ac_event_path *path)
{
	size_t length = strlen(path->name);
	bool lone = length && (path->name[length - 1] != '/' || !strcmp(path->name, event->cwd));
	bool here = start_of(call, event, ".") == AT_FDCWD &&
		    other_start(call, event, ".") == AT_FDCWD;

	return (struct item){ lone && !here ? "." : path->name, path->object, path->mode, true };
}

/* "x/..": only what x really is says where that goes. */
static bool goes_back(const char *name)
{
	bool plain = false;

	while (*name) {
		size_t length = strcspn(name, "/");
		bool up = length == 2 && name[0] == '.' && name[1] == '.';

		if (up && plain)
			return true;
		plain = plain || (length && !up && !(length == 1 && name[0] == '.'));
		name += length + (name[length] == '/');
	}
	return false;
}

/* Leaves the name as it was typed, for whoever walks it: behind the directory, where that fits. */
static void keep_typed(const struct ac_event *event, const char *name, struct ac_verdict *verdict)
{
	bool absolute = name[0] == '/';

	if (!absolute && snprintf(verdict->target, sizeof(verdict->target), "%s/%s", event->cwd,
				 name) < (int)sizeof(verdict->target))
		return;
	(void)snprintf(verdict->target, sizeof(verdict->target), "%s", name);
	verdict->relative = !absolute;
}

/* The answer lies in what the name leads to. */
static void leave_open(
	const struct ac_event *event, const struct item *item, struct ac_verdict *verdict)
{
	verdict->kind = AC_VERDICT_RESOLVE;
	verdict->object = item->object;
	/* The last item of a name that was followed to its directory has that one's record beside it. */
	verdict->barred = event->exit == -EACCES && !item->object.inode &&
			  !event->parent[0].object.inode;
}

/* Makes the typed name absolute as far as the records go; false: it is relative to a descriptor. */
static bool complete_name(const struct ac_call *call, const struct ac_event *event,
	const char *name, struct ac_verdict *verdict)
{
	verdict->directory = start_of(call, event, name);
	verdict->other = other_start(call, event, name);
	verdict->relative = verdict->directory != AT_FDCWD || verdict->other != AT_FDCWD ||
			    (name[0] != '/' && !event->cwd[0]);
	if (verdict->relative || ac_path_join(verdict->target, sizeof(verdict->target),
					 event->cwd[0] ? event->cwd : "/", name))
		(void)snprintf(verdict->target, sizeof(verdict->target), "%s", name);
	return !verdict->relative;
}

/* Could the name lead somewhere else than it says?  Only through places that the cell can fill, and
 * through /proc, whose links follow descriptors. */
static bool may_lead_elsewhere(const struct ac_judge *judge, const char *path)
{
	return !strncmp(path, "/proc/", 6) || ac_judge_is_own(judge, path) ||
	       ac_policy_decide(&judge->session->policy, AC_OPERATION_WRITE, path) ==
		       AC_DECISION_ALLOWED;
}

/* What was found tells whether it was followed; where nothing was, a link would have been found. */
static bool is_followed(const struct ac_call *call, const struct item *item)
{
	if (item->directory || call->kind != AC_CALL_CHANGE)
		return true;
	return item->mode ? !S_ISLNK(item->mode) : call->follows;
}

static void judge_name(const struct ac_judge *judge, const struct ac_call *call,
	enum ac_operation operation, const struct ac_event *event, const struct item *item,
	struct ac_verdict *verdict)
{
	verdict->operation = operation;
	verdict->follow = is_followed(call, item);
	if (!complete_name(call, event, item->name, verdict)) {
		ac_verdict_set(
			judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "relative to a descriptor");
		if (event->success)
			verdict->kind = AC_VERDICT_SILENT;
		else
			leave_open(event, item, verdict);
		return;
	}
	ac_judge_path(judge, operation, event->success, verdict->target, verdict);
	if (event->success)
		return;
	if (goes_back(item->name) || (verdict->kind != AC_VERDICT_ESCAPE &&
					     may_lead_elsewhere(judge, verdict->target))) {
		leave_open(event, item, verdict);
		keep_typed(event, item->name, verdict);
	}
}

#define ITEMS_MAX (AC_EVENT_PATHS_MAX + 2)

/* Everything that has a record of its own; of what has none its directory, when all records are in. */
static unsigned list_items(const struct ac_call *call, const struct ac_event *event, bool complete,
	struct item items[ITEMS_MAX])
{
	bool several = call->kind == AC_CALL_CHANGE;
	bool directories = complete && (several || !event->path_count);
	/* What a symlink is to say has the record of a name, and may be taken for that of what was made. */
	bool names = !event->parent_count || strncmp(call->name, "symlink", 7) != 0;
	unsigned count = 0;

	for (unsigned i = 0; names && i < event->path_count; i++) {
		items[count++] = item_of(&event->path[i]);
		directories = directories && !event->path[i].child;
	}
	for (unsigned i = 0; directories && i < event->parent_count && i < 2; i++)
		items[count++] = item_of_directory(call, event, &event->parent[i]);
	return count;
}

/* The name lost its last component: what was refused may be any of the directory's symlinks. */
static void lose_name(const struct ac_event *event, struct ac_verdict *verdict)
{
	bool refused = event->exit == -EACCES || event->exit == -EPERM || event->exit == -EROFS;

	verdict->lost = refused && verdict->kind == AC_VERDICT_RESOLVE && !event->path_count &&
			event->parent_count;
}

/* Of names that have to be walked one that the kernel did not come to the end of is worse. */
static int compare(const struct ac_verdict *verdict, const struct item *item,
	enum ac_verdict_kind worst, const struct item *than)
{
	if (verdict->kind != worst || worst != AC_VERDICT_RESOLVE)
		return (int)verdict->kind - (int)worst;
	return !item->object.inode - !than->object.inode;
}

/* Two names are to be walked, and which one was refused is not told. */
static void judge_both(const struct ac_judge *judge, const struct ac_call *call,
	enum ac_operation operation, const struct ac_event *event, const struct item *one,
	const struct item *two, struct ac_verdict *verdict)
{
	bool relative = false;

	if (two && strcmp(one->name, two->name) != 0) {
		judge_name(judge, call, operation, event, two, verdict);
		memcpy(verdict->also, verdict->target, strlen(verdict->target) + 1);
		relative = verdict->relative;
	}
	judge_name(judge, call, operation, event, one, verdict);
	verdict->relative = verdict->relative || relative;
}

/*
 * rename and link act on two names: an escape is an escape as soon as one is, the rest waits for
 * the end of the event and takes the worse of them.
 */
void ac_judge_open(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	enum ac_operation operation = open_operation(call, event);
	enum ac_verdict_kind worst = AC_VERDICT_WAIT;
	struct item items[ITEMS_MAX], *one = NULL, *two = NULL;
	unsigned count = list_items(call, event, complete, items);

	if (call->flags >= 0 && event->a[call->flags] & O_PATH) {
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "a look, not an access");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		int order;

		judge_name(judge, call, operation, event, &items[i], verdict);
		if (verdict->kind == AC_VERDICT_ESCAPE)
			return;
		order = compare(verdict, &items[i], worst, one);
		if (order > 0) {
			worst = verdict->kind;
			one = &items[i];
			two = NULL;
		} else if (!order && worst == AC_VERDICT_RESOLVE) {
			two = &items[i];
		}
	}
	if (!complete && (call->kind == AC_CALL_CHANGE || !event->path_count)) {
		verdict->kind = AC_VERDICT_WAIT;
		return;
	}
	if (one)
		judge_both(judge, call, operation, event, one, two, verdict);
	if (call->kind == AC_CALL_OPEN)
		lose_name(event, verdict);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_privileged_program(const struct ac_judge *judge, const char *path)
{
	return ac_silent_find(judge->silent, AC_SILENT_PROGRAM, base_name(path));
}

/* A program of that name that the session made itself is only a name. */
static bool is_own_file(const struct ac_judge *judge, const char *path)
{
	return ac_judge_is_own(judge, path) ||
	       ac_policy_decide(&judge->session->policy, AC_OPERATION_WRITE, path) ==
		       AC_DECISION_ALLOWED;
}

static void judge_privileged(const struct ac_judge *judge, struct ac_verdict *verdict)
{
	const char *name = base_name(verdict->target);
	bool nested = judge->session->policy.nested_sandbox &&
		      (!strcmp(name, "newuidmap") || !strcmp(name, "newgidmap"));

	verdict->operation = AC_OPERATION_PRIVILEGE;
	ac_verdict_set(judge, verdict, nested ? AC_CLASS_TOLERATED : AC_CLASS_PRIVILEGE,
		nested ? "the harness's own sandbox" : "a program that changes privileges");
}

void ac_judge_exec(const struct ac_judge *judge, const struct ac_call *call,
	const struct ac_event *event, bool complete, struct ac_verdict *verdict)
{
	const struct ac_event_path *path = &event->path[0];
	struct item item;
	bool known, set_id;

	verdict->operation = AC_OPERATION_EXECUTE;
	if (!event->path_count && !complete)
		return;
	if (!event->path_count)
		path = &event->parent[0];
	item = item_of(path);
	known = complete_name(call, event, path->name, verdict);
	set_id = path->mode & SET_ID && S_ISREG(path->mode);
	if (event->success && event->exe[0] == '/') {
		/* exe is canonical: what really runs (the interpreter, for a script). */
		if (!known || is_privileged_program(judge, event->exe))
			(void)snprintf(verdict->target, sizeof(verdict->target), "%s", event->exe);
		known = true;
	}
	if (set_id || path->file_caps ||
		(is_privileged_program(judge, verdict->target) &&
			!is_own_file(judge, verdict->target))) {
		judge_privileged(judge, verdict);
		return;
	}
	if (!known) {
		ac_verdict_set(
			judge, verdict, AC_CLASS_OUTSIDE_REFUSED, "relative to a descriptor");
		leave_open(event, &item, verdict);
		return;
	}
	if (event->success && strncmp(event->exe, "/memfd:", 7) != 0)
		ac_judge_path(judge, AC_OPERATION_EXECUTE, true, event->exe, verdict);
	else if (event->success)
		ac_verdict_set(judge, verdict, AC_CLASS_NORMAL, "from memory");
	else
		judge_name(judge, call, AC_OPERATION_EXECUTE, event, &item, verdict);
}

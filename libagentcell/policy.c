/* SPDX-License-Identifier: ISC */
/*
 * policy.json: written once by root when the session is planned, read by whoever builds, guards or
 * ends the cell.
 *
 * Reading is strict three times over: the file must be root's and 0600, each field must be there
 * and in range and no other, and the whole must give the same bytes when it is written again, so
 * that doubled keys or another spelling of a value cannot mean one thing here and another there.
 */
#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/stat.h>

#include "journal.h"
#include "json_text.h"
#include "policy_fields.h"
#include "safefile.h"
#include "util.h"

/* Five lists of 32 paths of 4 KiB, each byte escaped to three, are less than 2.5 MiB. */
#define POLICY_MAX ((size_t)4 * 1024 * 1024)

static json_object *to_json(const struct ac_session_policy *session)
{
	ac_autojson json_object *root = json_object_new_object();
	ac_autojson json_object *plan = ac_fields_write(ac_plan_fields, &session->plan);
	ac_autojson json_object *policy = ac_fields_write(ac_policy_fields, &session->policy);

	if (!root || !plan || !policy)
		return NULL;
	if (json_object_object_add(root, "plan", json_object_get(plan)) < 0 ||
		json_object_object_add(root, "policy", json_object_get(policy)) < 0)
		return NULL;
	return json_object_get(root);
}

static const char *to_text(json_object *root, size_t *length)
{
	return json_object_to_json_string_length(
		root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE, length);
}

static int check_ids(const struct ac_session_policy *session)
{
	return ac_session_id_is_valid(session->plan.session_id) &&
			       strcmp(session->plan.session_id, session->policy.session_id) == 0
		       ? 0
		       : -EBADMSG;
}

int ac_policy_write(int session_fd, const struct ac_session_policy *session, struct ac_err *err)
{
	ac_autojson json_object *root = to_json(session);
	const char *text;
	size_t length;

	if (!root || check_ids(session) < 0)
		return ac_fail(err, EINVAL,
			"write the session policy: out of memory, or a value is out of range");
	text = to_text(root, &length);
	if (!text)
		return ac_fail_errno(err, ENOMEM, "write the session policy");
	return ac_write_new(session_fd, AC_POLICY_NAME, text, length, 0600, err);
}

static int from_json(json_object *root, struct ac_session_policy *session, const char **bad)
{
	json_object *plan, *policy;

	*bad = "the top level";
	if (!json_object_is_type(root, json_type_object) || json_object_object_length(root) != 2 ||
		!json_object_object_get_ex(root, "plan", &plan) ||
		!json_object_object_get_ex(root, "policy", &policy))
		return -EBADMSG;
	if (ac_fields_read(ac_plan_fields, plan, &session->plan, bad) < 0 ||
		ac_fields_read(ac_policy_fields, policy, &session->policy, bad) < 0)
		return -EBADMSG;
	*bad = "session_id";
	return check_ids(session);
}

static bool is_what_we_write(
	const struct ac_session_policy *session, const char *text, size_t length)
{
	ac_autojson json_object *again = to_json(session);
	size_t again_length;
	const char *again_text = again ? to_text(again, &again_length) : NULL;

	return again_text && text && again_length == length &&
	       memcmp(again_text, text, length) == 0;
}

/* Into a struct that is all zeros. */
static int parse_into(
	const char *text, size_t length, struct ac_session_policy *session, struct ac_err *err)
{
	ac_autojson json_object *root = NULL;
	const char *bad;

	if (ac_json_parse(text, length, &root) < 0)
		return ac_fail(err, EBADMSG, "session policy: not the JSON that agentcell writes");
	if (from_json(root, session, &bad) < 0)
		return ac_fail(err, EBADMSG,
			"session policy: %s is missing, doubled or out of range", bad);
	if (!is_what_we_write(session, text, length))
		return ac_fail(err, EBADMSG, "session policy: it does not round-trip");
	return 0;
}

static struct ac_session_policy *parse_dup(const char *text, size_t length, struct ac_err *err)
{
	ac_autofree struct ac_session_policy *session = calloc(1, sizeof(*session));

	if (!session)
		ac_fail_errno(err, ENOMEM, "read a session policy");
	else if (parse_into(text, length, session, err) == 0)
		return AC_TAKE(session);
	return NULL;
}

/* Hands a heap copy over to a caller with a struct of its own. */
static int hand_over(
	struct ac_session_policy *read, struct ac_session_policy *session, const struct ac_err *err)
{
	if (!read)
		return -err->code;
	*session = *read;
	free(read);
	return 0;
}

int ac_policy_parse(
	const char *text, size_t length, struct ac_session_policy *session, struct ac_err *err)
{
	struct ac_err own = { 0 };

	err = err ? err : &own;
	return hand_over(parse_dup(text, length, err), session, err);
}

int ac_policy_read(int session_fd, struct ac_session_policy *session, struct ac_err *err)
{
	struct ac_err own = { 0 };

	err = err ? err : &own;
	return hand_over(ac_policy_read_dup(session_fd, err), session, err);
}

static int read_text(int session_fd, char **ret_text, size_t *ret_length, struct ac_err *err)
{
	ac_autoclose int fd = ac_open_trusted(session_fd, AC_POLICY_NAME, POLICY_MAX, err);
	ac_autofree char *text = NULL;
	struct stat st;
	ssize_t length;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || (st.st_mode & 07777) != 0600)
		return ac_fail(err, EPERM, "the session policy must have mode 0600");
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return ac_fail_errno(err, ENOMEM, "read the session policy");
	length = ac_read_all(fd, text, (size_t)st.st_size + 1);
	if (length < 0)
		return ac_fail_errno(err, (int)-length, "read the session policy");
	*ret_text = AC_TAKE(text);
	*ret_length = (size_t)length;
	return 0;
}

struct ac_session_policy *ac_policy_read_dup(int session_fd, struct ac_err *err)
{
	ac_autofree char *text = NULL;
	size_t length = 0;

	return read_text(session_fd, &text, &length, err) == 0 ? parse_dup(text, length, err)
							       : NULL;
}

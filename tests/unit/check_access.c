/* SPDX-License-Identifier: ISC */
/*
 * Access by ACL, as values: over every small ACL, what granting gives and revoking brings back.  Trees are
 * walked in tests/cell/access.sh.
 */
#include <acl/libacl.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "util.h"

#define OWNER 1000u /* the user */
#define OTHER 1001u
#define SESSION 70001u
#define SECOND 70002u

static const char *const bits[8] = { "---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx" };
static const unsigned few[] = { 0, 4, 6, 7 }; /* of the entries that are many */

static bool is_session(const void *context, uint32_t id)
{
	return id == *(const uid_t *)context;
}

static bool is_of_range(const void *context, uint32_t id)
{
	(void)context;
	return id >= 70000 && id <= 70999;
}

static const uid_t session = SESSION, second = SECOND;
static const struct ac_acl_doomed of_session = { is_session, &session, OWNER };
static const struct ac_acl_doomed of_second = { is_session, &second, OWNER };

/* acl_to_any_text() sorts nothing: entries are put into the kernel's order first. */
static char *text_of(acl_t acl)
{
	static char text[2][512];
	static unsigned turn;
	void *external = malloc((size_t)acl_size(acl));
	acl_t sorted;
	char *any;

	ck_assert_int_ge(acl_copy_ext(external, acl, acl_size(acl)), 0);
	sorted = acl_copy_int(external);
	any = acl_to_any_text(sorted, NULL, ',', TEXT_NUMERIC_IDS);
	turn = !turn;
	snprintf(text[turn], sizeof text[turn], "%s", any);
	acl_free(any);
	acl_free(sorted);
	free(external);
	return text[turn];
}

struct shape { /* permissions of each entry; 8: there is none */
	unsigned user, owner, other, group, named_group, mask, others;
};

static acl_t make(const struct shape *shape)
{
	char text[512];
	int used = snprintf(text, sizeof text, "u::%s,g::%s,o::%s", bits[shape->user],
		bits[shape->group], bits[shape->others]);

	if (shape->owner < 8)
		used += snprintf(
			text + used, sizeof text - (size_t)used, ",u:1000:%s", bits[shape->owner]);
	if (shape->other < 8)
		used += snprintf(
			text + used, sizeof text - (size_t)used, ",u:1001:%s", bits[shape->other]);
	if (shape->named_group < 8)
		used += snprintf(text + used, sizeof text - (size_t)used, ",g:2000:%s",
			bits[shape->named_group]);
	if (shape->mask < 8)
		snprintf(text + used, sizeof text - (size_t)used, ",m::%s", bits[shape->mask]);
	acl_t acl = acl_from_text(text);

	ck_assert_msg(acl != NULL, "%s", text);
	ck_assert_msg(acl_valid(acl) == 0, "%s", text);
	return acl;
}

/* What is promised to come back: all of it but an entry of the owner and a mask of no use. */
static struct shape as_promised(struct shape shape)
{
	shape.owner = 8;
	if (shape.mask < 8 && shape.other == 8 && shape.named_group == 8) {
		shape.group &= shape.mask;
		shape.mask = 8;
	}
	return shape;
}

static bool has_named(const struct shape *shape)
{
	return shape->owner < 8 || shape->other < 8 || shape->named_group < 8;
}

static void each_shape(void (*function)(const struct shape *shape))
{
	static const unsigned present[] = { 0, 5, 6, 8 };

	for (unsigned i = 0; i < 4 * 4 * 4 * 4 * 4 * 9 * 2; i++) {
		unsigned rest = i;
		struct shape shape;

		shape.user = few[rest % 4], rest /= 4;
		shape.owner = present[rest % 4], rest /= 4;
		shape.other = present[rest % 4], rest /= 4;
		shape.group = few[rest % 4], rest /= 4;
		shape.named_group = present[rest % 4], rest /= 4;
		shape.others = few[rest % 2], rest /= 2;
		shape.mask = rest;
		if (has_named(&shape) && shape.mask == 8)
			continue; /* is not valid */
		function(&shape);
	}
}

static void same(acl_t acl, const struct shape *shape)
{
	acl_t wanted = make(shape);

	ck_assert_str_eq(text_of(acl), text_of(wanted));
	acl_free(wanted);
}

static bool grants(acl_t acl, unsigned wanted, bool had_mask, unsigned mask)
{
	char entry[32];

	snprintf(entry, sizeof entry, "user:%u:%s", SESSION, bits[wanted]);
	if (!strstr(text_of(acl), entry))
		return false;
	snprintf(entry, sizeof entry, "mask::%s", bits[mask]);
	return !had_mask || strstr(text_of(acl), entry) != NULL;
}

static void there_and_back(const struct shape *shape)
{
	const struct shape promised = as_promised(*shape);
	acl_t acl = make(shape);

	ck_assert_int_eq(ac_acl_revoke(&acl, &of_session), 0);
	ck_assert_int_eq(ac_acl_grant(&acl, SESSION), 1);
	ck_assert_int_eq(acl_valid(acl), 0);
	ck_assert(grants(acl, shape->user, shape->mask < 8, shape->mask & 7));
	ck_assert_int_eq(ac_acl_grant(&acl, SESSION), 0);
	ck_assert_int_eq(ac_acl_revoke(&acl, &of_session), 1);
	ck_assert_int_eq(acl_valid(acl), 0);
	same(acl, &promised);
	ck_assert_int_eq(ac_acl_revoke(&acl, &of_session), 0);
	acl_free(acl);
}

START_TEST(test_access)
{
	each_shape(there_and_back);
}
END_TEST

static void default_there_and_back(const struct shape *shape)
{
	acl_t acl = make(shape);
	bool is_only_hers = shape->owner < 8 && shape->other == 8 && shape->named_group == 8;
	const struct shape promised = has_named(shape) ? *shape : as_promised(*shape);

	ck_assert_int_eq(ac_acl_grant_default(&acl, 022, OWNER, SESSION), is_only_hers ? 0 : 1);
	ck_assert_int_eq(acl_valid(acl), 0);
	ck_assert_int_eq(ac_acl_revoke_default(&acl, &of_session), is_only_hers ? 0 : 1);
	same(acl, &promised);
	acl_free(acl);
}

START_TEST(test_default)
{
	each_shape(default_there_and_back);
}
END_TEST

/* Of two sessions each takes away what is its own, in either order. */
static void two_sessions(const struct shape *shape)
{
	const struct shape promised = as_promised(*shape);

	for (unsigned order = 0; order < 2; order++) {
		acl_t acl = make(shape);

		ck_assert_int_eq(ac_acl_grant(&acl, SESSION), 1);
		ck_assert_int_eq(ac_acl_grant(&acl, SECOND), 1);
		ck_assert_int_eq(ac_acl_revoke(&acl, order ? &of_session : &of_second), 1);
		ck_assert_int_eq(acl_valid(acl), 0);
		ck_assert(ac_acl_has(acl, is_session, order ? &second : &session));
		ck_assert(!ac_acl_has(acl, is_session, order ? &session : &second));
		ck_assert_int_eq(ac_acl_revoke(&acl, order ? &of_second : &of_session), 1);
		same(acl, &promised);
		acl_free(acl);
	}
}

START_TEST(test_two)
{
	each_shape(two_sessions);
}
END_TEST

static void none_to(mode_t umask, const char *wanted)
{
	acl_t acl = acl_init(0);
	acl_entry_t entry;

	ck_assert_int_eq(ac_acl_grant_default(&acl, umask, OWNER, SESSION), 1);
	ck_assert_int_eq(acl_valid(acl), 0);
	ck_assert_str_eq(text_of(acl), wanted);
	ck_assert_int_eq(ac_acl_revoke_default(&acl, &of_session), 1);
	ck_assert_int_ne(acl_get_entry(acl, ACL_FIRST_ENTRY, &entry), 1);
	acl_free(acl);
}

START_TEST(test_no_default)
{
#define NAMED "user::rwx,user:1000:rwx,user:70001:rwx,"
	none_to(022, NAMED "group::r-x,mask::rwx,other::r-x");
	none_to(002, NAMED "group::rwx,mask::rwx,other::r-x");
	none_to(077, NAMED "group::---,mask::rwx,other::---");
	none_to(027, NAMED "group::r-x,mask::rwx,other::---");
}
END_TEST

/* What was made under such a default ACL, with the mode that was asked for then or later. */
START_TEST(test_made_there)
{
	static const struct {
		unsigned asked; /* of the mask, which is what chmod changes */
		const char *wanted;
	} cases[] = { { 4, "user::rw-,group::r--,other::r--" },
		{ 6, "user::rw-,group::r--,other::r--" }, { 0, "user::rw-,group::---,other::r--" },
		{ 7, "user::rw-,group::r-x,other::r--" },
		{ 5, "user::rw-,group::r-x,other::r--" } };

	for (size_t i = 0; i < AC_COUNT(cases); i++) {
		char text[128];

		snprintf(text, sizeof text, "u::rw-,u:1000:rwx,u:70001:rwx,g::r-x,m::%s,o::r--",
			bits[cases[i].asked]);
		acl_t acl = acl_from_text(text);

		ck_assert_int_eq(ac_acl_revoke(&acl, &of_session), 1);
		ck_assert_str_eq(text_of(acl), cases[i].wanted);
		acl_free(acl);
	}
}
END_TEST

/* What the agent wrote down for others of its kind, users and groups, goes too, where that is asked. */
START_TEST(test_range)
{
	static const struct ac_acl_doomed all = { is_of_range, NULL, OWNER };
	static const struct ac_acl_doomed not_hers = { is_of_range, NULL, (uid_t)-1 };
	static const char text[] =
		"u::rwx,u:1000:rwx,u:70000:r,u:70001:rw,u:70999:x,g::r,g:70005:rwx,"
		"m::rwx,o::-";
	acl_t acl = acl_from_text(text);

	ck_assert(ac_acl_has(acl, is_of_range, NULL));
	ck_assert_int_eq(ac_acl_revoke(&acl, &all), 1);
	ck_assert_str_eq(text_of(acl), "user::rwx,group::r--,other::---");
	acl_free(acl);
	acl = acl_from_text(text);
	ck_assert_int_eq(ac_acl_revoke(&acl, &not_hers), 1);
	ck_assert_str_eq(text_of(acl), "user::rwx,user:1000:rwx,group::r--,mask::rwx,other::---");
	acl_free(acl);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("access");
	TCase *tests = tcase_create("access");

	tcase_add_test(tests, test_access);
	tcase_add_test(tests, test_default);
	tcase_add_test(tests, test_two);
	tcase_add_test(tests, test_no_default);
	tcase_add_test(tests, test_made_there);
	tcase_add_test(tests, test_range);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

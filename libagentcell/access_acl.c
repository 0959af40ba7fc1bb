/* SPDX-License-Identifier: ISC */
/* ACLs as values: entries come and go, nothing is read or written here. */
#include <acl/libacl.h>
#include <errno.h>
#include <stdbool.h>

#include "access.h"

#define EVERYTHING (ACL_READ | ACL_WRITE | ACL_EXECUTE)

static acl_tag_t tag_of(acl_entry_t entry)
{
	acl_tag_t tag = ACL_UNDEFINED_TAG;

	acl_get_tag_type(entry, &tag);
	return tag;
}

static bool is_named(acl_entry_t entry)
{
	return tag_of(entry) == ACL_USER || tag_of(entry) == ACL_GROUP;
}

/* Of a named entry; nobody's when it cannot be told. */
static uint32_t id_of(acl_entry_t entry)
{
	uint32_t *found = acl_get_qualifier(entry); /* uid_t and gid_t are the same */
	uint32_t id = found ? *found : (uint32_t)-1;

	if (found)
		acl_free(found);
	return id;
}

static bool next(acl_t acl, bool is_first, acl_entry_t *entry)
{
	return acl_get_entry(acl, is_first ? ACL_FIRST_ENTRY : ACL_NEXT_ENTRY, entry) == 1;
}

static acl_entry_t find(acl_t acl, acl_tag_t tag)
{
	acl_entry_t entry;

	for (bool found = next(acl, true, &entry); found; found = next(acl, false, &entry))
		if (tag_of(entry) == tag)
			return entry;
	return NULL;
}

static acl_entry_t find_user(acl_t acl, uid_t uid)
{
	acl_entry_t entry;

	for (bool found = next(acl, true, &entry); found; found = next(acl, false, &entry))
		if (tag_of(entry) == ACL_USER && id_of(entry) == uid)
			return entry;
	return NULL;
}

static acl_entry_t find_named(
	acl_t acl, bool (*holds)(const void *context, uint32_t id), const void *context)
{
	acl_entry_t entry;

	for (bool found = next(acl, true, &entry); found; found = next(acl, false, &entry))
		if (is_named(entry) && holds(context, id_of(entry)))
			return entry;
	return NULL;
}

bool ac_acl_has(acl_t acl, bool (*holds)(const void *context, uint32_t id), const void *context)
{
	return find_named(acl, holds, context);
}

static unsigned count_named(acl_t acl)
{
	unsigned count = 0;
	acl_entry_t entry;

	for (bool found = next(acl, true, &entry); found; found = next(acl, false, &entry))
		count += is_named(entry);
	return count;
}

static acl_perm_t permissions(acl_entry_t entry)
{
	static const acl_perm_t each[] = { ACL_READ, ACL_WRITE, ACL_EXECUTE };
	acl_permset_t set;
	acl_perm_t sum = 0;

	if (!entry || acl_get_permset(entry, &set) != 0)
		return 0;
	for (unsigned i = 0; i < 3; i++)
		if (acl_get_perm(set, each[i]) == 1)
			sum |= each[i];
	return sum;
}

static int set_permissions(acl_entry_t entry, acl_perm_t wanted)
{
	acl_permset_t set;

	if (acl_get_permset(entry, &set) != 0 || acl_clear_perms(set) != 0)
		return -errno;
	if (wanted && acl_add_perm(set, wanted) != 0)
		return -errno;
	return acl_set_permset(entry, set) == 0 ? 0 : -errno;
}

static int add(acl_t *acl, acl_tag_t tag, uid_t uid, acl_perm_t wanted)
{
	acl_entry_t entry;

	if (acl_create_entry(acl, &entry) != 0 || acl_set_tag_type(entry, tag) != 0)
		return -errno;
	if (tag == ACL_USER && acl_set_qualifier(entry, &uid) != 0)
		return -errno;
	return set_permissions(entry, wanted);
}

int ac_acl_grant(acl_t *acl, uid_t session_uid)
{
	if (find_user(*acl, session_uid))
		return 0;
	bool has_mask = find(*acl, ACL_MASK);
	int result = add(acl, ACL_USER, session_uid, permissions(find(*acl, ACL_USER_OBJ)));

	if (!result && !has_mask && acl_calc_mask(acl) != 0)
		result = -errno;
	return result ? result : 1;
}

bool ac_acl_lets_write(acl_t acl, uid_t uid)
{
	acl_entry_t entry = find_user(acl, uid), mask = find(acl, ACL_MASK);
	const acl_perm_t needed = ACL_READ | ACL_WRITE;

	return (permissions(entry) & (mask ? permissions(mask) : EVERYTHING) & needed) == needed;
}

/* Without named entries a mask says the same as the group's own bits: what both allow. */
static int drop_mask(acl_t acl)
{
	acl_entry_t mask = find(acl, ACL_MASK), group = find(acl, ACL_GROUP_OBJ);

	if (!mask || !group || count_named(acl))
		return 0;
	int result = set_permissions(group, permissions(group) & permissions(mask));

	if (!result && acl_delete_entry(acl, mask) != 0)
		result = -errno;
	return result;
}

static int drop_user(acl_t acl, uid_t uid)
{
	acl_entry_t entry = find_user(acl, uid);

	return entry && acl_delete_entry(acl, entry) != 0 ? -errno : 0;
}

/* 1 when there was one. */
static int drop_doomed(acl_t acl, const struct ac_acl_doomed *doomed)
{
	acl_entry_t entry;
	int result = 0;

	while ((entry = find_named(acl, doomed->is_doomed, doomed->context))) {
		if (acl_delete_entry(acl, entry) != 0)
			return -errno;
		result = 1;
	}
	return result;
}

int ac_acl_revoke(acl_t *acl, const struct ac_acl_doomed *doomed)
{
	int result = drop_doomed(*acl, doomed);

	if (result <= 0)
		return result;
	/* What was made meanwhile names the user, who owns it now: to an owner it means nothing. */
	result = doomed->owner == (uid_t)-1 ? 0 : drop_user(*acl, doomed->owner);
	if (!result)
		result = drop_mask(*acl);
	return result ? result : 1;
}

static bool is_only_user(acl_t acl, uid_t uid)
{
	return uid != (uid_t)-1 && count_named(acl) == 1 && find_user(acl, uid);
}

static acl_perm_t unmasked(mode_t umask)
{
	acl_perm_t sum = 0;

	sum |= umask & 4 ? 0 : ACL_READ;
	sum |= umask & 2 ? 0 : ACL_WRITE;
	sum |= umask & 1 ? 0 : ACL_EXECUTE;
	return sum;
}

int ac_acl_grant_default(acl_t *acl, mode_t umask, uid_t user_uid, uid_t session_uid)
{
	/* Ours would not be told apart from it afterwards. */
	if (is_only_user(*acl, user_uid))
		return 0;
	if (find(*acl, ACL_USER_OBJ))
		return ac_acl_grant(acl, session_uid);
	int result = add(acl, ACL_USER_OBJ, 0, EVERYTHING);

	if (!result)
		result = add(acl, ACL_USER, user_uid, EVERYTHING);
	if (!result)
		result = add(acl, ACL_USER, session_uid, EVERYTHING);
	if (!result)
		result = add(acl, ACL_GROUP_OBJ, 0, unmasked(umask >> 3));
	if (!result)
		result = add(acl, ACL_MASK, 0, EVERYTHING);
	if (!result)
		result = add(acl, ACL_OTHER, 0, unmasked(umask));
	return result ? result : 1;
}

static int drop_all(acl_t acl)
{
	acl_entry_t entry;

	while (next(acl, true, &entry))
		if (acl_delete_entry(acl, entry) != 0)
			return -errno;
	return 0;
}

int ac_acl_revoke_default(acl_t *acl, const struct ac_acl_doomed *doomed)
{
	int result = drop_doomed(*acl, doomed);

	if (result <= 0)
		return result;
	result = is_only_user(*acl, doomed->owner) ? drop_all(*acl) : drop_mask(*acl);
	return result ? result : 1;
}

/* SPDX-License-Identifier: ISC */
/* Comparing two manifests, directory by directory, with a stack instead of recursion. */
#include "backup_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backup_walk.h"

struct pair {
	uint32_t old, new; /* AC_NONE: the side has no such directory */
};

struct compare {
	const struct ac_manifest *before, *after;
	int (*each)(void *context, const struct ac_difference *difference);
	void *context;
	struct pair *stack;
	size_t depth, room;
	struct ac_link_map forth, back;
};

static int push(struct compare *compare, uint32_t old, uint32_t new)
{
	if (compare->depth == compare->room) {
		size_t room = compare->room ? compare->room * 2 : 64;
		void *grown = reallocarray(compare->stack, room, sizeof compare->stack[0]);

		if (!grown)
			return -ENOMEM;
		compare->stack = grown;
		compare->room = room;
	}
	compare->stack[compare->depth++] = (struct pair){ .old = old, .new = new };
	return 0;
}

static unsigned count_xattrs(const struct ac_entry *entry)
{
	const struct ac_side *side = NULL;
	unsigned count = 0;

	while ((side = ac_entry_side(entry, side)))
		count += side->kind == AC_SIDE_XATTR;
	return count;
}

static bool has_same_xattrs(const struct ac_entry *old, const struct ac_entry *new)
{
	const struct ac_side *side = NULL;

	if (count_xattrs(old) != count_xattrs(new))
		return false;
	while ((side = ac_entry_side(old, side))) {
		if (side->kind != AC_SIDE_XATTR)
			continue;
		const struct ac_side *other = ac_entry_xattr(new, ac_side_bytes(side));

		if (!other || other->length != side->length ||
			memcmp(ac_side_bytes(other), ac_side_bytes(side), side->length) != 0)
			return false;
	}
	return true;
}

static bool has_same_side(
	const struct ac_entry *old, const struct ac_entry *new, enum ac_side_kind kind)
{
	const struct ac_side *a = ac_entry_find(old, kind), *b = ac_entry_find(new, kind);

	if (!a || !b)
		return a == b;
	return a->length == b->length && !memcmp(ac_side_bytes(a), ac_side_bytes(b), a->length);
}

/* Holes are layout, not content, but a restore gives them back; so they count where both know. */
static bool has_same_bytes(
	const struct compare *compare, const struct ac_entry *old, const struct ac_entry *new)
{
	if (old->size != new->size || old->count != new->count ||
		!has_same_side(old, new, AC_SIDE_EXTENTS))
		return false;
	return !old->count ||
	       !memcmp(&compare->before->hashes[old->first], &compare->after->hashes[new->first],
		       old->count * sizeof(struct ac_hash));
}

static unsigned compare_content(
	const struct compare *compare, const struct ac_entry *old, const struct ac_entry *new)
{
	if (ac_entry_is_closed(old) || ac_entry_is_closed(new)) {
		bool is_same = old->inode == new->inode && old->size == new->size &&
			       old->ctime_s == new->ctime_s && old->ctime_ns == new->ctime_ns;

		return is_same ? 0 : AC_CHANGE_CONTENT | AC_CHANGE_UNKNOWN;
	}
	switch (old->type) {
	case AC_ENTRY_REGULAR:
		return has_same_bytes(compare, old, new) ? 0 : AC_CHANGE_CONTENT;
	case AC_ENTRY_SYMLINK:
		return has_same_side(old, new, AC_SIDE_TARGET) ? 0 : AC_CHANGE_CONTENT;
	case AC_ENTRY_CHARACTER:
	case AC_ENTRY_BLOCK:
		return old->first == new->first && old->count == new->count ? 0 : AC_CHANGE_CONTENT;
	default:
		return 0;
	}
}

/* Two names of one file must stay two names of one file, and no others may become so. */
static int compare_links(
	struct compare *compare, const struct ac_difference *difference, unsigned *change)
{
	const struct ac_entry *old = difference->old, *new = difference->new;
	struct ac_file_id found;

	if (old->type != AC_ENTRY_REGULAR || (old->links < 2 && new->links < 2))
		return 0;
	const struct ac_file_id a = {
		.device = compare->before->directories[difference->old_directory].device,
		.inode = old->inode
	};
	const struct ac_file_id b = {
		.device = compare->after->directories[difference->new_directory].device,
		.inode = new->inode
	};

	if (ac_link_map_enter(&compare->forth, &a, &b, &found))
		return -ENOMEM;
	if (memcmp(&found, &b, sizeof b) != 0)
		*change |= AC_CHANGE_LINK;
	if (ac_link_map_enter(&compare->back, &b, &a, &found))
		return -ENOMEM;
	if (memcmp(&found, &a, sizeof a) != 0)
		*change |= AC_CHANGE_LINK;
	return 0;
}

static int compare_entries(struct compare *compare, struct ac_difference *difference)
{
	const struct ac_entry *old = ac_entry_full(compare->before, difference->old);
	const struct ac_entry *new = ac_entry_full(compare->after, difference->new);
	unsigned change = 0;
	bool old_is_open = difference->old->type == AC_ENTRY_DIRECTORY;
	bool new_is_open = difference->new->type == AC_ENTRY_DIRECTORY;

	if ((old->flags | new->flags) & AC_ENTRY_MOUNT)
		return 0; /* what is mounted there now hides it, or hid it then */
	if (old->type != new->type) {
		difference->change = AC_CHANGE_TYPE;
		int result = compare->each(compare->context, difference);

		if (!result && old_is_open)
			result = push(compare, difference->old->first, AC_NONE);
		if (!result && new_is_open)
			result = push(compare, AC_NONE, difference->new->first);
		return result;
	}
	if (old->mode != new->mode)
		change |= AC_CHANGE_MODE;
	if (old->uid != new->uid || old->gid != new->gid)
		change |= AC_CHANGE_OWNER;
	if (old->mtime_s != new->mtime_s || old->mtime_ns != new->mtime_ns)
		change |= AC_CHANGE_MTIME;
	if (!ac_entry_is_closed(old) && !ac_entry_is_closed(new) && !has_same_xattrs(old, new))
		change |= AC_CHANGE_XATTR;
	if (!old_is_open)
		change |= compare_content(compare, old, new);
	int result = compare_links(compare, difference, &change);

	difference->change = change;
	if (!result && change)
		result = compare->each(compare->context, difference);
	if (!result && old_is_open)
		result = push(compare, difference->old->first, difference->new->first);
	return result;
}

static bool is_dot(const struct ac_entry *entry)
{
	return entry->name_length == 1 && ac_entry_name(entry)[0] == '.';
}

/* Every name that before has: in both, or removed. */
static int compare_old(struct compare *compare, const struct pair *pair)
{
	const struct ac_directory *row = &compare->before->directories[pair->old];
	const struct ac_entry *entry = ac_entry_at(compare->before, row->first);
	struct ac_previous other;
	int result = 0;

	ac_previous_init(&other, pair->new == AC_NONE ? NULL : compare->after, pair->new, 0);
	for (uint32_t i = 0; !result && i < row->count; i++, entry = ac_entry_next(entry)) {
		const struct ac_entry *found = ac_previous_find(
			&other, ac_entry_name(entry), entry->name_length);
		struct ac_difference difference = { .before = compare->before,
			.after = compare->after,
			.old = entry,
			.new = found,
			.old_directory = pair->old,
			.new_directory = pair->new };

		if (is_dot(entry))
			continue;
		if (found) {
			result = compare_entries(compare, &difference);
			continue;
		}
		difference.change = AC_CHANGE_REMOVED;
		result = compare->each(compare->context, &difference);
		if (!result && entry->type == AC_ENTRY_DIRECTORY)
			result = push(compare, entry->first, AC_NONE);
	}
	ac_previous_fini(&other);
	return result;
}

/* Every name that only after has. */
static int compare_new(struct compare *compare, const struct pair *pair)
{
	const struct ac_directory *row = &compare->after->directories[pair->new];
	const struct ac_entry *entry = ac_entry_at(compare->after, row->first);
	struct ac_previous other;
	int result = 0;

	ac_previous_init(&other, pair->old == AC_NONE ? NULL : compare->before, pair->old, 0);
	for (uint32_t i = 0; !result && i < row->count; i++, entry = ac_entry_next(entry)) {
		struct ac_difference difference = { .change = AC_CHANGE_ADDED,
			.before = compare->before,
			.after = compare->after,
			.new = entry,
			.old_directory = pair->old,
			.new_directory = pair->new };

		if (is_dot(entry) ||
			ac_previous_find(&other, ac_entry_name(entry), entry->name_length))
			continue;
		result = compare->each(compare->context, &difference);
		if (!result && entry->type == AC_ENTRY_DIRECTORY)
			result = push(compare, AC_NONE, entry->first);
	}
	ac_previous_fini(&other);
	return result;
}

int ac_compare(const struct ac_manifest *before, const struct ac_manifest *after,
	int (*each)(void *context, const struct ac_difference *difference), void *context)
{
	struct compare compare = {
		.before = before, .after = after, .each = each, .context = context
	};
	int result = push(&compare, 0, 0);

	while (!result && compare.depth) {
		const struct pair pair = compare.stack[--compare.depth];

		if (pair.old != AC_NONE)
			result = compare_old(&compare, &pair);
		if (!result && pair.new != AC_NONE)
			result = compare_new(&compare, &pair);
	}
	free(compare.stack);
	ac_link_map_fini(&compare.forth);
	ac_link_map_fini(&compare.back);
	return result;
}

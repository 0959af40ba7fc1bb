/* SPDX-License-Identifier: ISC */
/*
 * Retention.  Who goes is decided from states and heads alone; then the store is collected.  A backup
 * of a live session never goes, nor does the one that the caller protects.
 */
#include "backup_prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup_manifest.h"
#include "lifecycle.h"
#include "util.h"

#define LOCK_WAIT_S 3 /* who waits is a person whose session has ended */

enum fate { FATE_LIVE, FATE_CLEAN, FATE_BAD, FATE_KEPT };

struct candidate {
	char id[AC_BACKUP_ID_SIZE];
	char *roots;
	uint64_t roots_length;
	int64_t started_s;
	enum fate fate;
	bool is_protected, goes;
};

struct candidates {
	struct candidate *list; /* newest first */
	unsigned count;
};

static void free_candidates(struct candidates *candidates)
{
	for (unsigned i = 0; i < candidates->count; i++)
		free(candidates->list[i].roots);
	free(candidates->list);
}

static enum fate classify(const struct ac_store_state *state)
{
	if (state->live)
		return FATE_LIVE;
	if (!state->is_known)
		return FATE_BAD;
	switch (state->cause) {
	case AC_CAUSE_NONE:
		return FATE_KEPT;
	case AC_CAUSE_CLEAN:
	case AC_CAUSE_WALL_CLOCK:
	case AC_CAUSE_REFUSED:
		return FATE_CLEAN;
	default:
		return FATE_BAD;
	}
}

/* A damaged manifest is nobody's candidate: a person should see it. */
static int add_candidate(
	struct candidates *candidates, int store_fd, const char *id, struct ac_err *err)
{
	struct candidate *candidate = &candidates->list[candidates->count];
	struct ac_store_state state;
	struct ac_manifest head;
	int result = ac_store_state_read(store_fd, id, &state, err);

	if (result)
		return result;
	if (ac_manifest_peek(&head, store_fd, id, NULL))
		return 0;
	memcpy(candidate->id, id, strlen(id) + 1);
	candidate->roots = AC_TAKE(head.roots);
	candidate->roots_length = head.roots_length;
	candidate->started_s = head.header.started_s;
	candidate->fate = classify(&state);
	candidate->is_protected = candidate->fate == FATE_LIVE;
	candidates->count++;
	ac_manifest_fini(&head);
	return 0;
}

static int list_candidates(struct candidates *candidates, int store_fd, struct ac_err *err)
{
	ac_autofree struct ac_store_id *ids = NULL;
	unsigned count = 0;
	int result = ac_store_ids(store_fd, &ids, &count, err);

	if (result)
		return result;
	candidates->list = calloc(count + 1u, sizeof candidates->list[0]);
	if (!candidates->list)
		return ac_fail_errno(err, ENOMEM, "prune the backup store");
	for (unsigned i = 0; !result && i < count; i++)
		result = add_candidate(candidates, store_fd, ids[i].text, err);
	return result;
}

static bool has_same_roots(const struct candidate *a, const struct candidate *b)
{
	return a->roots_length == b->roots_length && !memcmp(a->roots, b->roots, a->roots_length);
}

static uint64_t keep_of(const struct ac_prune_limits *limits, enum fate fate)
{
	switch (fate) {
	case FATE_CLEAN:
		return limits->keep_clean;
	case FATE_BAD:
		return limits->keep_escape ? limits->keep_escape : UINT64_MAX;
	case FATE_KEPT: /* the way back from a restore: one at least */
		return limits->keep_clean ? limits->keep_clean : 1;
	case FATE_LIVE:
		break;
	}
	return UINT64_MAX;
}

static void judge(struct candidates *candidates, const struct ac_prune_limits *limits)
{
	const int64_t now = time(NULL);

	for (unsigned i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->list[i];
		uint64_t newer = 0;

		if (limits->protected_id && !strcmp(candidate->id, limits->protected_id))
			candidate->is_protected = true;
		for (unsigned k = 0; k < i; k++)
			newer += candidates->list[k].fate == candidate->fate &&
				 has_same_roots(&candidates->list[k], candidate);
		if (newer >= keep_of(limits, candidate->fate))
			candidate->goes = true;
		if (limits->max_age_s && now - candidate->started_s > (int64_t)limits->max_age_s)
			candidate->goes = true;
		if (candidate->is_protected)
			candidate->goes = false;
	}
}

static int forget(int store_fd, struct candidate *candidate, struct ac_prune_outcome *outcome,
	struct ac_err *err)
{
	int result = ac_store_forget(store_fd, candidate->id, err);

	if (!result)
		outcome->removed++;
	return result;
}

static int store_bytes(int store_fd, uint64_t *bytes, struct ac_err *err)
{
	ac_autofree struct ac_pack_id *packs = NULL;
	ac_autofree struct ac_store_id *ids = NULL;
	unsigned pack_count = 0, id_count = 0;
	char name[AC_STORE_NAME_MAX];
	struct stat st;
	int result = ac_store_packs(store_fd, &packs, &pack_count, err);

	if (!result)
		result = ac_store_ids(store_fd, &ids, &id_count, err);
	*bytes = 0;
	for (unsigned i = 0; !result && i < pack_count; i++) {
		ac_store_pack_name(name, &packs[i]);
		if (!fstatat(store_fd, name, &st, AT_SYMLINK_NOFOLLOW))
			*bytes += (uint64_t)st.st_size;
	}
	for (unsigned i = 0; !result && i < id_count; i++) {
		ac_store_join(name, ids[i].text, AC_STORE_MANIFEST);
		if (!fstatat(store_fd, name, &st, AT_SYMLINK_NOFOLLOW))
			*bytes += (uint64_t)st.st_size;
	}
	return result;
}

/* While the store is too large, the oldest that may go, goes. */
static int fit(int store_fd, struct candidates *candidates, const struct ac_prune_limits *limits,
	struct ac_prune_outcome *outcome, struct ac_err *err)
{
	int result = store_bytes(store_fd, &outcome->bytes, err);

	for (unsigned i = candidates->count;
		!result && i && limits->max_bytes && outcome->bytes > limits->max_bytes; i--) {
		struct candidate *candidate = &candidates->list[i - 1];

		if (candidate->goes || candidate->is_protected)
			continue;
		candidate->goes = true;
		result = forget(store_fd, candidate, outcome, err);
		if (!result)
			result = ac_prune_collect(store_fd, err);
		if (!result)
			result = store_bytes(store_fd, &outcome->bytes, err);
	}
	return result;
}

static int prune_locked(int store_fd, const struct ac_prune_limits *limits,
	struct candidates *candidates, struct ac_prune_outcome *outcome, struct ac_err *err)
{
	int result = ac_prune_sweep(store_fd, err);

	if (!result)
		result = list_candidates(candidates, store_fd, err);
	if (result)
		return result;
	judge(candidates, limits);
	for (unsigned i = 0; !result && i < candidates->count; i++)
		if (candidates->list[i].goes)
			result = forget(store_fd, &candidates->list[i], outcome, err);
	if (!result && outcome->removed)
		result = ac_prune_collect(store_fd, err);
	if (!result)
		result = fit(store_fd, candidates, limits, outcome, err);
	outcome->kept = candidates->count - outcome->removed;
	return result;
}

int ac_prune(int store_fd, const struct ac_prune_limits *limits, struct ac_prune_outcome *outcome,
	struct ac_err *err)
{
	struct ac_prune_outcome own = { 0, 0, 0 };
	struct candidates candidates = { NULL, 0 };
	ac_autoclose int lock = ac_store_lock(store_fd, true, LOCK_WAIT_S, err);

	if (lock == -EWOULDBLOCK)
		return 0; /* the next session's end does it */
	if (lock < 0)
		return lock;
	int result = prune_locked(store_fd, limits, &candidates, &own, err);

	free_candidates(&candidates);
	if (!result && outcome)
		*outcome = own;
	return result;
}

int ac_prune_one(int store_fd, const char *id, struct ac_err *err)
{
	struct ac_store_state state;
	struct ac_manifest head;
	ac_autoclose int lock = ac_store_lock(store_fd, true, LOCK_WAIT_S, err);
	int result = lock < 0 ? lock : ac_store_state_read(store_fd, id, &state, err);

	if (result)
		return result;
	if (state.live)
		return ac_fail(err, EBUSY,
			"backup %s belongs to session %s, which has not ended; it stays", id,
			state.session_id);
	result = ac_manifest_peek(&head, store_fd, id, err);
	if (result == -ENOENT || result == -EINVAL)
		return result;
	if (!result)
		ac_manifest_fini(&head);
	result = ac_store_forget(store_fd, id, err);
	return result ? result : ac_prune_collect(store_fd, err);
}

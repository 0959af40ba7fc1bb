/* SPDX-License-Identifier: ISC */
/*
 * The judge: (policy, event) -> silent | denied | escape.  Pure; the table of architecture.md 10.
 *
 * It is asked again after each record of an event and answers WAIT until it knows; with `complete`
 * it always answers.  Names in audit records are what was typed.  Where a refused name leads through
 * a place that the cell can fill with symlinks, the answer is RESOLVE: the caller freezes the cell,
 * finds out what the name leads to, and asks ac_judge_path() about that.  Names change; the inode in
 * the record is what was refused, and comes with the answer.
 */
#ifndef AC_JUDGE_H
#define AC_JUDGE_H

#include "decide.h"
#include "event.h"
#include "firewall.h"
#include "policy.h"
#include "silent.h"

enum ac_verdict_kind {
	AC_VERDICT_WAIT, /* a later record of the event decides */
	AC_VERDICT_SILENT,
	AC_VERDICT_DENIED, /* on record, the session goes on */
	AC_VERDICT_RESOLVE, /* depends on what the name leads to */
	AC_VERDICT_ESCAPE
};

enum ac_class {
	AC_CLASS_NORMAL,
	AC_CLASS_SECRET, /* bait, another home, /root or a secret of /etc */
	AC_CLASS_OUTSIDE_DONE, /* something outside the policy succeeded */
	AC_CLASS_PRIVILEGE,
	AC_CLASS_NETWORK, /* connection or packet to anything undeclared */
	AC_CLASS_TOLERATED, /* ... that the harness profile lists */
	AC_CLASS_LOOKUP, /* ... to ask for a name */
	AC_CLASS_BASELINE_WRITE, /* refused write to the read-only system */
	AC_CLASS_OUTSIDE_REFUSED, /* refused, outside, not silent */
	AC_CLASS_FLOOD, /* too many events */
	AC_CLASS_COUNT
};

struct ac_judge { /* one session's; immutable while it is watched, but for ac_watch_declare() */
	const struct ac_session_policy *session;
	const struct ac_silent *silent;
	const struct ac_addresses *declared; /* may be NULL: then packets alone tell */
	const struct ac_names *tolerated; /* of the harness profile; may be NULL */
};

struct ac_verdict {
	enum ac_verdict_kind kind;
	enum ac_class class;
	enum ac_operation operation;
	const char *reason; /* static, or the judge's silent list */
	char target[AC_PATH_MAX]; /* raw bytes; what is judged, made absolute where possible */
	/* RESOLVE only: */
	bool relative; /* target starts at descriptor `directory` of the process */
	int directory; /* AT_FDCWD: at its working directory */
	int other; /* or at this one: which of the two the records do not say */
	bool follow; /* the last component, too */
	struct ac_object object; /* what the kernel came to, if it came that far */
	bool barred; /* it did not: a directory on the way refused to be searched */
	bool lost; /* target is only the directory: what was named is a symlink in it (judge_name.c) */
	char also[AC_PATH_MAX]; /* a second name, as open as the target; "": none */
};

void ac_judge_event(const struct ac_judge *judge, const struct ac_event *event, bool complete,
	struct ac_verdict *verdict);

/* One path, already led to its end: canonical, as the cell sees it. */
void ac_judge_path(const struct ac_judge *judge, enum ac_operation operation, bool success,
	const char *path, struct ac_verdict *verdict);

enum ac_verdict_kind ac_class_verdict(enum ac_class class, enum ac_risk risk);
const char *ac_class_name(enum ac_class class); /* "secret", ... NULL out of range */
const char *ac_verdict_name(enum ac_verdict_kind kind);

#endif

#!/bin/sh
# SPDX-License-Identifier: ISC
# Breaks the driver, the table, the protocol and a proved function on purpose, one at a time, and
# shows what catches it, with the counterexample in words.  Fails when something is not caught.
set -eu
. "$(dirname "$0")/common.sh"
need spin "$CC"
flags="-std=gnu11 -D_GNU_SOURCE -O2 -Ilibagentcell -Itests/unit"
objects="$B/libagentcell/lifecycle.o $B/libagentcell/drive.o"
bad=0

variant() {
	printf '\n=== %s\n' "$1"
}

caught() {
	echo "--- caught by $1"
}

missed() {
	echo "spec-broken: BROKEN: nothing caught it"
	bad=1
}

# edit <file> <sed program>: the broken copy; refuses an edit that no longer applies.
edit() {
	broken=$work/broken-$(basename "$1")
	sed "$2" "$1" >"$broken"
	if cmp -s "$1" "$broken"; then
		echo "spec-broken: the edit of $1 does not apply any more"
		exit 1
	fi
}

# explorer <lifecycle.c> <drive.c>
explorer() {
	# shellcheck disable=SC2086
	$CC $flags -w -o "$work/explore" tests/unit/explore.c tests/unit/explorer.c \
		tests/unit/fake_world.c tests/unit/claims.c "$1" "$2"
	if "$work/explore" 1 1 2 1 4 0 >"$work/explore.log"; then missed; return; fi
	caught "the explorer on the driver"
	awk '/^not ok/ && told++ { exit } told' "$work/explore.log"
}

steps() {
	# shellcheck disable=SC2086
	$CC $flags -w -o "$work/exhaust" tests/unit/exhaust.c tests/unit/claims.c "$1" \
		libagentcell/drive.c
	if "$work/exhaust" >"$work/exhaust.log"; then missed; return; fi
	caught "the claims about single steps"
	cat "$work/exhaust.log"
}

# model <spin -D> <safety|ltl name>
model() {
	if [ "$2" = safety ]; then
		verifier broken "-DFAULTS=2 -DCRASHES=1 $1" "-DSAFETY -DNOCLAIM -DBFS" "$objects"
		if verify broken -w18; then missed; return; fi
		caught "spin (safety)"
		tell broken
	else
		verifier broken "-DFAULTS=1 -DCRASHES=1 $1" "-DNFAIR=3" "$objects"
		if verify broken -a -f -N "$2" -m20000 -w18; then missed; return; fi
		caught "spin ($2)"
		tell broken -N "$2"
	fi
}

variant "driver: a refused journal write is ignored"
edit libagentcell/drive.c 's/if (!written && .*/if (0) {/'
explorer libagentcell/lifecycle.c "$broken"

variant "driver: the kill waits for the journal, too"
edit libagentcell/drive.c 's/ && next.state != AC_STATE_TERMINATE//'
explorer libagentcell/lifecycle.c "$broken"

variant "driver: the cause of a refused record is forgotten"
edit libagentcell/drive.c 's/life->cause = next.cause;/;/'
explorer libagentcell/lifecycle.c "$broken"

variant "table: an exit is believed before the queue is drained"
edit libagentcell/lifecycle.c '/ROW(TERMINATE/s/DRAIN,    /CLEANUP,  /'
explorer "$broken" libagentcell/drive.c
steps "$broken"

variant "table: a drain that fails once too often is given up"
edit libagentcell/lifecycle.c '/ROW(DRAIN/s/CLEANUP,   DRAIN, /CLEANUP,   CLEANUP,/'
explorer "$broken" libagentcell/drive.c
steps "$broken"

variant "protocol: sudo opens the barrier, not the listener"
model -DBROKEN_SUDO_RELEASES safety

variant "protocol: 'no process left' is believed while sudo's process may still fork"
model -DBROKEN_LATE_FORK safety

variant "protocol: nobody starts the listener again"
model -DBROKEN_NO_RESTART orphan_ends

if command -v frama-c >/dev/null; then
	variant "path: /srv/app covers /srv/apple"
	edit libagentcell/path.c "s/return path\[i\] == '.0' ||.*/return true;/"
	WHY3CONFIG=$work/why3.conf
	export WHY3CONFIG
	why3 config detect >"$work/why3.log" 2>&1
	frama-c -wp -wp-rte -wp-prover z3,cvc4 -wp-timeout 10 -wp-fct ac_path_covers \
		-cpp-extra-args="-Ilibagentcell -D_GNU_SOURCE" "$broken" >"$work/broken.log" 2>&1
	if grep -q 'Goal typed_ac_path_covers_ensures.* : \(Unknown\|Timeout\|Failed\)\|\[Failed\]' \
		"$work/broken.log"; then
		caught "the proof"
		grep -E 'Failed|Proved goals' "$work/broken.log"
	else
		missed
	fi
else
	echo "SKIP: frama-c is not installed: the broken path was not tried"
	[ "${CI:-}" != true ] || bad=1
fi
exit $bad

#!/bin/sh
# SPDX-License-Identifier: ISC
# Proofs with Frama-C's WP: the functions below keep their contracts (path.h, decide.h) for all
# inputs.  The number of goals is compared with spec/proved, so that a contract that loses a clause
# or a function that is no longer looked at is seen; smoke tests look for contradictions in what
# is assumed, which would make any proof worthless.
set -eu
. "$(dirname "$0")/common.sh"
need frama-c why3 z3 cvc4
WHY3CONFIG=$work/why3.conf
export WHY3CONFIG
why3 config detect >"$work/why3.log" 2>&1
bad=0

# prove <file> <functions>
prove() {
	log=$work/prove-$(basename "$1" .c).log
	frama-c -wp -wp-rte -wp-prover z3,cvc4 -wp-timeout 60 -wp-par 2 -wp-fct "$2" \
		-wp-smoke-tests -wp-smoke-timeout 1 \
		-cpp-extra-args="-Ilibagentcell -D_GNU_SOURCE" "$1" >"$log" 2>&1 || {
		echo "not ok - prove: $1: frama-c failed"
		tail -5 "$log"
		bad=1
		return
	}
	goals=$(sed -n 's/^\[wp\] Proved goals: *//p' "$log")
	smokes=$(grep -c '^\[wp\] \[Passed\] Smoke-test' "$log" || true)
	found="$1: $goals goals, $smokes of them smoke tests"
	if grep -qxF "$found" spec/proved; then
		echo "ok - prove: $found"
	else
		echo "not ok - prove: $found; spec/proved says $(grep "^$1:" spec/proved || echo nothing)"
		grep -E '\[(Failed|Unknown|Timeout|Doomed)\]|Missing|Doomed' "$log" || true
		bad=1
	fi
}

prove libagentcell/path.c is_special,ac_path_is_canonical,ac_path_covers
prove libagentcell/decide.c greater,covering,longest,ac_policy_decide
exit $bad

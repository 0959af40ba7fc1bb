# shellcheck shell=sh
# SPDX-License-Identifier: ISC
# What run.sh, mutants.sh and broken.sh share.  Sourced; the caller has set -eu.

cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
CC=${CC:-cc}
case $B in /*) ;; *) B=$PWD/$B ;; esac
work=$B/spec
mkdir -p "$work"

# A missing tool is a visible skip on a developer's machine, and a failure where CI=true.
need() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null && continue
		echo "1..0 # SKIP $tool is not installed (make deps-full): ${0##*/} was not run"
		if [ "${CI:-}" = true ]; then exit 1; else exit 0; fi
	done
}

# verifier <name> <spin -D...> <cc flags> <objects>: builds $work/<name>/pan.
verifier() {
	rm -rf "${work:?}/$1"
	mkdir -p "$work/$1"
	(
		root=$PWD
		cd "$work/$1" || exit 1
		cp "$root"/spec/*.pml .
		# shellcheck disable=SC2086
		spin -a $2 session.pml >spin.log || { cat spin.log; exit 1; }
		# The generated C is not ours: its warnings are switched off.
		# shellcheck disable=SC2086
		$CC -w -O2 -DVECTORSZ=512 $3 -I"$root/libagentcell" -o pan pan.c $4
	)
}

# verify <name> <pan arguments>: runs it; fails on an error or an incomplete search.
verify() {
	name=$1
	shift
	(
		cd "$work/$name" || exit 1
		rm -f session.pml.trail
		./pan "$@" >pan.log 2>&1 || true
		grep -q 'errors: 0$' pan.log || exit 1
		! grep -Eq 'not completed|too small|out of memory|aborted' pan.log
	)
}

# figure <name> <pattern>: the number that pan printed before the pattern.
figure() {
	sed -n "s/^ *\([0-9.e+]*\) $2.*/\1/p" "$work/$1/pan.log" | head -1
}

# tell <name> <pan arguments>: the counterexample in words.
tell() {
	name=$1
	shift
	(
		cd "$work/$name" || exit 1
		if [ ! -f session.pml.trail ]; then
			tail -5 pan.log
			exit
		fi
		./pan -r "$@" >trail.log 2>&1 || true
		grep -E '^  (session [0-9]|the listener|BROKEN)|CYCLE' trail.log || true
		sed -n '/assertion violated/d; s/^pan:[0-9]*: \(.*\) (at depth.*/  BROKEN: \1/p' pan.log | head -1
	)
}

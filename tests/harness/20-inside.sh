#!/bin/sh
# SPDX-License-Identifier: ISC
# (a) Each harness does honest work in the cell: exit 0, the file is there, the session ends clean, and
# nothing was denied.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"

work() { # harness
	project=/home/dev/$1-project log=/run/$1.log
	make_project dev "$project"
	mock_start "$tree/tests/harness/steps/work.json" "$project" "$log" || {
		tap_fail "$1: mock" 'it does not start'
		return
	}
	started=$(milliseconds)
	cell_run "$1" "$project"
	status=$?
	ended=$(milliseconds)
	mock_stop
	equal "$1: exit status" "$status" 0
	check "$1: last words" grep -q ALL-DONE "/run/$1.out"
	equal "$1: file written" "$(cat "$project/hello.txt")" 'hello from the agent'
	equal "$1: the user's" "$(stat -c %U "$project/hello.txt")" dev
	check "$1: git status" sh -c 'echo "$1" | grep -q "hello.txt"' sh "$(mock_result "$log" 'git status')"
	check "$1: test suite ran" sh -c 'echo "$1" | grep -q "pass 1"' sh "$(mock_result "$log" 'test suite')"
	check "$1: read" sh -c 'echo "$1" | grep -q "hello from"' sh "$(mock_result "$log" 'read a file')"
	check "$1: search" sh -c 'echo "$1" | grep -q "src/answer.js"' sh "$(mock_result "$log" search)"
	check "$1: ended clean" sh -c 'echo "$1" | grep -q "\"clean\""' sh "$(cell_records end)"
	equal "$1: nothing denied that matters" "$(cell_denials)" ''
	nothing_left "$1"
	echo "# $1: $((ended - started)) ms"
	[ -z "${VERBOSE-}" ] || sed 's/^/# /' "/run/$1.out" "/run/$1.err" "$log"
	[ "$status" = 0 ] || { tail -20 "/run/$1.err"; cell_records | tail -5; tail /run/listener.log; } | sed 's/^/# /'
}

cell_setup || {
	skip 'harnesses inside' 'needs tests/harness/00-packages.sh to have run'
	finish
}
[ $# != 0 ] || set -- claude codex opencode
for harness; do
	work "$harness"
done


finish

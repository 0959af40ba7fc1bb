#!/bin/sh
# SPDX-License-Identifier: ISC
# The control: each harness outside any cell, as a plain user, does the scripted work.  What fails
# here is the mock's or the release's fault, not the cell's.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
SANDBOX_NET=1
# shellcheck source=tests/lib/sandbox.sh
. "$(dirname "$0")/../lib/sandbox.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/quiet.sh
. "$tree/tests/harness/quiet.sh"

run_one() { # harness
	home=/home/alice-$1 project=/home/alice/$1-project log=/tmp/$1.log
	install -d -o alice -g alice -m 700 "$home"
	make_project alice "$project"
	mock_start "$tree/tests/harness/steps/work.json" "$project" "$log" || {
		tap_fail "$1: mock" "it does not start"
		return
	}
	started=$(milliseconds)
	quiet_run "$1" "$home" "$project" >"/tmp/$1.out" 2>&1 </dev/null
	status=$?
	ended=$(milliseconds)
	equal "$1: exit status" "$status" 0
	check "$1: last words" grep -q ALL-DONE "/tmp/$1.out"
	equal "$1: file written" "$(cat "$project/hello.txt")" "hello from the agent"
	check "$1: test suite ran" sh -c 'echo "$1" | grep -q "pass 1"' sh "$(mock_result "$log" 'test suite')"
	check "$1: search" sh -c 'echo "$1" | grep -q "src/answer.js"' sh "$(mock_result "$log" search)"
	echo "# $1: $((ended - started)) ms, first request after $(($(first_request "$log") - started)) ms"
	[ -z "${VERBOSE-}" ] || cat "/tmp/$1.out" "$log"
	mock_stop
}

first_request() { # log
	sed -n 's/^{"ms":\([0-9]*\),"api".*/\1/p' "$1" | head -1
}

harness_install || {
	skip 'harnesses outside' 'needs tests/harness/00-packages.sh to have run'
	finish
}
sandbox_user alice
[ $# != 0 ] || set -- claude codex opencode
for harness; do
	run_one "$harness"
done
finish

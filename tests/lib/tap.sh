# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# Test lines in TAP's form: ok/not ok, and `# SKIP`.  Source it; end the script with `finish`.
#
#     check 'name' command...       the command must succeed; its output is shown when it fails
#     refute 'name' command...      it must fail
#     equal 'name' got wanted       two strings
#     wait_for seconds command...   until it succeeds; says nothing
#     skip 'name' 'reason'          "needs <what>": an error where CI=true (tests/run)

tap_count=0
tap_failed=0

tap_pass() { # name
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

tap_fail() { # name [text]
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	[ -z "${2-}" ] || printf '%s\n' "$2" | sed 's/^/#   /'
}

check() {
	tap_name=$1
	shift
	if tap_output=$("$@" 2>&1); then
		tap_pass "$tap_name"
	else
		tap_fail "$tap_name" "exit status $? of: $*
$tap_output"
	fi
}

refute() {
	tap_name=$1
	shift
	if tap_output=$("$@" 2>&1); then
		tap_fail "$tap_name" "unexpected success of: $*
$tap_output"
	else
		tap_pass "$tap_name"
	fi
}

equal() {
	if [ "$2" = "$3" ]; then
		tap_pass "$1"
	else
		tap_fail "$1" "got:    $2
wanted: $3"
	fi
}

wait_for() { # seconds command...: until it succeeds
	wait_until=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_until" ] || return 1
		sleep 0.05
	done
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

finish() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
	exit
}

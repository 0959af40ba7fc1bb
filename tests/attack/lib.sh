# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# Attacks from inside a session.  Source it instead of session.sh.  Each attack has a control: the same
# act by the user outside any cell, which must succeed, or the test would prove nothing.
. "$(dirname "$0")/../lib/session.sh"

home=/home/dev
project=$home/project
role=agentcell-worker

# In dev's project, as dev, outside any cell.
outside() { # script
	as dev sh -c "$1"
}

# A session; what it said is in /run/out, what sudo said in /run/err, its records alone in the log.
inside() { # script, settings...
	inside_script=$1
	shift
	: >"$json_log"
	agent dev "$@" sh -c "$inside_script" >/run/out 2>/run/err
	status=$?
}

control() { # name script
	check "control: $1, outside" outside "$2"
}

# escapes NAME TARGET SCRIPT: killed while the script would have gone on, TARGET (a part of it) on
# record, and not a word of a secret came out.
escapes() {
	inside "$3; sleep 3; echo went-on"
	if [ "$status" != 137 ]; then
		tap_fail "$1: killed" "exit status $status
$(cat /run/out /run/err "$json_log")"
	elif grep -q 'secret\|went-on' /run/out; then
		tap_fail "$1: killed" "but: $(cat /run/out)"
	elif ! log_has event=escape "target=$2"; then
		tap_fail "$1: killed" "no escape with target $2: $(grep escape "$json_log")"
	elif ! log_has event=end status=terminated cause=escape; then
		tap_fail "$1: killed" "not recorded as the end: $(tail -n 2 "$json_log")"
	else
		tap_pass "$1: killed and on record"
	fi
}

# refused NAME TARGET SCRIPT: the script, which tries, ends well and says "good" when nothing came of
# it; the session goes on to its own end; TARGET is on record as denied ("" where nothing is: the
# thing does not exist in the view, or the kernel keeps no record).
refused() {
	inside "$3"
	if [ "$status" != 0 ] || [ "$(tail -n 1 /run/out)" != good ]; then
		tap_fail "$1: refused" "exit status $status
$(cat /run/out /run/err)"
	elif grep -q secret /run/out; then
		tap_fail "$1: refused" "but: $(cat /run/out)"
	elif [ -n "$2" ] && ! log_has event=denied "target=$2"; then
		tap_fail "$1: refused" "no record with target $2: $(cat "$json_log")"
	elif ! log_has event=end status=ended cause=clean; then
		tap_fail "$1: refused" "no clean end: $(tail -n 2 "$json_log")"
	else
		tap_pass "$1: refused${2:+ and on record}"
	fi
}

# vain NAME TARGET SCRIPT: for acts whose process may be gone before anybody can tell where its name led.
# Not a word of a secret came out, and the act is on record: as an escape, or as refused.
vain() {
	inside "$3"
	if grep -q secret /run/out; then
		tap_fail "$1: in vain" "but: $(cat /run/out)"
	elif ! log_has event=escape "target=$2" && ! log_has event=denied "target=$2"; then
		tap_fail "$1: in vain" "no record with target $2: $(cat "$json_log")"
	else
		tap_pass "$1: in vain, and on record"
	fi
}

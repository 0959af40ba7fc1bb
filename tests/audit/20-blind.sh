#!/bin/sh
# SPDX-License-Identifier: ISC
# Every way to blind the listener: the cell stands still at once, and goes on only when everything is
# seen again; else it dies.  What runs unwatched is counted by the ticks that a session writes.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

ticker='i=0; while :; do i=$((i + 1)); echo $i >>tick; sleep 0.1; done'
status=/run/status

start() { # [option...]: a session that ticks
	rm -f tick /run/state "$status"
	{
		"$session" -p /home/dev/project -b /home/dev/.ssh -s /run/state "$@" -- sh -c "$ticker" \
			>/run/said 2>&1 8>&-
		echo $? >"$status"
	} &
	runner=$!
	wait_for 15 test -s tick || {
		echo "Bail out! a session does not start: $(cat /run/said)"
		sed 's/^/# /' /run/listener.log
		exit 1
	}
	read -r session_id sudo_pid _ </run/state
}

ticks() {
	tail -n 1 tick
}

# How far it runs on within a second: 0 when it stands still.
goes_on() {
	before=$(ticks)
	sleep 1
	test "$(ticks)" -gt "$before"
}

rules_are_there() {
	auditctl -l | grep -q agentcell-denied
}

auditing_is_on() {
	test "$(sandbox_audit_status enabled)" = 1
}

none_left() {
	test "$(left)" = 0
}

stands_still() {
	! goes_on
}

ends() { # cause
	wait_for 30 test -s "$status"
	equal "it ends: $1" "$(cat "$status" 2>/dev/null)" "$2"
	wait "$runner"
	wait_for 15 nothing_left
	check 'nothing is left of it' nothing_left
}

stop_session() {
	kill -9 "$sudo_pid"
	wait_for 30 test -s "$status"
	wait "$runner"
	wait_for 15 nothing_left
}

listener_start

start
check 'a session ticks' goes_on
auditctl -D >/dev/null
wait_for 10 rules_are_there
check 'auditctl -D: the rules are back' rules_are_there
check 'and the session goes on' wait_for 10 goes_on
# Once for the listener and once for the session; again when it was noticed in between two removals.
check 'the loss is on record' test "$(logged lost 'audit rules were removed')" -ge 2
auditctl -e 0 >/dev/null
wait_for 10 auditing_is_on
check 'auditctl -e 0: auditing is on again' auditing_is_on
check 'and the session goes on' wait_for 10 goes_on
auditctl -r 10 >/dev/null
wait_for 10 stands_still
check 'auditctl -r: the cell stands still' stands_still
auditctl -r 0 >/dev/null
wait_for 6 goes_on
if test -s "$status"; then
	tap_pass 'without the rate limit it goes on, or it has ended'
else
	check 'without the rate limit it goes on, or it has ended' goes_on
	stop_session
fi
wait "$runner"
sees_again

start
auditctl -r 10 >/dev/null
ends 'a rate limit that stays' "$lost"
auditctl -r 0 >/dev/null
sees_again

start
lost_before=$(logged end '"cause":"lost"')
kill -9 "$sudo_pid"
ends 'sudo is killed' 137
equal 'it is on record as lost' "$(logged end '"cause":"lost"')" "$((lost_before + 1))"

start
kill -STOP "$sudo_pid"
wait_for 10 stands_still
check 'sudo is stopped: so is the cell' stands_still
kill -CONT "$sudo_pid"
wait_for 10 goes_on
check 'sudo goes on: so does the cell' goes_on
stop_session

start
kill -STOP "$listener"
wait_for 20 none_left
equal 'the listener is stopped: the warden kills' "$(left)" 0
kill -CONT "$listener"
ends 'the listener stood still' "$lost"

start
kill -9 "$listener"
wait_for 20 none_left
equal 'the listener is killed: the warden kills' "$(left)" 0
wait_for 20 test -s "$status"
equal 'and sudo is told' "$(cat "$status")" 98
wait "$runner"
check 'its journal is still there' test -d "/run/agentcell/sessions/$session_id"
auditctl -D >/dev/null
listener_start
wait_for 15 nothing_left
check 'the next listener ends what was left' nothing_left

start
warden=$(pgrep -P "$listener")
kill -9 "$warden"
ends 'the warden is killed' "$lost"
wait "$listener"
equal 'and the listener with it' "$?" 0
listener_start

start
listener_stop
ends 'the listener is stopped in order' "$lost"
# That was off: whatever it was in the beginning, above it was switched off by somebody else.
equal 'auditing is as it was found' "$(sandbox_audit_status enabled)" 0
equal 'no rule of ours is left' "$(auditctl -l | grep -c agentcell)" 0
listener_start

mount -t tmpfs -o size=8k,mode=755 tmpfs /var/log/agentcell
dd if=/dev/zero of=/var/log/agentcell/fill bs=4k count=2 2>/dev/null
run -- sh -c 'ls /srv; sleep 10'
equal 'a log that cannot be written ends the session' "$status" "$lost"
umount /var/log/agentcell
status=/run/status

listener_stop
finish

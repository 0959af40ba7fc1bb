#!/bin/sh
# SPDX-License-Identifier: ISC
# One session after the other: clean, wall clock, escape, and what must be on record of each.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start

run -- sh -c 'cat text; ls /usr >/dev/null'
equal 'a clean session ends clean' "$status" "$clean"
equal 'it could read its project' "$said" text
equal 'its end is on record' "$(logged end '"cause":"clean"')" 1
check 'nothing is left of it' nothing_left

run -w 2 -- sh -c 'sleep 20'
equal 'the wall clock ends a session' "$status" "$wall_clock"
check 'nothing is left of it' nothing_left

run -- sh -c 'cat /home/dev/.ssh/id_ed25519; sleep 1; echo survived >survived'
equal 'a look at bait is an escape' "$status" "$escape"
check 'it did not survive' test ! -e survived
check 'the report names what was tried' expr "$said" : '.*read /home/dev/.ssh/id_ed25519'
check 'the report names the program' expr "$said" : '.*(cat), /usr/bin/cat, in /home/dev/project'
check 'the report names the way back' expr "$said" : '.*agentcell restore 20261130T000000Z-'
equal 'the escape is in the log' "$(logged escape '"target":"/home/dev/.ssh/id_ed25519"')" 1
equal 'the kill is in the log' "$(logged kill)" 1
check 'nothing is left of it' nothing_left

run -- sh -c 'sudo -n true; sleep 5'
equal 'sudo is an escape' "$status" "$escape"
run -- sh -c 'cd /tmp; cp /bin/true sudo; ./sudo && echo fine'
equal 'a program of that name is not' "$status" "$clean"

run -- sh -c 'ls /srv; cat /etc/hostname >/dev/null; true'
equal 'a look outside is refused, and the session goes on' "$status" "$clean"
equal 'the refusal is on record' "$(logged denied '"target":"/srv"')" 1
run -r high -- sh -c 'ls /srv; sleep 5'
equal 'with risk high it is an escape' "$status" "$escape"

setpriv --reuid 71500 --regid 71500 --clear-groups sleep 60 8>&- &
stray=$!
wait "$stray" 2>/dev/null
equal 'a process of the range without a session is killed' "$?" 137

# What the machine went down in the middle of: the log has its start, and /run knows nothing.
listener_stop
echo '{"time":"2001-02-03T04:05:06.789Z","event":"start","session_id":"00000000c0de","user":"dev"}' >>"$json_log"
for turn in first second; do
	listener_start
	equal "a session of another boot gets its end, once ($turn start)" \
		"$(logged end '"session_id":"00000000c0de","status":"terminated","cause":"lost"')" 1
	listener_stop
done
equal 'auditing is as it was found' "$(sandbox_audit_status enabled)" "$audit_was"
equal 'no rule of ours is left' "$(auditctl -l | grep -c agentcell)" 0
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# The stream's buffer overruns while nobody reads: what was lost is noticed, every cell stands still
# until the stream is open again, and what comes then is seen.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start
# A minute of life is enough for the slowest machine; the session ends itself when it is told to.
"$session" -p /home/dev/project -b /home/dev/.ssh -w 90 -- sh -c \
	'i=0; while [ ! -e stop ]; do i=$((i + 1)); echo $i >>tick; sleep 0.1; done; cat /home/dev/.ssh/id_ed25519; sleep 20' \
	>/run/said 2>&1 8>&- &
runner=$!
wait_for 20 test -s tick

# Stopped for a moment only: after three seconds the warden would kill.
for try in 1 2 3 4 5; do
	squeezed=$(/usr/bin/python3 "$tree/tests/audit/squeeze.py" "$listener" 2>&1) || break
	kill -STOP "$listener"
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		auditctl -m "overrun $try $i" >/dev/null
	done
	kill -CONT "$listener"
	wait_for 5 sh -c "grep '\"event\":\"lost\"' $json_log | grep -q overran" && break
done
equal 'the buffer is as small as it gets' "$squeezed" ''
check 'the overrun is on record' test "$(logged lost 'overran its buffer')" -ge 1
check 'every cell was frozen' test "$(logged lost 'every cell is frozen')" -ge 1
check 'and the stream opened anew' wait_for 10 sh -c "grep '\"event\":\"lost\"' $json_log | grep -q 'watching again'"
ticks=$(tail -n 1 tick)
more() {
	test "$(tail -n 1 tick)" -gt "$ticks"
}
check 'then the session goes on' wait_for 10 more
: >stop
wait "$runner"
equal 'and is watched' "$?" "$escape"
check 'nothing is left' nothing_left
listener_stop
finish

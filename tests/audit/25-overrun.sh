#!/bin/sh
# SPDX-License-Identifier: ISC
# The stream's buffer overruns while nobody reads, or its socket is cut off: what was lost is noticed,
# every cell stands still until the stream is open again, and what comes then is seen.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start
# A minute of life is enough for the slowest machine; the session ends itself when it is told to.
"$session" -p /home/dev/project -b /home/dev/.ssh -w 90 -- sh -c \
	'i=0; while [ ! -e stop ]; do i=$((i + 1)); echo $i >>tick; sleep 0.1; done; cat /home/dev/.ssh/id_ed25519; sleep 20' \
	>/run/said 2>&1 8>&- &
runner=$!
wait_for 20 test -s tick

for _ in 1 2 3 4 5; do
	overrun=$(/usr/bin/python3 "$tree/tests/audit/stream.py" "$listener" overrun 2>&1) || break
	wait_for 5 sh -c "grep '\"event\":\"lost\"' $json_log | grep -q overran" && break
done
equal 'the buffer is as small as it gets, and more comes' "$overrun" ''
check 'the overrun is on record' test "$(logged lost 'overran its buffer')" -ge 1
check 'every cell was frozen' test "$(logged lost 'every cell is frozen')" -ge 1
check 'and the stream opened anew' wait_for 10 sh -c "grep '\"event\":\"lost\"' $json_log | grep -q 'watching again'"
ticks=$(tail -n 1 tick)
more() {
	test "$(tail -n 1 tick)" -gt "$ticks"
}
check 'then the session goes on' wait_for 10 more

# Still open and still silent: a socket that left its group, or that a filter stands before.
for act in leave filter; do
	cut=$(logged lost 'cut off.*every cell is frozen') again=$(logged lost 'cut off.*watching again')
	equal "$act: done" "$(/usr/bin/python3 "$tree/tests/audit/stream.py" "$listener" $act 2>&1)" ''
	counted() { # words count
		test "$(logged lost "cut off.*$1")" -gt "$2"
	}
	check "$act: every cell is frozen" wait_for 10 counted 'every cell is frozen' "$cut"
	check "$act: the stream is opened anew" wait_for 10 counted 'watching again' "$again"
	ticks=$(tail -n 1 tick)
	check "$act: the session goes on" wait_for 10 more
done
: >stop
wait "$runner"
equal 'and is watched' "$?" "$escape"
check 'nothing is left' nothing_left
listener_stop
finish

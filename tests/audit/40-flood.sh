#!/bin/sh
# SPDX-License-Identifier: ISC
# A session that floods ends; its neighbour, the site's own rule and the listener lose nothing.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start
cp "$attack" /home/dev/project/attack
mkdir -m 0777 /home/dev/second
chmod 0777 /home/dev/second

neighbour() { # one that works on, and is refused something now and then
	"$session" -u 71002 -p /home/dev/second -- sh -c 'cd /home/dev/second; i=0
		while [ $i -lt 40 ]; do i=$((i + 1)); ls /srv 2>/dev/null; echo $i >>ticks; sleep 0.2; done' \
		>/run/neighbour 2>&1 8>&-
	echo $? >>/run/neighbour
}

lost_before=$(sandbox_audit_status lost)
neighbour &
beside=$!
wait_for 20 test -s /home/dev/second/ticks
for word in flood many-floods log-flood; do
	started=$(date +%s%N)
	case $word in
	flood) run -- ./attack flood /srv ;;
	many-floods) run -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ./attack flood /srv & done; wait' ;;
	log-flood) run -- ./attack log-flood /home/dev/project/text ;;
	esac
	took=$((($(date +%s%N) - started) / 1000000))
	equal "$word ends its session" "$status" "$escape"
	check "$word: it is on record as a flood" sh -c "grep '\"event\":\"escape\"' $json_log | tail -1 | grep -q '\"class\":\"flood\"'"
	echo "# $word: $took ms until the session was gone"
done

# Both a processor of kauditd and of a reader that stands still for 50 ms: what hypervisors do.
cpus=$(sandbox_kauditd_cpus)
for cpu in 0 $(($(nproc) - 1)); do
	if [ "$(nproc)" = 1 ] || ! taskset -pc "$cpu" "$(pgrep -x kauditd)" >/dev/null 2>&1; then
		skip "a flood while processor $cpu stands still" 'kernel: one processor, or kauditd cannot be bound to one'
		continue
	fi
	"$build/audit/stall" "$cpu" /home/dev/project/going &
	stall=$!
	# shellcheck disable=SC2016
	run -- sh -c './attack flood /srv & ./attack flood /srv & sleep 0.01; >going; wait'
	check "processor $cpu stood still" rm /home/dev/project/going
	kill "$stall" && wait "$stall" 2>/dev/null
	equal "a flood while processor $cpu stands still ends its session" "$status" "$escape"
done
[ -z "$cpus" ] || taskset -p "$cpus" "$(pgrep -x kauditd)" >/dev/null
run -- ./attack build /
equal 'two thousand programs in a row are none' "$status" "$clean"
wait "$beside"
equal 'the neighbour ended clean' "$(tail -n 1 /run/neighbour)" "$clean"
equal 'and all that it was refused was seen' "$(grep -c '"event":"denied".*"uid":71002' $json_log)" 40
equal 'the kernel lost no record' "$(sandbox_audit_status lost)" "$lost_before"
equal 'the listener lost no record' "$(logged lost)" 0
check 'nothing is left' nothing_left
listener_stop
finish

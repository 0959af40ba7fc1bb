#!/bin/sh
# SPDX-License-Identifier: ISC
# What the firewall costs: adding and removing one session beside 0, 1, 10, 100 and 1000 others, and
# one datagram of a bystander without the table and with that many sessions.  Medians, interleaved.
B=${B:-$(cd "$(dirname "$0")/../.." && pwd)/build}
cellctl=$B/cell/cellctl rounds=${ROUNDS:-5}
[ "$(id -u)" = 0 ] || {
	echo "firewall: needs root"
	exit 0
}
[ -n "${IN_PRIVATE:-}" ] || IN_PRIVATE=1 exec unshare -n -m --propagation private -- "$0"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ip link set lo up

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
packets() { setpriv --reuid 4242 --regid 4242 --clear-groups "$cellctl" packets 20000 >>"$work/packets.$1"; }

for _ in $(seq "$rounds"); do
	nft flush ruleset
	packets none
	for sessions in 0 1 10 100 1000; do
		nft flush ruleset
		"$cellctl" firewall load 70000 71999
		"$cellctl" bench $sessions 40 >"$work/now" || exit 1
		cut -d' ' -f1 "$work/now" >>"$work/add.$sessions"
		cut -d' ' -f2 "$work/now" >>"$work/remove.$sessions"
		packets $sessions
	done
done
printf '%-28s %10s %10s %16s\n' 'sessions there' 'add, us' 'remove, us' 'a datagram, ns'
printf '%-28s %10s %10s %16s\n' 'no table' - - "$(median "$work/packets.none")"
for sessions in 0 1 10 100 1000; do
	printf '%-28s %10s %10s %16s\n' $sessions "$(median "$work/add.$sessions")" \
		"$(median "$work/remove.$sessions")" "$(median "$work/packets.$sessions")"
done

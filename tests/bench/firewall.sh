#!/bin/sh
# SPDX-License-Identifier: ISC
# What the firewall costs: adding and removing one session beside 0, 1, 10, 100 and 1000 others; and a
# bystander's datagram and TCP connection on loopback, without any table, with tables that have the same
# three hooks and not one rule (what the kernel takes for being asked at all), and with the table, the guard
# and that many sessions.  Medians; every round measures each case once, in turn, so that what else the machine
# does is the same for all.
B=${B:-$(cd "$(dirname "$0")/../.." && pwd)/build}
cellctl=$B/cell/cellctl rounds=${ROUNDS:-9}
[ "$(id -u)" = 0 ] || {
	echo "firewall: needs root"
	exit 0
}
[ -n "${IN_PRIVATE:-}" ] || IN_PRIVATE=1 exec unshare -n -m --propagation private -- "$0"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ip link set lo up

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
bystander() { setpriv --reuid 4242 --regid 4242 --clear-groups "$cellctl" "$@"; }
traffic() { # case
	bystander packets 20000 >>"$work/packets.$1"
	bystander connects 2000 >>"$work/connects.$1"
}

mkfifo "$work/in" "$work/out"
for _ in $(seq "$rounds"); do
	traffic none
	for hook in 'output filter' 'input filter' 'output 5'; do
		echo "add table inet bare"
		echo "add chain inet bare chain${hook#* }${hook% *} { type filter hook ${hook% *} priority ${hook#* }; policy accept; }"
	done | nft -f -
	traffic hooks
	nft delete table inet bare
	"$cellctl" firewall guard 70000 71999 <"$work/in" >"$work/out" &
	exec 5>"$work/in" 6<"$work/out"
	read -r _ <&6
	for sessions in 0 1 10 100 1000; do
		"$cellctl" firewall load 70000 71999
		"$cellctl" bench $sessions 20 >"$work/now" || exit 1
		cut -d' ' -f1 "$work/now" >>"$work/add.$sessions"
		cut -d' ' -f2 "$work/now" >>"$work/remove.$sessions"
		traffic $sessions
		nft delete table inet agentcell
	done
	exec 5>&- 6<&-
	wait
done
printf '%-16s %10s %10s %16s %18s\n' 'sessions there' 'add, us' 'remove, us' 'a datagram, ns' \
	'a connection, ns'
for sessions in none hooks 0 1 10 100 1000; do
	name=$sessions add=- remove=-
	case $sessions in
	none) name='no table' ;;
	hooks) name='hooks, no rule' ;;
	*)
		add=$(median "$work/add.$sessions") remove=$(median "$work/remove.$sessions")
		;;
	esac
	printf '%-16s %10s %10s %16s %18s\n' "$name" "$add" "$remove" \
		"$(median "$work/packets.$sessions")" "$(median "$work/connects.$sessions")"
done

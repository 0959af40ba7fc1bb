#!/bin/sh
# SPDX-License-Identifier: ISC
# Whole sessions that try to get out by one protocol after the other, towards real listeners that somebody
# else reaches: nothing arrives, and what is on record names destination, process and verdict.
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/lib/net.sh
. "$tree/tests/lib/net.sh"

project=/home/dev/project
cp "$build/cell/net" $project/probe && chown dev:dev $project/probe

net_setup 192.0.2.10/24 169.254.169.254/32 2001:db8::10/64 || exit 1
in_site ip -6 addr add 2001:db8::100/64 dev site0 nodad
in_site sh -c "echo '0 2147483647' >/proc/sys/net/ipv4/ping_group_range"
net_serve /run/visits tcp:192.0.2.10:443 udp:192.0.2.10:443 mptcp:192.0.2.10:8443 tcp:169.254.169.254:80 \
	tcp:2001:db8::10:443 udp:2001:db8::10:443 udplite:192.0.2.10:443 || exit 1

# What the bystander gets; neighbours are found once.
outside() { in_site "$project/probe" probe 4242 "$@"; }
reached() { [ "$(outside "$@")" = open ]; }
check 'control: the world is there' wait_for 20 reached tcp 2001:db8::10 443
check 'control: really' wait_for 20 reached tcp 192.0.2.10 443

# --- the firewall's: the attempt is seen, the session ends
probe() { # protocol address port, and the target on record
	is_control=$(outside "$1" "$2" "$3")
	equal "control: a bystander reaches $1 $2 $3" "$is_control" open
	: >/run/visits
	: >$json_log
	net_agent dev sh -c "./probe probe 0 $1 $2 $3; sleep 60" >/run/out 2>/run/err
	equal "$1 to $2 $3 ends the session" "$?" 137
	check "$1 to $2 $3 is on record with process and verdict" log_has event=escape class=network \
		operation=network "target=$4" comm=probe exe=$project/probe
	check "$1 to $2 $3: the report tells it" grep -Eq "verdict: +escape \(network\)" /run/err
	equal "$1 to $2 $3: nothing has arrived" "$(cat /run/visits)" ''
}
probe tcp 192.0.2.10 443 192.0.2.10:443
probe tcp ::ffff:192.0.2.10 443 192.0.2.10:443
probe tcp 2001:db8::10 443 '[2001:db8::10]:443'
probe tfo 192.0.2.10 443 192.0.2.10:443
probe udp 192.0.2.10 443 192.0.2.10:443 # as QUIC does
probe udp 2001:db8::10 443 '[2001:db8::10]:443'
probe ping 192.0.2.10 0 192.0.2.10
probe tcp 169.254.169.254 80 169.254.169.254:80

# --- what the launcher's filter stops before there is a packet: by the session's end where the firewall
# would see nothing, by a plain no where programs try it and go on
refused() { # protocol address port, how, and what a bystander gets (root, where it needs rights)
	equal "control: outside, $1" "$(in_site "$project/probe" probe 0 "$1" "$2" "$3")" "$5"
	: >/run/visits
	: >$json_log
	net_agent dev ./probe probe 0 "$1" "$2" "$3" >/run/out 2>/run/err
	equal "a session that tries $1 goes on" "$?" 0
	equal "$1 is refused" "$(tr -d '\r' </run/out)" "closed $4"
	equal "$1: nothing has arrived" "$(cat /run/visits)" ''
}
ends() { # protocol address port, and what root gets outside
	equal "control: outside, $1" "$(in_site "$project/probe" probe 0 "$1" "$2" "$3")" "$4"
	: >/run/visits
	: >$json_log
	net_agent dev sh -c "./probe probe 0 $1 $2 $3; sleep 60" >/run/out 2>/run/err
	equal "a session that makes a $1 socket is ended" "$?" 137
	check "$1 is on record with the process" log_has event=escape operation=network target=socket comm=probe
	equal "$1: nothing has arrived" "$(cat /run/visits)" ''
}
ends raw 192.0.2.10 0 open
ends packet - 0 open
ends vsock - 0 "$(in_site "$project/probe" probe 0 vsock - 0)"
refused mptcp 192.0.2.10 8443 EPROTONOSUPPORT open
refused udplite 192.0.2.10 443 EPROTONOSUPPORT open
refused sctp 192.0.2.10 443 EPROTONOSUPPORT "$(in_site "$project/probe" probe 0 sctp 192.0.2.10 443)"
nothing_left 'all of these'

net_stop
finish

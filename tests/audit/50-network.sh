#!/bin/sh
# SPDX-License-Identifier: ISC
# Connections and packets: the firewall denies them, its records and the system calls' tell the judge.
# In a network of its own, whose only cable leads nowhere.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

cellctl=$build/cell/cellctl
net=/run/net
listener_start
cp "$attack" /home/dev/project/attack
: >$net
unshare -n sh -c "mount --bind /proc/self/ns/net $net"
inside() {
	nsenter --net=$net "$@"
}
inside sh -c 'ip link set lo up; ip link add eth9 type veth peer name eth8
	ip addr add 198.51.100.1/24 dev eth9; ip link set eth9 up; ip link set eth8 up'
inside "$cellctl" firewall load 71000 71999 || exit 1
session_outside=$session
session="nsenter --net=$net $session_outside"

run_in() { # [option...] -- command...
	# shellcheck disable=SC2086
	said=$($session -p /home/dev/project -b /home/dev/.ssh "$@" 8>&- 2>&1)
	status=$?
}

# The control: the firewall says nothing to somebody else.
check 'outside a session the packet is sent' inside "$attack" udp 198.51.100.9:443

for word in tcp tcp-nonblocking udp udp-connected; do
	run_in -- ./attack $word 198.51.100.9:443
	equal "$word to something undeclared is an escape" "$status" "$escape"
	check "$word: the report names it" expr "$said" : '.*network 198.51.100.9'
	# A datagram on a connected socket leaves the packet's own record alone, which names no process.
	[ "$word" = udp-connected ] && program='unknown (the record of a packet names no process)' || program='(attack)'
	check "$word: and the program" expr "$said" : ".*$program"
done
run_in -- ./attack udp-connect 198.51.100.9:443
equal 'asking for the way is none' "$status" "$clean"
run_in -- ./attack tcp 198.51.100.9:22
equal 'nor is another port' "$status" "$escape"
run_in -- ./attack tcp 169.254.169.254:80
equal 'cloud metadata is an escape' "$status" "$escape"
run_in -- ./attack udp 198.51.100.9:53
equal 'a look-up is an escape' "$status" "$escape"
run_in -r low -- ./attack udp 198.51.100.9:53
equal 'with risk low a look-up is refused only' "$status" "$clean"
run_in -r low -- ./attack udp-connected 198.51.100.9:53
equal 'in both forms' "$status" "$clean"
run_in -r low -- ./attack tcp 198.51.100.9:443
equal 'a connection is an escape even then' "$status" "$escape"
run_in -- ./attack tcp 127.0.0.1:9
equal 'a port of its own loopback, where nobody listens, is none' "$status" "$clean"
run_in -- ./attack docker /
equal 'the docker socket is an escape' "$status" "$escape"

run_in -e 198.51.100.7:443 -- ./attack tcp 198.51.100.9:443
equal 'beside a declared endpoint, another is an escape' "$status" "$escape"
run_in -e 198.51.100.7:443 -- ./attack udp-connect 198.51.100.7:443
equal 'a declared endpoint is none' "$status" "$clean"

umount $net
check 'nothing is left' nothing_left
listener_stop
finish

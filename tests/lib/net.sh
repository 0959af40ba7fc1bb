# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2154
# Two network namespaces with a cable, for sessions that go out: `site`, where sudo is started, and
# `world`, with real listeners.  Nothing else is reachable.  Source it after session.sh.
#
#     net_setup address/prefix...     the world's addresses; 192.0.2.1 is its gateway, .100 the site's
#     net_serve log protocol:address:port...     listeners in the world (tests/cell/net.c)
#     net_dns zone log                a DNS server at 192.0.2.53
#     net_agent user command...       a session whose sudo was started in the site, with resolv.conf

net_pids=

in_site() {
	nsenter --net=/run/netns/site "$@"
}

in_world() {
	nsenter --net=/run/netns/world "$@"
}

net_setup() {
	ip netns add site && ip netns add world &&
		ip link add site0 netns site type veth peer name world0 netns world || return 1
	in_site ip link set lo up
	in_site ip addr add 192.0.2.100/24 dev site0
	in_site ip link set site0 up
	in_world ip link set lo up
	for net_address in 192.0.2.1/24 192.0.2.53/24 "$@"; do
		case $net_address in
		*:*) in_world ip -6 addr add "$net_address" dev world0 nodad ;;
		*) in_world ip addr add "$net_address" dev world0 ;;
		esac
	done
	in_world ip link set world0 up
	in_site ip route add default via 192.0.2.1
	echo 'nameserver 192.0.2.53' >/run/resolv.conf
	[ -e /etc/resolv.conf ] || { rm -f /etc/resolv.conf && : >/etc/resolv.conf; }
}

net_background() { # log command...: waits for its "ready"
	net_log=$1
	shift
	: >"$net_log"
	"$@" >"$net_log" 2>&1 8>&- &
	net_pids="$net_pids $!"
	wait_for 20 grep -qx ready "$net_log" || {
		sandbox_say "not ready: $*"
		cat "$net_log" >&2
		return 1
	}
}

net_serve() {
	net_visits=$1
	shift
	: >"$net_visits"
	net_background "$net_visits.said" in_world "$build/cell/net" serve "$net_visits" "$@"
}

net_dns() {
	: >"$2"
	net_background "$2.said" in_world /usr/bin/python3 "$tree/tests/lib/dns.py" 192.0.2.53 "$1" "$2"
}

net_agent() {
	net_user=$1
	shift
	# The listener's own resolv.conf leads nowhere: names are looked up where sudo was started.
	in_site unshare -m --propagation private sh -c '
		mount --bind /run/resolv.conf /etc/resolv.conf && cd "/home/$1/project" || exit 99
		user=$1
		shift
		exec setpriv --reuid "$user" --regid "$user" --init-groups env -i PATH=/usr/bin:/bin \
			HOME="/home/$user" USER="$user" LOGNAME="$user" LANG=C TERM=dumb \
			sudo -n -u agentcell-worker "$@"' net "$net_user" "$@" 8>&-
}

net_stop() {
	for net_pid in $net_pids; do
		kill "$net_pid" 2>/dev/null
	done
}

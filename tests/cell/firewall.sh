#!/bin/sh
# SPDX-License-Identifier: ISC
# Egress by uid against real listeners: a session, another session, a uid of the range without a
# session, and a bystander as the positive control, in a network of their own (veth pair).
# shellcheck disable=SC2086
[ -n "${IN_PRIVATE:-}" ] || exec 9</proc/self/ns/net
# shellcheck source=tests/cell/tap.sh
. "$(dirname "$0")/tap.sh"
private -n

A=74001 B_=74002 NOBODY=74003 BYSTANDER=4242 STRANGER=4243
IDA=f1f1f1f1f1f1 IDB=f2f2f2f2f2f2
work=$(mktemp -d) && chmod 755 "$work"
pids=

cleanup() {
	for pid in $pids; do kill "$pid" 2>/dev/null; done
	for id in $IDA $IDB; do
		"$cellctl" cgroup kill $id 2>/dev/null
		"$cellctl" cgroup remove $id 2>/dev/null
	done
	umount -l /etc "$work/etc" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT

# --- names: from a hosts file of the test's own, and from nowhere else
setup_names() {
	mkdir "$work/etc" && mount -t tmpfs etc "$work/etc" && mkdir "$work/etc/up" "$work/etc/work" &&
		mount -t overlay overlay /etc -o "lowerdir=/etc,upperdir=$work/etc/up,workdir=$work/etc/work" ||
		bail 'cannot lay an overlay on /etc'
	printf '127.0.0.1 localhost\n::1 localhost\n' >/etc/hosts
	printf 'hosts: files\n' >/etc/nsswitch.conf
}

# --- the network: this side is the host, the other side is the world
setup_network() {
	unshare -n sleep 600 &
	world=$!
	pids="$pids $world"
	while [ "$(readlink /proc/$world/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do :; done
	in_world="nsenter -t $world -n"
	echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
	$in_world sh -c 'echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad'
	ip link set lo up
	ip link add host0 type veth peer name world0 netns $world
	ip addr add 192.0.2.100/24 dev host0
	ip -6 addr add 2001:db8::100/64 dev host0 nodad
	ip link set host0 up
	$in_world ip link set lo up
	for address in 192.0.2.1/24 192.0.2.2/24 198.51.100.1/32 169.254.169.254/32 10.20.30.40/32 \
		172.17.0.1/32 192.168.1.1/32 100.64.0.1/32 203.0.113.53/32; do
		$in_world ip addr add $address dev world0
	done
	for address in 2001:db8::1/64 2001:db8::2/64 fd00:ec2::254/128; do
		$in_world ip -6 addr add $address dev world0 nodad
	done
	$in_world ip link set world0 up
	ip route add default via 192.0.2.1
	ip -6 route add default via 2001:db8::1
	echo '0 2147483647' >/proc/sys/net/ipv4/ping_group_range
	echo 3 >/proc/sys/net/ipv4/tcp_fastopen
	$in_world sh -c 'echo 3 >/proc/sys/net/ipv4/tcp_fastopen'
}

# serve <name> <prefix command...> -- <specs...>: waits until the listeners are there
serve() {
	name=$1
	shift
	mkfifo "$work/$name.ready"
	prefix=
	while [ "$1" != -- ]; do
		prefix="$prefix $1"
		shift
	done
	shift
	: >"$work/$name.log" && chmod 666 "$work/$name.log"
	$prefix "$net" serve "$work/$name.log" "$@" >"$work/$name.ready" 2>&1 &
	pids="$pids $!"
	while read -r line; do
		[ "$line" != ready ] || break
		echo "# $name: $line"
	done <"$work/$name.ready"
}

cat >"$work/as" <<EOS
#!/bin/sh
# as <session id> <uid> command...: in the session's cgroup, as its uid
id=\$1 uid=\$2
shift 2
[ \$id = - ] || "$cellctl" cgroup enter \$id \$\$
exec setpriv --reuid \$uid --regid \$uid --clear-groups "\$@"
EOS
chmod +x "$work/as"
as=$work/as

# probe <who> <proto> <address> <port> [source port]
probe() {
	who=$1
	shift
	case $who in
	a) "$as" $IDA $A "$net" probe 0 "$@" ;;
	b) "$as" $IDB $B_ "$net" probe 0 "$@" ;;
	n) "$as" - $NOBODY "$net" probe 0 "$@" ;;
	c) "$as" - $BYSTANDER "$net" probe 0 "$@" ;;
	d) "$as" - $STRANGER "$net" probe 0 "$@" ;;
	r) "$net" probe 0 "$@" ;;
	w) $in_world "$net" probe 0 "$@" ;;
	esac
}

setup_names
setup_network
# One session at the root of the hierarchy, the other deeper, below a delegated unit.
unit=$cgroups/system.slice/agentcelld.service
for id in $IDA $IDB; do
	"$cellctl" cgroup make $id >/dev/null || bail "no cgroup version 2"
	mkdir -p "$unit" && setfattr -n trusted.delegate -v 1 "$unit"
done

serve world $in_world -- tcp:192.0.2.1:443 tcp:192.0.2.1:80 tcp:192.0.2.1:22 tcp:192.0.2.1:53 \
	udp:192.0.2.1:443 udp:192.0.2.1:53 mptcp:192.0.2.2:443 mptcp:192.0.2.1:8443 \
	udplite:192.0.2.1:443 tcp:192.0.2.2:25 tcp:198.51.100.1:443 tcp:169.254.169.254:80 \
	tcp:10.20.30.40:443 tcp:10.20.30.40:5432 tcp:172.17.0.1:2375 tcp:192.168.1.1:80 \
	tcp:100.64.0.1:443 udp:203.0.113.53:53 tcp:203.0.113.53:53 tcp:203.0.113.53:853 \
	udp:192.0.2.1:123 udp:192.0.2.1:51820 tcp:192.0.2.1:9050 tcp:192.0.2.1:1080 \
	tcp:192.0.2.1:3389 tcp:192.0.2.1:445 tcp:192.0.2.1:6667 tcp:192.0.2.1:21 \
	tcp:2001:db8::1:443 udp:2001:db8::1:443 tcp:2001:db8::2:443 \
	tcp:fd00:ec2::254:80 tcp:192.0.2.1:65535
serve user "$as" - $BYSTANDER -- tcp:127.0.0.1:7000 tcp:::1:7000 tcp:0.0.0.0:7007 udp:127.0.0.1:7000 \
	tcp:127.0.0.1:7005 close:127.0.0.1:7010 close:::1:7010
serve agent "$as" $IDA $A -- tcp:0.0.0.0:7001 tcp:::1:7001 udp:127.0.0.1:7001 close:127.0.0.1:7011
serve other "$as" $IDB $B_ -- tcp:127.0.0.1:7002 udp:127.0.0.1:7002

# Neighbour discovery takes its time once.
for _ in 1 2 3 4 5 6 7 8; do
	[ "$(probe c tcp 2001:db8::1 443)" != open ] || break
done
# A bare system has no names of protocols (Debian: package netbase).
[ ! -e /etc/protocols ] || mount --bind /dev/null /etc/protocols
"$cellctl" firewall load 74000 74999 || bail "the table does not load"
is "the table is whole" "$("$cellctl" firewall loaded 1)" 1
"$cellctl" firewall add $A $IDA 192.0.2.1:443 192.0.2.2:443 2001:db8::1:443 10.20.0.0/16:443 \
	127.0.0.1:7005 || bail "no elements"
"$cellctl" firewall add $B_ $IDB 198.51.100.1:443 || bail "no elements"

# proto address port: declared to a
declared="
tcp 192.0.2.1 443
tcp ::ffff:192.0.2.1 443
tcp 192.0.2.2 443
tfo 192.0.2.1 443
tcp 2001:db8::1 443
tcp 10.20.30.40 443
tcp 127.0.0.1 7005
"
# proto address port, how it is refused to a: everything here is open to the bystander
refused="
tcp 192.0.2.1 80 ECONNREFUSED
tcp 192.0.2.1 22 ECONNREFUSED
tcp 192.0.2.1 53 ECONNREFUSED
tcp 192.0.2.1 21 ECONNREFUSED
tcp 192.0.2.1 445 ECONNREFUSED
tcp 192.0.2.1 1080 ECONNREFUSED
tcp 192.0.2.1 3389 ECONNREFUSED
tcp 192.0.2.1 6667 ECONNREFUSED
tcp 192.0.2.1 9050 ECONNREFUSED
tcp 192.0.2.1 65535 ECONNREFUSED
tfo 192.0.2.1 80 ECONNREFUSED
tcp 192.0.2.2 25 ECONNREFUSED
tcp 198.51.100.1 443 ECONNREFUSED
tcp ::ffff:198.51.100.1 443 ECONNREFUSED
tcp 169.254.169.254 80 ECONNREFUSED
tcp 10.20.30.40 5432 ECONNREFUSED
tcp 172.17.0.1 2375 ECONNREFUSED
tcp 192.168.1.1 80 ECONNREFUSED
tcp 100.64.0.1 443 ECONNREFUSED
tcp 203.0.113.53 53 ECONNREFUSED
tcp 203.0.113.53 853 ECONNREFUSED
tcp 2001:db8::2 443 ECONNREFUSED
tcp fd00:ec2::254 80 ECONNREFUSED
mptcp 192.0.2.1 8443 ECONNREFUSED
udp 192.0.2.1 443 EPERM
udp 192.0.2.1 53 EPERM
udp 192.0.2.1 123 EPERM
udp 192.0.2.1 51820 EPERM
udp 203.0.113.53 53 EPERM
udp 2001:db8::1 443 EPERM
udp ::ffff:192.0.2.1 53 EPERM
udplite 192.0.2.1 443 EPERM
ping 192.0.2.1 0 EPERM
ping 198.51.100.1 0 EPERM
ping 2001:db8::2 0 ETIMEDOUT
tcp 127.0.0.1 7000 ECONNREFUSED
tcp ::1 7000 ECONNREFUSED
tcp 192.0.2.100 7007 ECONNREFUSED
udp 127.0.0.1 7000 ETIMEDOUT
"
loop() { # runs "$1 proto address port rest" for each line of stdin, own stdin aside
	while read -r proto address port how; do
		[ -z "$proto" ] || "$1" $proto $address $port "$how" </dev/null
	done
}
try_declared() { is "a reaches $1 $2 $3" "$(probe a $1 $2 $3)" open; }
try_refused() { is "a is refused $1 $2 $3" "$(probe a $1 $2 $3)" "closed $4"; }
try_nobody() { is "a uid without session is refused $1 $2 $3" "$(probe n $1 $2 $3)" "closed $4"; }
try_control() { is "the bystander reaches $1 $2 $3" "$(probe c $1 $2 $3)" open; }

printf '%s' "$declared" >"$work/declared"
printf '%s' "$refused" >"$work/refused"
loop try_declared <"$work/declared"
: >"$work/world.log"
: >"$work/user.log"
loop try_refused <"$work/refused"
is "the world saw nothing of that" "$(cat "$work/world.log")" ""
is "the user's listeners saw nothing of that" "$(cat "$work/user.log")" ""
grep -v -e '^tfo' -e '^ping' "$work/refused" | head -30 >"$work/some"
loop try_nobody <"$work/some"
is "a uid without a session is refused what a may" "$(probe n tcp 192.0.2.1 443)" \
	"closed ECONNREFUSED"
loop try_control <"$work/refused"
loop try_control <"$work/declared"

# --- what belongs to one session is no other's
is "b reaches its own endpoint" "$(probe b tcp 198.51.100.1 443)" open
is "b is refused a's endpoint" "$(probe b tcp 192.0.2.1 443)" "closed ECONNREFUSED"
is "raw sockets" "$(probe a raw 192.0.2.1 0)" "closed EPERM"
is "packet sockets" "$(probe a packet - 0)" "closed EPERM"
is "root may have a raw socket" "$("$net" probe 0 raw 192.0.2.1 0)" open
is "root may have a packet socket" "$("$net" probe 0 packet - 0)" open

# --- loopback
is "a reaches its own server" "$(probe a tcp 127.0.0.1 7001)" open
is "a reaches its own server over IPv6" "$(probe a tcp ::1 7001)" open
is "a reaches its own server by the host's address" "$(probe a tcp 192.0.2.100 7001)" open
is "a reaches its own UDP server" "$(probe a udp 127.0.0.1 7001)" open
is "a is refused b's server" "$(probe a tcp 127.0.0.1 7002)" "closed ECONNREFUSED"
is "a is refused b's UDP server" "$(probe a udp 127.0.0.1 7002)" "closed ETIMEDOUT"
is "b is refused a's server" "$(probe b tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "b reaches its own server" "$(probe b tcp 127.0.0.1 7002)" open
is "the world reaches the bystander's server" "$(probe w tcp 192.0.2.100 7007)" open
is "the world does not reach a's server" "$(probe w tcp 192.0.2.100 7001)" "closed ETIMEDOUT"

# A port where nobody listens: the kernel's own no, so that looking for a server is no crime.
is "a asks a port where nobody listens" "$(probe a tcp 127.0.0.1 7999)" "closed ECONNREFUSED"
is "and over UDP" "$(probe a udp 127.0.0.1 7999)" "closed ETIMEDOUT"
is "and pings itself" "$(probe a ping 127.0.0.1 0)" open
# What a connection leaves behind for a minute does not say whose it was.
remains() { ss -Htan state time-wait "src $1 and dport = $2" | wc -l; }
is "a: its own server, which closes first" "$(probe a close 127.0.0.1 7011 40001)" open
is "there are remains" "$(remains 127.0.0.1:7011 40001)" 1
is "a: the same again, over the remains" "$(probe a close 127.0.0.1 7011 40001)" open
is "the bystander: his server, which closes first" "$(probe c close 127.0.0.1 7010 40002)" open
is "and over IPv6" "$(probe c close ::1 7010 40002)" open
is "there are remains of that" \
	"$(remains 127.0.0.1:7010 40002) $(remains '[::1]:7010' 40002)" "1 1"
: >"$work/user.log"
like "a does not get in over them" "$(probe a close 127.0.0.1 7010 40002)" "^closed E(CONNREFUSED|TIMEDOUT)$"
like "nor over IPv6" "$(probe a close ::1 7010 40002)" "^closed E(CONNREFUSED|TIMEDOUT)$"
is "his server has seen nothing" "$(cat "$work/user.log")" ""
is "the bystander gets in over them" "$(probe c close 127.0.0.1 7010 40002)" open

# --- dev_server: one user may come in over loopback, when the session is told so
is "the user does not reach a's server" "$(probe c tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "nor over IPv6" "$(probe c tcp ::1 7001)" "closed ECONNREFUSED"
is "nor by the host's address" "$(probe c tcp 192.0.2.100 7001)" "closed ECONNREFUSED"
"$cellctl" firewall add $A $IDA:$BYSTANDER 192.0.2.1:443 || bail "no elements"
is "with dev_server the user reaches it" "$(probe c tcp 127.0.0.1 7001)" open
is "and over IPv6" "$(probe c tcp ::1 7001)" open
is "and by the host's address" "$(probe c tcp 192.0.2.100 7001)" open
is "another user does not" "$(probe d tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "nor over IPv6" "$(probe d tcp ::1 7001)" "closed ECONNREFUSED"
is "nor by the host's address" "$(probe d tcp 192.0.2.100 7001)" "closed ECONNREFUSED"
is "root is another user" "$(probe r tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "another session does not" "$(probe b tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "a uid without session does not" "$(probe n tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "the user does not reach b's" "$(probe c tcp 127.0.0.1 7002)" "closed ECONNREFUSED"
is "a itself still does" "$(probe a tcp 127.0.0.1 7001)" open
is "a stranger reaches the user's server" "$(probe d tcp 127.0.0.1 7000)" open
is "a does not" "$(probe a tcp 127.0.0.1 7000)" "closed ECONNREFUSED"
is "the world still does not reach a's" "$(probe w tcp 192.0.2.100 7001)" "closed ETIMEDOUT"
# Over the remains of the user's own connection, which a's side closed first.
is "the user: a's server, which closes first" "$(probe c close 127.0.0.1 7011 40003)" open
is "there are remains" "$(remains 127.0.0.1:7011 40003)" 1
is "the user: the same again, over the remains" "$(probe c close 127.0.0.1 7011 40003)" open
is "there are remains again" "$(remains 127.0.0.1:7011 40003)" 1
: >"$work/agent.log"
like "another user does not get in over them" "$(probe d close 127.0.0.1 7011 40003)" \
	"^closed E(CONNREFUSED|TIMEDOUT)$"
is "a's server has seen nothing" "$(cat "$work/agent.log")" ""
is "a packet that the site has marked keeps its mark" "$(nft 'table ip site {
	chain out { type filter hook output priority mangle; oif lo tcp dport 7005 meta mark set 0x77;
	}
	chain in { type filter hook input priority filter + 9;
		iif lo tcp dport 7005 tcp flags & (syn | ack) == syn meta mark 0x77 counter;
	}
}'
	probe c tcp 127.0.0.1 7005
	nft list chain ip site in | grep -c "packets 1 "; nft delete table ip site)" "open
1"
"$cellctl" firewall add $A $IDA 192.0.2.1:443 || bail "no elements"
is "taken back, the user does not reach it" "$(probe c tcp 127.0.0.1 7001)" "closed ECONNREFUSED"
is "b's is still b's" "$(probe b tcp 127.0.0.1 7002)" open

# --- counters
"$cellctl" firewall add $A $IDA 192.0.2.1:443 192.0.2.2:443 10.20.0.0/16:443
before=$("$cellctl" firewall flows $A | sed -n 's/^refused //p')
probe a tcp 192.0.2.2 443 >/dev/null
probe a tcp 192.0.2.1 80 >/dev/null
after=$("$cellctl" firewall flows $A | sed -n 's/^refused //p')
is "a refused packet is counted" "$((after - before))" 1
is "and what passed, by element" \
	"$("$cellctl" firewall flows $A | grep -c '^port 443 [1-9]')" 2

# --- established connections end with the session's elements
mkfifo "$work/to" "$work/from"
"$as" $IDA $A "$net" hold 0 192.0.2.1 443 <"$work/to" >"$work/from" &
pids="$pids $!"
exec 3>"$work/to" 4<"$work/from"
read -r said <&4
is "a connection is held" "$said" held
echo >&3
read -r said <&4
is "it carries data" "$said" open
"$cellctl" firewall remove $A
is "no element of a is left" "$("$cellctl" firewall count $A)" 0
echo >&3
read -r said <&4
like "the connection is dead at once" "$said" "closed (ECONNRESET|EPIPE)"
exec 3>&- 4<&-
is "a reaches nothing now" "$(probe a tcp 192.0.2.1 443)" "closed ECONNREFUSED"
is "b is untouched" "$(probe b tcp 198.51.100.1 443)" open

# --- refresh, exactness
"$cellctl" firewall add $A $IDA 192.0.2.1:443 192.0.2.2:443
"$cellctl" firewall add $A $IDA 192.0.2.2:443
is "add makes the elements exactly these" "$(probe a tcp 192.0.2.1 443) $(probe a tcp 192.0.2.2 443)" \
	"closed ECONNREFUSED open"
is "count: one endpoint; the session, its cgroup twice" "$("$cellctl" firewall count $A)" 4
like "a name may not lead to loopback" "$("$cellctl" firewall add $A - localhost:80 2>&1)" \
	"leads to an address that is .*loopback"
is "unless the address is declared by number" \
	"$("$cellctl" firewall add $A - localhost:7005 127.0.0.1:7005 "[::1]:7005" 2>&1)" ""
is "a name that does not exist opens nothing" \
	"$("$cellctl" firewall add $A - no.such.name.invalid:443 2>&1
	"$cellctl" firewall read $A)" ""

"$cellctl" firewall add $A $IDA 192.0.2.2:443 10.20.0.0/15:5432 2001:db8::1:443 2001:db8:8000::/33:22
is "what the kernel holds, read back as addresses" "$("$cellctl" firewall read $A | sort)" \
	"10.20.0.0/15 5432
192.0.2.2/32 443
2001:db8:8000::/33 22
2001:db8::1/128 443"
is "overlapping networks are one" "$("$cellctl" firewall add $A - 10.20.0.0/15:443 10.20.0.0/16:443 \
	10.0.0.0/8:443 10.20.30.40:443; "$cellctl" firewall read $A)" "10.0.0.0/8 443"

# --- damage is noticed
nft flush chain inet agentcell deny
is "a flushed chain is noticed" "$("$cellctl" firewall loaded 1)" 0
"$cellctl" firewall load 74000 74999
is "and put back" "$("$cellctl" firewall loaded 1)" 1
nft 'add table inet agentcell { flags dormant; }'
is "a switched-off table is noticed" "$("$cellctl" firewall loaded 1)" 0
nft flush ruleset
is "a flushed ruleset is noticed" "$("$cellctl" firewall loaded 1)" 0
like "no session without the table" "$("$cellctl" firewall add $A - 192.0.2.1:443 2>&1)" "not loaded"
is "loading is idempotent" \
	"$("$cellctl" firewall load 74000 74999; "$cellctl" firewall add $A - 192.0.2.1:443
	"$cellctl" firewall load 74000 74999; "$cellctl" firewall count $A)" 2

# --- a foreign hand
is "a session that has what it should have" \
	"$("$cellctl" firewall check $A - 192.0.2.1:443 192.0.2.2:443 2>&1)" ""
nft "add element inet agentcell allow4 { $A . 192.0.2.1 . 80 }"
like "an address that somebody added is noticed" \
	"$("$cellctl" firewall check $A - 192.0.2.1:443 2>&1)" "port 80 of an address that was not declared"
is "adding again takes it out" "$("$cellctl" firewall add $A - 192.0.2.1:443
	"$cellctl" firewall check $A - 192.0.2.1:443 2>&1)" ""
nft flush set inet agentcell session
like "elements that are gone are noticed" \
	"$("$cellctl" firewall check $A - 192.0.2.1:443 2>&1)" "elements of uid $A are gone"
"$cellctl" firewall add $A - 192.0.2.1:443

# --- the guard: without the table nothing passes
mkfifo "$work/guard.in" "$work/guard.out"
"$cellctl" firewall guard 74000 74999 <"$work/guard.in" >"$work/guard.out" &
guard=$!
exec 5>"$work/guard.in" 6<"$work/guard.out"
if read -r said <&6; then
	is "with the guard a reaches its endpoint" "$(probe a tcp 192.0.2.1 443)" open
	is "and is refused another" "$(probe a tcp 192.0.2.1 80)" "closed ECONNREFUSED"
	nft delete table inet agentcell-guard 2>/dev/null
	nft delete table inet agentcell
	nft flush ruleset
	is "the guard outlives that" "$(nft list tables | grep -c agentcell)" 1
	: >"$work/world.log"
	is "without the table a reaches nothing" "$(probe a tcp 192.0.2.1 443)" "closed ETIMEDOUT"
	is "nor does a uid without a session" "$(probe n tcp 2001:db8::1 443)" "closed ETIMEDOUT"
	is "nor over UDP" "$(probe a udp 192.0.2.1 53)" "closed EPERM"
	is "nor on loopback" "$(probe a tcp 127.0.0.1 7000)" "closed ETIMEDOUT"
	is "the world has seen nothing" "$(cat "$work/world.log")" ""
	is "the bystander is not concerned" "$(probe c tcp 192.0.2.1 443)" open
	"$cellctl" firewall load 74000 74999
	"$cellctl" firewall add $A $IDA 192.0.2.1:443
	is "with the table it goes on" "$(probe a tcp 192.0.2.1 443)" open
	is "and the mark is no other's business" "$(nft 'table ip site {
		chain out { type filter hook output priority filter + 9; tcp dport 443 meta mark != 0 counter;
		}
	}'
		probe a tcp 192.0.2.1 443
		nft list chain ip site out | grep -c "packets 0 "; nft delete table ip site)" "open
1"
	exec 5>&-
	wait $guard
	is "the guard goes with its owner" "$(nft list tables | grep -c agentcell)" 1
	nft delete table inet agentcell
	is "control: without both, what was refused is open" "$(probe a tcp 192.0.2.1 80)" open
	"$cellctl" firewall load 74000 74999
else
	skip "the guard" "kernel: no owned tables (5.12)"
	exec 5>&-
fi
exec 6<&-
"$cellctl" firewall add $A - 192.0.2.1:443

# --- the judge's record: NETFILTER_PKT with the uid as mark, from this namespace too
records() {
	flock -w 900 8 || bail "somebody keeps the audit lock"
	was=$(auditctl -s | sed -n 's/^enabled //p')
	auditctl -e 1 >/dev/null
	mkfifo "$work/audit"
	nsenter --net=/proc/self/fd/9 "$net" audit "$IDA is done" >"$work/audit" &
	{
		read -r _
		probe a tcp 198.51.100.1 443 >/dev/null
		probe a udp 203.0.113.53 53 >/dev/null
		probe a tcp 2001:db8::2 443 >/dev/null
		probe a tcp 192.0.2.1 443 >/dev/null
		probe a tcp 127.0.0.1 7999 >/dev/null
		probe a tcp 127.0.0.1 7000 >/dev/null
		probe c tcp 198.51.100.1 443 >/dev/null
		"$as" $IDA $A "$net" flood 192.168.1.1 80 200 >"$work/took"
		probe a tcp 203.0.113.53 853 >/dev/null
		nsenter --net=/proc/self/fd/9 auditctl -m "$IDA is done" >/dev/null
		cat
	} <"$work/audit" >"$work/records"
	auditctl -e "$was" >/dev/null
}
if command -v auditctl >/dev/null; then
	records 8>>/tmp/agentcell-audit.lock
	found=$(grep -c "mark=0x12111.*daddr=198.51.100.1 proto=6" "$work/records")
	is "a refused TCP connection is one record" "$found" 1
	found=$(grep -c "mark=0x12111.*daddr=203.0.113.53 proto=17" "$work/records")
	is "a refused UDP packet is one record" "$found" 1
	found=$(grep -c "mark=0x12111.*daddr=2001:.*proto=6" "$work/records")
	is "a refused IPv6 connection is one record" "$found" 1
	found=$(grep -c "mark=0x12111.*daddr=127.0.0.1 proto=6" "$work/records")
	is "loopback: who listens is one record, a port where nobody does is none" "$found" 1
	found=$(grep -c "daddr=192.0.2.1 " "$work/records")
	is "what is allowed is none" "$found" 0
	found=$(grep -vc "mark=0x12111" "$work/records")
	is "the bystander is none" "$found" 0
	found=$(grep -c "daddr=192.168.1.1 " "$work/records")
	# 20 at once, then one every 100 ms for as long as it took.
	most=$((21 + $(cat "$work/took") / 100))
	is "a flood is capped (200 packets in $(cat "$work/took") ms: $found records)" \
		"$([ "$found" -ge 20 ] && [ "$found" -le $most ] && [ $most -lt 200 ] && echo capped)" capped
	found=$(grep -c "daddr=203.0.113.53 proto=6" "$work/records")
	is "one destination at a time: another is on record after it" "$found" 1
else
	skip "audit records" "no auditctl"
fi
finish

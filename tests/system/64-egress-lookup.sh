#!/bin/sh
# SPDX-License-Identifier: ISC
# There is no resolver in the cell.  Who tries to ask one anyway, by whichever way, is on record with the
# class 'lookup'; at risk medium it ends the session.
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/lib/net.sh
. "$tree/tests/lib/net.sh"

conf=/etc/agentcell/agentcell.conf
project=/home/dev/project

cat >$project/asks <<'END_OF_ASKS'
import socket, sys
QUESTION = bytes.fromhex("0001010000010000000000000161076578616d706c650000010001")
def udp(address, port):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.sendto(QUESTION, (address, int(port)))
        return len(sock.recv(512))
def connected(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.connect((address, int(port)))
        sock.send(QUESTION)
        return len(sock.recv(512))
def tcp(address, port):
    socket.create_connection((address, int(port)), 5)
def unix(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
def name(host):
    return socket.getaddrinfo(host, 443)[0][4][0]
for words in (line.split() for line in sys.stdin.read().split(";")):
    try:
        print(*words, globals()[words[0]](*words[1:]))
    except OSError as error:
        print(*words, type(error).__name__)
END_OF_ASKS
chown dev:dev $project/asks

net_setup || exit 1
echo 'a.example 60 192.0.2.10' >/run/zone
net_dns /run/zone /run/questions || exit 1
outside() { # the control: the same questions, answered
	echo "$1" | in_site /usr/bin/python3 $project/asks
}
equal 'control: outside a session the question is answered' "$(outside 'udp 192.0.2.53 53')" 'udp 192.0.2.53 53 43'
equal 'control: on a connected socket, too' "$(outside 'connected 192.0.2.53 53')" 'connected 192.0.2.53 53 43'
: >/run/questions

ask() { # questions: of one session
	: >$json_log
	echo "$1" | net_agent dev sh -c "/usr/bin/python3 -u asks; $2" >/run/out 2>/run/err
}
on_record() { # name target: as a look-up
	check "$1 is on record as a look-up" log_has "event=$event" class=lookup "target=$2" 'reason=look-up'
}

# --- risk low: each way in one session, which goes on
cp $conf /run/conf.before
printf '[firewall]\nendpoints = a.example:443\n' >>$conf
sed -i 's/^#risk = medium/risk = low/' $conf
listener_stop
listener_start
event=denied
ask 'name a.example; name b.example; udp 192.0.2.53 53; connected 192.0.2.53 53;
	udp 127.0.0.53 53; udp 203.0.113.5 53; unix /run/systemd/resolve/io.systemd.Resolve;
	unix /run/nscd/socket; name c.example' true
equal 'the session goes on' "$?" 0
check 'a declared name is known' grep -q '^name a.example 192.0.2.10' /run/out
check 'another one is not' grep -q '^name b.example gaierror' /run/out
on_record 'UDP' '192.0.2.53:53'
on_record "the host's stub resolver" '127.0.0.53:53'
on_record 'another server' '203.0.113.5:53'
on_record 'the socket of systemd-resolved' /run/systemd/resolve/io.systemd.Resolve
refute 'a plain getaddrinfo is no look-up: files only' log_has event=denied target=example
refute "nor is nscd's socket, which every glibc tries" log_has event=denied target=nscd
equal 'each was counted' "$(grep -c '"class":"lookup"' $json_log | sed 's/^[4-9]$/enough/; s/^[1-9][0-9]$/enough/')" enough
equal 'the server has heard of one name only, from the host' "$(sort -u /run/questions | grep -vc '^a.example')" 0
in_cell=$(agent dev sh -c 'cat /etc/resolv.conf; grep ^hosts /etc/nsswitch.conf' 2>/run/err | tr -d '\r')
equal 'the cell names no server, and no source but files' "$in_cell" "# no resolver in this cell
hosts: files"

# --- risk medium: each ends its session
cp /run/conf.before $conf
listener_stop
listener_start
event=escape
for question in 'udp 192.0.2.53 53' 'tcp 192.0.2.53 53' 'tcp 192.0.2.53 853' 'unix /run/systemd/resolve/io.systemd.Resolve'; do
	ask "$question" "sleep 60"
	equal "at risk medium '$question' ends the session" "$?" 137
	# shellcheck disable=SC2086
	set -- $question
	on_record "'$question'" "$2${3:+:$3}"
	nothing_left "'$question'"
done

net_stop
finish

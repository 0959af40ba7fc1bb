#!/bin/sh
# SPDX-License-Identifier: ISC
# egress_proxy with the real tinyproxy: what its rules allow works, what they don't is refused and in its
# log, and past it there is no way.
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/lib/net.sh
. "$tree/tests/lib/net.sh"

if ! command -v tinyproxy >/dev/null; then
	skip 'a real proxy' 'needs tinyproxy'
	finish
fi
conf=/etc/agentcell/agentcell.conf
cp $conf /run/conf.before
project=/home/dev/project

configure() { # proxy: anew, with the listener
	listener_stop
	cp /run/conf.before $conf
	cat >>$conf <<-EOF
		[firewall]
		endpoints = good.example:443 good.example:80
		egress_proxy = $1
	EOF
	listener_start
}

# The proxy stands in the site's private network, and it alone can look the others up.
net_setup 192.0.2.10/24 192.0.2.20/24 10.88.0.1/32 || exit 1
net_serve /run/visits tcp:192.0.2.10:443 tcp:192.0.2.20:443 || exit 1
echo 'proxy.example 60 10.88.0.1' >/run/zone
net_dns /run/zone /run/questions || exit 1
mkdir /run/web && echo 'a page of good.example' >/run/web/page
in_world /usr/bin/python3 -m http.server --bind 192.0.2.10 --directory /run/web 80 \
	>/run/web.log 2>&1 8>&- &
net_pids="$net_pids $!"
printf '192.0.2.10 good.example good.example.evil.example evilgood.example\n192.0.2.20 bad.example\n' \
	>/run/proxy.hosts
cat >/run/tinyproxy.conf <<-EOF
	User nobody
	Group nogroup
	Port 3128
	Listen 10.88.0.1
	Timeout 60
	LogFile "/run/proxy/log"
	LogLevel Info
	MaxClients 20
	Allow 192.0.2.100
	Filter "/run/proxy.filter"
	FilterType ere
	FilterDefaultDeny Yes
	ConnectPort 443
EOF
printf '%s\n' '^good\.example$' >/run/proxy.filter
mkdir -m 0777 /run/proxy
in_world unshare -m --propagation private sh -c \
	'mount --bind /run/proxy.hosts /etc/hosts && exec tinyproxy -d -c /run/tinyproxy.conf' \
	>/run/proxy/out 2>&1 8>&- &
net_pids="$net_pids $!"
knock() { in_site "$build/cell/net" probe 4242 tcp "$1" "$2" | grep -q "$3"; }
check 'the proxy is there' wait_for 20 sh -c "nsenter --net=/run/netns/site /usr/bin/python3 -c '
import socket; socket.create_connection((\"10.88.0.1\", 3128), 2)'"
check 'the page is there' wait_for 20 sh -c "nsenter --net=/run/netns/site /usr/bin/python3 -c '
import socket; socket.create_connection((\"192.0.2.10\", 80), 2)'"
check 'control: outside a session its targets are open' knock 192.0.2.10 443 open
check 'control: the other one, too' knock 192.0.2.20 443 open
: >/run/visits

cat >$project/client <<'END_OF_CLIENT'
import os, socket, sys, urllib.request
proxy = os.environ["HTTPS_PROXY"]
assert proxy == "http://proxy.example:3128", proxy
def connect(target):
    host, port = proxy[len("http://"):].split(":")
    tunnel = socket.create_connection((host, int(port)), 30)
    tunnel.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    stream = tunnel.makefile("rb")
    status = stream.readline().split()[1].decode()
    while stream.readline().strip():
        pass
    return status + " " + (stream.read(5).decode() if status == "200" else "")
def page(url):
    try:
        return urllib.request.urlopen(url, timeout=30).read().decode().strip()
    except urllib.error.HTTPError as error:
        return str(error.code)
def direct(target):
    host, port = target.split(":")
    return socket.create_connection((host, int(port)), 30).recv(5).decode()
def name(host):
    try:
        return socket.getaddrinfo(host, 443)[0][4][0]
    except OSError as error:
        return type(error).__name__
for word in sys.argv[1:]:
    verb, argument = word.split("=")
    print(verb, argument, globals()[verb](argument), flush=True)
END_OF_CLIENT
chown dev:dev $project/client

# --- by name
configure proxy.example:3128
as dev agentcell explain sh >/run/explained
check 'explain says who judges' grep -q 'only by the proxy proxy.example:3128, which judges' /run/explained
net_agent dev /usr/bin/python3 client name=good.example name=proxy.example connect=good.example:443 \
	page=http://good.example/page connect=bad.example:443 connect=good.example.evil.example:443 \
	connect=evilgood.example:443 connect=192.0.2.10:443 page=http://bad.example/page \
	>/run/out 2>/run/err
equal 'a session that uses the proxy ends clean' "$?" 0
said() { # name, what was asked, what came of it
	equal "$1" "$(sed -n "s|^$2 ||p" /run/out | tr -d '\r')" "$3"
}
check 'the terms say who judges' grep -q 'network  *only by the proxy proxy.example:3128, which judges' /run/err
check 'and what is declared for it' grep -q 'declared for the proxy: good.example:443, good.example:80' /run/err
said 'a declared name is not looked up in the cell' 'name good.example' gaierror
said 'the proxy is known' 'name proxy.example' 10.88.0.1
said 'CONNECT to an allowed host works' 'connect good.example:443' '200 hello'
said 'a client that heeds the variables gets its page' 'page http://good.example/page' 'a page of good.example'
said 'a denied host is refused by the proxy' 'connect bad.example:443' '403 '
said 'so is good.example.evil.example' 'connect good.example.evil.example:443' '403 '
said 'and evilgood.example' 'connect evilgood.example:443' '403 '
said 'and an address instead of the name' 'connect 192.0.2.10:443' '403 '
said 'and a page of the denied host' 'page http://bad.example/page' 403
check "the proxy's log tells what passed" grep -q 'CONNECT good.example:443' /run/proxy/log
check 'and what it refused' grep -q 'refused on filtered domain "bad.example"' /run/proxy/log
equal 'what was let through, and nothing else, has arrived' "$(cat /run/visits)" 'tcp 192.0.2.10 443'
nothing_left 'a session with a proxy'

# --- past it
probe_direct() { # target: the declared endpoint itself
	: >$json_log
	net_agent dev sh -c "/usr/bin/python3 client direct=$1; sleep 60" >/run/out 2>/run/err
	equal "a direct connection to $1 ends the session" "$?" 137
	check 'its record has address and port, process and verdict' log_has event=escape class=network \
		"target=$1" comm=python3 exe=/usr/bin/python3 reason=declared
	check 'the process by its number' log_has event=escape "pid=$(escaped pid)" "uid=$(escaped uid)"
	check 'the report tells the same' grep -q "network $1" /run/err
	nothing_left "a direct connection to $1"
}
escaped() { # field of the escape's record
	/usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1]):
    record = json.loads(line)
    if record["event"] == "escape":
        assert record["pid"] > 1 and 70000 <= record["uid"] <= 70999, record
        print(record[sys.argv[2]])' $json_log "$1"
}
: >/run/visits
probe_direct 192.0.2.10:443
probe_direct 10.88.0.1:22
equal 'nothing has arrived' "$(cat /run/visits)" ''

# --- proxies that cannot be
configure nowhere.example:3128
net_agent dev true >/run/out 2>/run/err
equal 'a proxy that has no address refuses the session' "$?" 1
check 'which names it' grep -q 'nowhere.example' /run/err
echo 'proxy.example 60 169.254.169.254' >/run/zone
configure proxy.example:3128
net_agent dev true >/run/out 2>/run/err
equal 'a proxy whose name leads to cloud metadata refuses it, too' "$?" 1
check 'which says why' grep -q 'proxy.example leads to an address that is link-local' /run/err
configure 10.88.0.1:3128
net_agent dev sh -c 'echo "$http_proxy $https_proxy $NO_PROXY"' >/run/out 2>/run/err
equal 'a proxy by its address' "$(tr -d '\r' </run/out)" \
	'http://10.88.0.1:3128 http://10.88.0.1:3128 localhost,127.0.0.1,::1'
nothing_left 'sessions without a proxy'

net_stop
finish

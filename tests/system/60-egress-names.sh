#!/bin/sh
# SPDX-License-Identifier: ISC
# Names change their addresses while a session runs: looked up again by TTL, old addresses kept for a
# while, inner addresses refused at any time, the cell's hosts file changed in place.
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/lib/net.sh
. "$tree/tests/lib/net.sh"

conf=/etc/agentcell/agentcell.conf
cp $conf /run/conf.before
project=/home/dev/project

configure() { # refresh_overlap refresh_stale: anew, with the listener
	listener_stop
	cp /run/conf.before $conf
	cat >>$conf <<-EOF
		[firewall]
		endpoints = api.example:443 api.example:8443 slow.example:443 [2001:db8::7]:443
		endpoints = 10.99.0.0/16:443
		refresh_interval = 1s
		refresh_overlap = $1
		refresh_stale = $2
	EOF
	listener_start
}

zone() { # line...: whole, or not at all
	printf '%s\n' "$@" >/run/zone.new
	echo 'slow.example 3600 192.0.2.40' >>/run/zone.new
	mv /run/zone.new /run/zone
}

# The agent: one step a line, so that the test can change the world between two steps.
cat >$project/steps <<'END_OF_STEPS'
import os, socket, sys, time
held = {}
def names(host="api.example"):
    try:
        found = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except OSError as error: # it leads nowhere just now
        return type(error).__name__
    return " ".join(sorted({entry[4][0] for entry in found}))
def hold(key, address, port="443"):
    held[key] = socket.create_connection((address, int(port)), 20)
    return held[key].recv(16).decode() + " " + held[key].getpeername()[0]
def alive(key):
    held[key].send(b"x")
    return held[key].recv(16).decode()
def attempt(address, port="443"):
    try:
        return hold("attempt", address, port)
    except OSError as error:
        return type(error).__name__
def dead(key):
    try:
        return alive(key)
    except OSError as error:
        return type(error).__name__
def hosts():
    status = os.stat("/etc/hosts")
    return f"{status.st_ino} {os.access('/etc/hosts', os.W_OK)}"
with open("answers", "w") as answers:
    print("up", file=answers, flush=True)
    while True:
        line = sys.stdin.readline().split()
        if not line or line[0] == "end":
            sys.exit(0 if line else 9)
        print(line[0], globals()[line[0]](*line[1:]), file=answers, flush=True)
END_OF_STEPS
chown dev:dev $project/steps
mkfifo /run/steps

start() {
	rm -f $project/answers
	net_agent dev /usr/bin/python3 steps </run/steps >/run/out 2>/run/err &
	agent_pid=$!
	exec 7>/run/steps
	wait_for 30 grep -qx up $project/answers && return
	echo 'Bail out! the agent does not start'
	tail -n 20 /run/err /run/out /run/listener.log $json_log | sed 's/^/# /'
	exit 1
}

count_answers() { wc -l <$project/answers; }
step() { # words: the agent's answer to them
	step_before=$(count_answers)
	echo "$*" >&7
	wait_for 30 sh -c "[ \$(wc -l <$project/answers) -gt $step_before ]"
	sed -n "$((step_before + 1))s/^[a-z]* //p" $project/answers
}
leads_to() { # addresses: does the name, in the cell?
	[ "$(step names)" = "$*" ]
}
ended() {
	echo end >&7
	exec 7>&-
	wait "$agent_pid"
	equal "$1" "$?" 0
}
elements() { in_site nft list set inet agentcell "${1-allow4}"; }
is_open() { elements | grep -Eq "[^0-9.]$1 \. 443"; }
is_shut() { elements && ! is_open "$1"; }

# An agent that is gone is a failed test, not the end of all of them.
trap "" PIPE
net_setup 192.0.2.10/24 192.0.2.20/24 192.0.2.30/24 192.0.2.40/24 169.254.169.254/32 10.20.30.40/32 \
	10.99.0.1/32 || exit 1
net_serve /run/visits tcp:192.0.2.10:443 tcp:192.0.2.10:8443 tcp:192.0.2.20:443 tcp:192.0.2.20:8443 \
	tcp:192.0.2.30:443 tcp:192.0.2.40:443 tcp:169.254.169.254:443 tcp:10.20.30.40:443 \
	tcp:10.99.0.1:443 || exit 1
zone 'api.example 1 192.0.2.10'
net_dns /run/zone /run/questions || exit 1

# --- a name goes elsewhere
configure 1h 1h
start
equal 'the name leads to its address' "$(step names)" 192.0.2.10
equal 'which is reached' "$(step hold old 192.0.2.10)" 'hello 192.0.2.10'
refute 'the next address is shut' is_open 192.0.2.20
file=$(step hosts)
check 'the hosts file cannot be written in the cell' expr "$file" : '[0-9]* False'
zone 'api.example 1 192.0.2.20'
check 'the name leads to the new address' wait_for 20 leads_to 192.0.2.20
equal 'which is reached' "$(step hold new 192.0.2.20)" 'hello 192.0.2.20'
equal 'on its other port, too' "$(step hold more 192.0.2.20 8443)" 'hello 192.0.2.20'
equal 'a connection to the old one lives' "$(step alive old)" y
check 'since both are open: the old one' is_open 192.0.2.10
equal 'the hosts file is the same file' "$(step hosts)" "$file"
check 'the change is on record' log_has event=resolved 'added=api.example 192.0.2.20' \
	'left=api.example 192.0.2.10'

# --- and back: the address is open still
zone 'api.example 1 192.0.2.10 192.0.2.30'
check 'two addresses, one of them known' wait_for 20 leads_to 192.0.2.10 192.0.2.30
equal 'the hosts file does not grow for the known one' \
	"$(find /run/agentcell/sessions -name hosts -exec grep -c '192.0.2.10 api.example' {} +)" 1

# --- rebinding
zone 'api.example 1 169.254.169.254'
check 'a name that leads to cloud metadata is on record' wait_for 20 log_has event=resolved \
	'refused=api.example 169.254.169.254 (link-local, cloud metadata)'
check 'it keeps its addresses' leads_to 192.0.2.10 192.0.2.30
refute 'the metadata service is shut' is_open 169.254.169.254
zone 'api.example 1 10.20.30.40 192.0.2.20'
check 'beside an inner address the outer one counts' wait_for 20 leads_to 192.0.2.20
check 'the inner one is on record' log_has event=resolved 'refused=api.example 10.20.30.40 (private'
refute 'and shut' is_open 10.20.30.40
zone 'api.example 1 10.99.0.1'
check 'an inner address that is declared by number is allowed' wait_for 20 leads_to 10.99.0.1
equal 'and reached' "$(step hold inner 10.99.0.1)" 'hello 10.99.0.1'
equal 'the first connection still lives' "$(step alive old)" y

# --- how often
count() { grep -c "^$1 1$" /run/questions; }
check 'a long TTL is respected' [ "$(count slow.example)" -lt "$(count api.example)" ]
seen=$(count slow.example)
check 'a short one, too' wait_for 20 sh -c "[ \$(grep -c '^api.example 1$' /run/questions) -gt $(($(count api.example) + 2)) ]"
equal 'nobody asks for the long one meanwhile' "$(count slow.example)" "$seen"
ended 'the session ends clean'
nothing_left 'after names that moved'
equal 'nor in the site' "$(elements | grep -c 'elements =')" 0

# --- the end of the overlap, and of what nobody can look up
zone 'api.example 1 192.0.2.10'
configure 1s 2s
start
equal 'a connection is made' "$(step hold old 192.0.2.10)" 'hello 192.0.2.10'
zone 'api.example 1 192.0.2.20'
check 'the old address is shut after a while' wait_for 20 is_shut 192.0.2.10
check 'which is on record' wait_for 20 log_has event=resolved 'closed=api.example 192.0.2.10'
check 'the new one is open' is_open 192.0.2.20
check 'the connection to the old one is dead' expr "$(step dead old)" : 'Connection.*Error'
equal 'who kept the old address is refused' "$(step attempt 192.0.2.10)" ConnectionRefusedError
check 'that is on record as denied, not as an escape' wait_for 20 log_has event=denied class=tolerated \
	target=192.0.2.10 'reason=a declared name does not lead there any more'
zone 'api.example fail'
check 'a look-up that fails is on record' wait_for 20 log_has event=resolved failed=api.example
check 'after a while its addresses are shut' wait_for 20 is_shut 192.0.2.20
zone 'api.example 1 192.0.2.30'
check 'a name that comes back is open again' wait_for 20 leads_to 192.0.2.30
equal 'and reached' "$(step hold back 192.0.2.30)" 'hello 192.0.2.30'
check 'no resolver is left' wait_for 20 sh -c '! pgrep -x agentcell-name'
ended 'the session ends clean'
nothing_left 'after names that failed'
refute 'cloud metadata was never reached' grep -Eq '169.254|10.20' /run/visits

net_stop
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# The firewall of sessions in a network namespace of their own, with a world behind a cable: elements and
# read-back there, what is on record of a refused destination, and what becomes of a session when somebody
# takes the table away, when the listener dies, and of connections that outlive their session.
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"

net=$build/cell/net
log=/run/visits
: >$log

# --- the session's network, and the world
ip netns add cellnet && ip netns add world || exit 1
inside() { nsenter --net=/run/netns/cellnet "$@"; }
outside() { nsenter --net=/run/netns/world "$@"; }
ip link add host0 netns cellnet type veth peer name world0 netns world
inside sh -c 'ip link set lo up; ip addr add 192.0.2.100/24 dev host0; ip link set host0 up
	ip route add default via 192.0.2.1'
outside sh -c 'ip link set lo up; ip link set world0 up
	for a in 192.0.2.1/24 198.51.100.1/32 169.254.169.254/32; do ip addr add $a dev world0; done'
serve() { # log command... : until it is ready
	serve_log=$1
	shift
	: >"$serve_log" && chmod 666 "$serve_log"
	mkfifo "$serve_log.ready"
	"$@" >"$serve_log.ready" 2>&1 8>&- &
	read -r _ <"$serve_log.ready"
}
serve $log outside "$net" serve $log tcp:192.0.2.1:443 tcp:192.0.2.1:80 tcp:198.51.100.1:443 \
	tcp:169.254.169.254:80
serve /run/user.log inside setpriv --reuid other --regid other --clear-groups "$net" serve /run/user.log \
	tcp:127.0.0.1:7000

sed -i '/^\[firewall\]/a endpoints = 192.0.2.1:443' /etc/agentcell/agentcell.conf
listener_stop && listener_start || exit 1
enter='nsenter --net=/run/netns/cellnet'
there() { # user command...: a session of hers in that network
	there_user=$1
	shift
	# shellcheck disable=SC2086
	(cd "/home/$there_user/project" && exec $enter setpriv --reuid "$there_user" \
		--regid "$there_user" --init-groups env -i PATH=/usr/bin:/bin HOME="/home/$there_user" \
		USER="$there_user" LOGNAME="$there_user" LANG=C TERM=dumb \
		sudo -n -u agentcell-worker "$@" 8>&-)
}

cat >/home/dev/project/reach <<-'END'
	#!/usr/bin/python3
	# reach address port...: what becomes of a connection, one line each
	import errno, socket, sys
	for word in sys.argv[1:]:
	    address, port = word.rsplit(":", 1)
	    with socket.socket() as s:
	        s.settimeout(3)
	        code = s.connect_ex((address, int(port)))
	        print(word, errno.errorcode.get(code, "open") if code else "open", flush=True)
END
cat >/home/dev/project/stay <<-'END'
	#!/usr/bin/python3
	# Tries the user's server over and over, and says so; ends when the file "stop" is there.
	import os, socket, time
	open("up", "w").close()
	tries = 0
	while not os.path.exists("stop"):
	    with socket.socket() as s:
	        s.setblocking(False)
	        s.connect_ex(("127.0.0.1", 7000))
	    tries += 1
	    if tries % 20 == 0:
	        with open("tries", "w") as f:
	            f.write(str(tries))
	    time.sleep(0.003)
END
chmod 755 /home/dev/project/reach /home/dev/project/stay

# --- controls, and where the elements are
equal 'control: somebody else reaches the world' \
	"$(inside setpriv --reuid other --regid other --clear-groups /home/dev/project/reach 2>&1; \
		cp /home/dev/project/reach /run/reach; inside setpriv --reuid other --regid other \
		--clear-groups /run/reach 192.0.2.1:80 198.51.100.1:443 127.0.0.1:7000 | grep -c open)" \
	"/usr/bin/python3: can't open file '/home/dev/project/reach': [Errno 13] Permission denied
3"
: >$log; : >/run/user.log
there dev sh -c './reach 192.0.2.1:443; id -u >uid; touch up; until [ -e stop ]; do sleep 0.05; done' \
	>/run/out 2>/run/err &
job=$!
check 'a session runs in that network' wait_for 60 test -e /home/dev/project/up
[ -e /home/dev/project/up ] || {
	cat /run/err /run/listener.log
	exit 1
}
uid=$(cat /home/dev/project/uid)
check 'it reaches its endpoint' grep -qx '192.0.2.1:443 open' /run/out
check 'its elements are there' sh -c "nsenter --net=/run/netns/cellnet nft list set inet agentcell allow4 |
	grep -q '$uid . 192.0.2.1 . 443'"
refute 'and not in the listener'\''s network' sh -c "nft list set inet agentcell allow4 | grep -q '$uid '"
check 'the guard is there too' sh -c \
	"nsenter --net=/run/netns/cellnet nft list tables | grep -q 'agentcell-guard'"
check 'the terms say the rule in words' grep -q 'network *TCP to 192.0.2.1:443; nothing else; loopback' /run/err
as dev agentcell sessions --json >/run/sessions
check 'sessions --json shows the elements and their counters' /usr/bin/python3 - <<-'END'
	import json
	session, = json.load(open("/run/sessions"))
	flow, = [f for f in session["firewall"]["endpoints"] if f["port"] == 443]
	assert flow["address"] == "192.0.2.1" and flow["packets"] > 2 and flow["bytes"] > 100, flow
	assert session["firewall"]["refused"] == 0 and "192.0.2.1:443" in session["firewall_rule"]
END
touch /home/dev/project/stop
wait $job
equal 'it ends by itself' "$?" 0
nothing_left 'a session in that network'
check 'nor there' sh -c "! nsenter --net=/run/netns/cellnet nft list table inet agentcell | grep -q '$uid \. '"
refute 'the guard of that network is gone' sh -c \
	"nsenter --net=/run/netns/cellnet nft list tables | grep -q agentcell-guard"

# --- what is on record of a refused destination
: >$log
there dev sh -c "./reach 198.51.100.1:443; sleep 60" >/run/out 2>/run/err
equal 'an undeclared destination ends the session' "$?" 137
check 'on record: address and port, process, verdict' \
	log_has event=escape operation=network target=198.51.100.1:443 comm=reach reason='not a declared' class=network
check 'the report says so too' grep -q 'tried: *network 198.51.100.1:443' /run/err
# `ip netns exec` also covers /sys, where the cgroups are.
enter='ip netns exec cellnet'
there dev ./reach 192.0.2.1:443 169.254.169.254:80 >/run/out 2>/run/err
check 'by ip netns exec: it reaches its endpoint' grep -qx '192.0.2.1:443 open' /run/out
check 'cloud metadata is an escape too' log_has event=escape target=169.254.169.254:80 comm=reach
enter='nsenter --net=/run/netns/cellnet'
equal 'the world has seen neither' "$(cat $log)" 'tcp 192.0.2.1 443'
nothing_left 'refused destinations'

# --- somebody takes the table away
take_away() { # name command...: while a session tries to get out
	name=$1
	shift
	rm -f /home/dev/project/up /home/dev/project/stop /home/dev/project/tries
	: >/run/user.log
	there dev ./stay >/run/out 2>/run/err &
	job=$!
	wait_for 60 test -s /home/dev/project/tries || {
		tap_fail "$name: the session runs" "$(cat /run/err /run/listener.log)"
		finish
	}
	"$@" >/dev/null
	wait $job
	status=$?
	equal "$name: the session is ended" "$status" 137
	equal "$name: nothing got through meanwhile" "$(cat /run/user.log)" ''
	check "$name: the report says why" grep -q 'its firewall was changed' /run/err
	nothing_left "$name"
}
ended_lost() {
	/usr/bin/python3 - <<-END
		import json
		count = sum(r.get("event") == "end" and r.get("cause") == "lost" for r in map(json.loads, open("$json_log")))
		raise SystemExit(count != $1)
	END
}
take_away 'nft flush ruleset' inside nft flush ruleset
take_away 'nft delete table' inside nft delete table inet agentcell
take_away 'nft flush chain' inside nft flush chain inet agentcell cell
take_away 'a table that sleeps' inside nft 'add table inet agentcell { flags dormant; }'
inside nft 'add table inet agentcell { flags dormant; }; delete table inet agentcell'
printf 'flush ruleset\ntable inet site {\n chain in { type filter hook input priority filter; }\n}\n' >/run/site.nft
take_away 'a reload of the site'\''s rules' inside nft -f /run/site.nft
take_away 'an endpoint that somebody adds' sh -c 'nsenter --net=/run/netns/cellnet nft \
	"add element inet agentcell allow4 { $(cat /home/dev/project/.uid 2>/dev/null ||
	nsenter --net=/run/netns/cellnet nft list set inet agentcell session | grep -o "70[0-9]*") . 192.0.2.1 . 80 }"'
check 'each is on record as lost' ended_lost 6
check 'with the reason' log_has event=lost reason='not whole any more' outcome='the session ends'

# What others do to their own tables is their business.
rm -f /home/dev/project/tries
there dev ./stay >/run/out 2>/run/err &
job=$!
wait_for 60 test -s /home/dev/project/tries
inside nft 'add table inet another; add chain inet another in; delete table inet another'
inside nft flush table inet site
rm -f /home/dev/project/tries
check 'control: a change of other tables ends nothing' wait_for 60 test -s /home/dev/project/tries
touch /home/dev/project/stop
wait $job
equal 'control: it ends by itself' "$?" 0

no_agent() {
	[ -z "$(range_processes)" ]
}

# --- the listener dies, and sudo with it
rm -f /home/dev/project/stop /home/dev/project/tries
: >/run/user.log
there dev ./stay >/run/out 2>/run/err &
job=$!
wait_for 60 test -s /home/dev/project/tries
check 'its sudo is found' test -n "$(own_sudo)"
# shellcheck disable=SC2046
kill -9 $(own_sudo) "$listener"
wait $job
wait "$listener"
check 'listener and sudo killed: no agent process' wait_for 60 no_agent
equal 'nothing got through meanwhile' "$(cat /run/user.log)" ''
elements_there() {
	inside nft list set inet agentcell allow4 | grep -q '70[0-9][0-9][0-9] \. 192'
}
check 'control: its elements are still in that network' elements_there
rm -f /run/listener.ready
listener_start
nothing_left 'listener and sudo killed'
refute 'the next listener takes them out there' elements_there

# --- sockets from outside
cat >/run/lend <<-'END'
	#!/usr/bin/python3
	# A connection of somebody else's as the command's standard input.
	import os, socket, sys
	s = socket.create_connection(("192.0.2.1", 80)) if sys.argv[1] == "tcp" else socket.socketpair()[0]
	os.dup2(s.fileno(), 0)
	os.execvp(sys.argv[2], sys.argv[2:])
END
chmod 755 /run/lend
lend() { # tcp|pair
	(cd /home/dev/project && exec nsenter --net=/run/netns/cellnet setpriv --reuid dev --regid dev --init-groups \
		env -i PATH=/usr/bin:/bin HOME=/home/dev USER=dev LOGNAME=dev LANG=C TERM=dumb \
		/run/lend "$1" sudo -n -u agentcell-worker sh -c 'touch /home/dev/project/lent' 8>&-) >/run/out 2>/run/err
}
rm -f /home/dev/project/lent
lend tcp
refute 'an inherited TCP socket is not accepted' test -e /home/dev/project/lent
check 'it says why' grep -qi 'socket' /run/err
lend pair
check 'control: a unix socket is' test -e /home/dev/project/lent

# A connection that the session hands to a helper outside is still its own: with the session it is over.
cat >/home/dev/project/hand <<-'END'
	#!/usr/bin/python3
	import array, os, socket, time
	s = socket.create_connection(("192.0.2.1", 443))
	assert s.recv(5) == b"hello"
	with socket.socket(socket.AF_UNIX) as way:
	    way.connect("helper")
	    way.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
	    way.recv(1)
	s.close()
	open("handed", "w").close()
	while not os.path.exists("stop"):
	    time.sleep(0.02)
END
cat >/home/dev/project/helper.py <<-'END'
	#!/usr/bin/python3
	import array, errno, os, socket, time
	at = socket.socket(socket.AF_UNIX)
	at.bind("helper")
	os.chmod("helper", 0o777)
	at.listen()
	way, _ = at.accept()
	_, ancillary, _, _ = way.recvmsg(1, socket.CMSG_SPACE(4))
	s = socket.socket(fileno=array.array("i", ancillary[0][2])[0])
	def use():
	    try:
	        s.send(b"x")
	        return "open" if s.recv(1) else "closed"
	    except OSError as error:
	        return errno.errorcode[error.errno]
	s.settimeout(3)
	print("while it runs", use(), flush=True)
	way.send(b"x")
	while not os.path.exists("over"):
	    time.sleep(0.02)
	print("afterwards", use(), flush=True)
END
chmod 755 /home/dev/project/hand /home/dev/project/helper.py
rm -f /home/dev/project/stop
as dev ./helper.py >/run/helper 2>&1 &
helper=$!
wait_for 60 test -S /home/dev/project/helper
there dev ./hand >/run/out 2>/run/err &
job=$!
check 'a session hands its connection to a process of the user' wait_for 60 test -e /home/dev/project/handed
touch /home/dev/project/stop
wait $job
touch /home/dev/project/over
wait $helper
check 'control: it works while the session runs' grep -qx 'while it runs open' /run/helper
check 'and is dead with the session' grep -Eqx 'afterwards (ECONNRESET|EPIPE)' /run/helper
nothing_left 'a connection handed out'
ip netns del cellnet
ip netns del world
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# A server that an agent starts on loopback: its own session reaches it; the user who asked for the session
# does with dev_server = allow; nobody else ever does.
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"

cat >/home/dev/project/server <<-'END'
	#!/usr/bin/python3
	# Greets whoever comes, over IPv4 and IPv6; its port stands in the file "port", visits in "visits".
	import os, select, socket
	four = socket.socket()
	four.bind(("127.0.0.1", 0))
	port = four.getsockname()[1]
	six = socket.socket(socket.AF_INET6)
	six.bind(("::1", port))
	for s in four, six:
	    s.listen()
	with open("port.new", "w") as f:
	    f.write(str(port))
	with socket.create_connection(("127.0.0.1", port), 5) as own:
	    four.accept()[0].send(b"hello")
	    open("own", "wb").write(own.recv(5))
	os.rename("port.new", "port")
	while not os.path.exists("stop"):
	    for s in select.select([four, six], [], [], 0.05)[0]:
	        visitor, _ = s.accept()
	        visitor.send(b"hello")
	        visitor.close()
	        open("visits", "ab").write(b"x")
END
cat >/run/visit <<-'END'
	#!/usr/bin/python3
	# visit address port: what the server says, or why not
	import socket, sys
	try:
	    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 10) as s:
	        print(s.recv(5).decode())
	except OSError as error:
	    print(error.strerror or error)
END
chmod 755 /home/dev/project/server /run/visit
cp /run/visit /home/dev/project/visit
cp /run/visit /home/other/project/visit

visit() { # user address
	setpriv --reuid "$1" --regid "$1" --clear-groups /run/visit "$2" "$port"
}

session_start() { # waits until its server is up
	rm -f /home/dev/project/port /home/dev/project/stop /home/dev/project/own
	: >/home/dev/project/visits
	chown dev:dev /home/dev/project/visits
	agent dev ./server >/run/out 2>/run/err &
	job=$!
	wait_for 60 test -e /home/dev/project/port || cat /run/out /run/err >&2
	port=$(cat /home/dev/project/port)
	equal "$1: the session reaches its own server" "$(cat /home/dev/project/own)" hello
}

session_end() { # name
	touch /home/dev/project/stop
	wait $job
	equal "$1: it ends by itself" "$?" 0
	nothing_left "$1"
}

# --- dev_server = deny, the default
session_start deny
check 'deny: the terms say what loopback is' grep -q 'network .*loopback within the session' /run/err
for address in 127.0.0.1 ::1; do
	for user in dev other root; do
		equal "deny: $user does not reach it at $address" "$(visit $user $address)" 'Connection refused'
	done
done
equal 'deny: nobody has been there' "$(cat /home/dev/project/visits)" ''
session_end deny

# --- dev_server = allow
sed -i '/^\[firewall\]/a dev_server = allow' /etc/agentcell/agentcell.conf
listener_stop && listener_start || exit 1
session_start allow
check 'allow: the terms say so' grep -q 'network .*its servers on loopback are open to you' /run/err
for address in 127.0.0.1 ::1; do
	equal "allow: the user reaches it at $address" "$(visit dev $address)" hello
	for user in other root; do
		equal "allow: $user does not at $address" "$(visit $user $address)" 'Connection refused'
	done
done
equal 'allow: two visits' "$(cat /home/dev/project/visits)" xx
agent other ./visit 127.0.0.1 "$port" >/run/foreign 2>/dev/null
equal 'allow: a session of another user does not' "$(cat /run/foreign)" 'Connection refused'
mkdir /home/dev/second && cp /run/visit /home/dev/second/ && chown -R dev:dev /home/dev/second
(cd /home/dev/second && exec setpriv --reuid dev --regid dev --init-groups env -i PATH=/usr/bin:/bin HOME=/home/dev \
	USER=dev LOGNAME=dev LANG=C TERM=dumb sudo -n -u agentcell-worker ./visit 127.0.0.1 "$port" 8>&-) \
	>/run/foreign 2>/dev/null
equal 'allow: nor does another session of the same user' "$(cat /run/foreign)" 'Connection refused'
equal 'allow: still two visits' "$(cat /home/dev/project/visits)" xx
equal 'allow: the user still does' "$(visit dev 127.0.0.1)" hello
session_end allow
equal 'allow: afterwards nobody serves there' "$(visit dev 127.0.0.1)" 'Connection refused'
finish

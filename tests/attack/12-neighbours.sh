#!/bin/sh
# SPDX-License-Identifier: ISC
# attacks.md 7, 22, 23, 24, 26, 33, 35: services, sockets, agents, displays, descriptors, and other
# sessions.  Each against one that really listens.
. "$(dirname "$0")/lib.sh"

serve() { # a Unix socket's name ("@" first: abstract), or a TCP port: writes what comes to /run/seen
	/usr/bin/python3 - "$1" 8>&- <<-'END' &
		import os, socket, sys
		name = sys.argv[1]
		if name.isdigit():
		    server = socket.create_server(("127.0.0.1", int(name)))
		else:
		    server = socket.socket(socket.AF_UNIX)
		    server.bind("\0" + name[1:] if name[0] == "@" else name)
		    if name[0] != "@":
		        os.chmod(name, 0o666)
		    server.listen()
		open("/run/serving", "w").write("yes")
		while True:
		    peer = server.accept()[0]
		    open("/run/seen", "a").write(peer.recv(100).decode() + "\n")
		    peer.sendall(b"secret answer\n")
		    peer.close()
	END
	server=$!
	wait_for 30 test -e /run/serving
	rm -f /run/serving /run/seen
}

talk="python3 -c '
import socket, sys
name = sys.argv[1]
s = socket.socket(socket.AF_INET if name.isdigit() else socket.AF_UNIX)
s.settimeout(5)
s.connect((\"127.0.0.1\", int(name)) if name.isdigit() else \"\\0\" + name[1:] if name[0] == \"@\" else name)
s.sendall(b\"hello\")
print(s.recv(100).decode())'"

# reach NAME SOCKET escapes|refused TARGET
reach() {
	serve "$2"
	control "$1" "$talk $2 | grep -q secret"
	rm -f /run/seen
	case $3 in
	escapes) escapes "$1" "$4" "$talk $2" ;;
	refused) refused "$1" "$4" "! $talk $2 2>/dev/null && echo good" ;;
	esac
	refute '... it saw nothing' test -e /run/seen
	kill "$server"
	rm -f "$2"
}

# --- 22: daemons that run anything
mkdir -p /run/dbus /run/user/1001 /run/podman && chown dev /run/user/1001
reach 'the Docker socket' /run/docker.sock escapes docker.sock
reach 'the system bus' /run/dbus/system_bus_socket escapes system_bus_socket
groupadd -r docker && usermod -aG docker dev
control 'be in the group docker' 'id -Gn | grep -qw docker'
refused 'be in the group docker' '' 'test "$(id -G)" = "$(id -u)" && echo good'

# --- 23, 24: agents, displays, clipboards
mkdir -m 1777 /tmp/.X11-unix
reach 'the display, by its abstract socket' @/tmp/.X11-unix/X0 escapes X0
reach 'the display, by its socket' /tmp/.X11-unix/X1 refused ''
reach 'the keyring' /run/user/1001/keyring escapes keyring
# Refused like a port where nobody listens, which an honest program may ask.
reach 'a listener on loopback' 4711 refused ''
ssh_agent() {
	eval "$(setpriv --reuid dev --regid dev --init-groups ssh-agent -s)" >/dev/null
	check 'control: an agent of the user answers' as dev env SSH_AUTH_SOCK="$SSH_AUTH_SOCK" sh -c 'ssh-add -l; test $? = 1'
	: >"$json_log"
	as dev env SSH_AUTH_SOCK="$SSH_AUTH_SOCK" DISPLAY=:0 WAYLAND_DISPLAY=wayland-0 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1001/bus \
		XDG_RUNTIME_DIR=/run/user/1001 ANTHROPIC_BASE_URL=http://127.0.0.1:4711 GITHUB_TOKEN=secret LD_PRELOAD=/x GIT_DIR=/x \
		sudo -n -u $role sh -c "env; test ! -e $SSH_AUTH_SOCK && echo good" >/run/out 2>/run/err
	equal 'the agent is not there' "$(tail -n 1 /run/out)" good
	refute '... and no variable names it, a display, a bus, a proxy or a token' \
		grep -Eq '^(SSH_|DISPLAY|WAYLAND|DBUS|ANTHROPIC|GITHUB|LD_|GIT_|XDG_RUNTIME)' /run/out
	kill "$SSH_AGENT_PID"
}
if command -v ssh-agent >/dev/null; then
	ssh_agent
else
	skip 'an agent of ssh' 'needs openssh-client'
fi
sleep 60 8>&- &
victim=$!
control 'signal a process of the own uid' 'sleep 60 & kill $!'
refused 'signal a process of the host' '' "! kill -0 $victim 2>/dev/null && ! kill -9 $victim 2>/dev/null && echo good"
check '... it lives' kill -0 "$victim"
kill "$victim"

# --- 26: descriptors
control 'read from an inherited descriptor' 'exec 7<~/.ssh/id_ed25519; sh -c "grep -q secret <&7"'
: >"$json_log"
as dev sh -c "exec 7<$home/.ssh/id_ed25519 8<$home; exec sudo -n -u $role sh -c 'ls /proc/self/fd; ! cat <&7; ! ls /proc/self/fd/8/; echo good'" >/run/out 2>/run/err
equal 'read from an inherited descriptor: refused' "$(tail -n 1 /run/out)" good
refute '... it is closed' grep -Eq '^(7|8)$|secret' /run/out
for what in "<$home" '</dev/vda' ">$home/x 2<$home"; do
	[ "$what" != '</dev/vda' ] || [ -b /dev/vda ] || continue
	as_what="exec $what; exec sudo -n -u $role touch ran"
	rm -f $project/ran
	setpriv --reuid dev --regid dev --init-groups sh -c "cd $project; $as_what" >/dev/null 2>&1
	refute "a session with 0, 1, 2 from $what does not start" test -e $project/ran
done

# --- 33: a second session of the same user
mkdir $home/second && chown dev:dev $home/second
cat >$project/first <<-'END'
	echo secret >~/mine; echo secret >/tmp/mine; echo secret >/dev/shm/mine
	python3 -c '
import ctypes, mmap, os, socket, time
libc = ctypes.CDLL(None)
libc.shmget(4711, 4096, 0o1666); libc.msgget(4711, 0o1666)
libc.mq_open(b"/mine", os.O_CREAT | os.O_RDWR, 0o666, None)
s = socket.socket(socket.AF_UNIX); s.bind("\0mine"); s.listen()
open("ready", "w").write("%d %d" % (os.getpid(), os.getuid()))
while not os.path.exists("stop"): time.sleep(0.05)'
END
cat >$home/second/probe <<-'END'
	import ctypes, os, socket, sys
	pid, home = int(sys.argv[1]), sys.argv[2]
	libc = ctypes.CDLL(None, use_errno=True)
	def say(name, got): print(name, "yes" if got else "no")
	def attempt(function):
	    try: return function()
	    except OSError: return False
	say("home", attempt(lambda: open(home + "/mine").read()))
	say("tmp", attempt(lambda: open("/tmp/mine").read()))
	say("shm", attempt(lambda: open("/dev/shm/mine").read()))
	say("sysv", libc.shmget(4711, 4096, 0) >= 0 or libc.msgget(4711, 0) >= 0)
	say("mqueue", libc.mq_open(b"/mine", os.O_RDWR, 0, None) >= 0)
	say("proc", os.path.exists("/proc/%d" % pid) or attempt(lambda: open("/proc/%d/environ" % pid, "rb").read()))
	say("signal", attempt(lambda: os.kill(pid, 0) is None))
END
chown -R dev:dev $project/first $home/second
agent dev sh ./first >/run/first 2>&1 &
first=$!
wait_for 60 test -s $project/ready
read -r first_pid first_uid <$project/ready
first_home=$(find /run/userdb -name 'agentcell-*.user' 2>/dev/null | head -n 1)
first_home=/home/$(basename "${first_home:-agentcell-x.user}" .user)
outside "python3 $home/second/probe $$ $home" >/run/out
check 'control: processes see each other, outside' grep -q 'proc yes' /run/out
: >"$json_log"
(cd $home/second && setpriv --reuid dev --regid dev --init-groups env -i PATH=/usr/bin HOME=$home USER=dev sudo -n -u $role \
	sh -c "id -u; python3 probe $first_pid $first_home" >/run/out 2>/run/err 8>&-)
refute 'two sessions of one user have two uids' grep -qx "$first_uid" /run/out
for what in home tmp shm sysv mqueue proc signal; do
	check "... $what of the first: no" grep -qx "$what no" /run/out
done
second() { # script: in the second project
	: >"$json_log"
	(cd $home/second && setpriv --reuid dev --regid dev --init-groups env -i PATH=/usr/bin HOME=$home USER=dev \
		sudo -n -u $role sh -c "$1" >/run/out 2>/run/err 8>&-)
	status=$?
}
second "$talk @mine; sleep 5"
equal '... its abstract socket: killed' "$status" 137
check '... on record' log_has event=escape target=mine
second "python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(16, $first_pid, 0, 0))'; sleep 5"
equal '... ptrace: killed' "$status" 137
check '... on record' log_has event=escape operation=privilege
check '... and the first lives' kill -0 "$first"
touch $project/stop
wait "$first"
equal '... and ends by itself' "$?" 0

# --- 35: temporary files of the host
echo 'secret of the host' >/tmp/secret && chmod 644 /tmp/secret
control "read the host's /tmp" 'grep -q secret /tmp/secret'
refused "read the host's /tmp" '' 'test -z "$(ls -A /tmp)" && ! cat /tmp/secret 2>/dev/null && echo good'
ln -s /etc/passwd /tmp/link
refused 'links in /tmp lead the host nowhere' '' 'for i in 1 2 3; do ln -s /etc/passwd /tmp/agentcell-$i; done; echo good'
refute '... nothing came of it' sh -c 'ls /tmp | grep agentcell-'
check 'all state of the suite is closed to users' sh -c '! setpriv --reuid dev --regid dev --clear-groups touch /run/agentcell/x /run/agentcell/sessions/x /run/agentcell/uids/x /var/lib/agentcell/x /var/log/agentcell/x'
nothing_left neighbours
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# Two sessions of two users at once: neither sees files, processes, signals, IPC, sockets or /tmp of
# the other; each sees its own (the positive control).
. "$(dirname "$0")/../lib/session.sh"

# The first session makes one of everything and waits for a word in its project.
cat >/home/dev/project/first <<-'END'
	#!/bin/sh
	echo secret >/tmp/shared; echo secret >/dev/shm/shared; echo secret >"$HOME/mine"
	ipcmk -Q >ipc 2>&1; ipcmk -M 64 >>ipc 2>&1
	/usr/bin/python3 - <<-'PY' &
		import socket, time
		abstract = socket.socket(socket.AF_UNIX); abstract.bind("\0agentcell-test"); abstract.listen()
		tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen()
		open("port", "w").write(str(tcp.getsockname()[1]))
		time.sleep(60)
	PY
	id -u >uid; echo $$ >pid; hostname >host
	until [ -s port ]; do sleep 0.05; done
	cat >probe <<-'PROBE'
		#!/usr/bin/python3
		import os, socket, sys
		uid, pid, port, user = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
		def say(name, act):
		    try:
		        act(); print(name, "yes", flush=True)
		    except OSError as error:
		        print(name, "no", error.strerror, flush=True)
		seen = [p for p in os.listdir("/proc") if p.isdigit() and os.stat("/proc/" + p).st_uid == uid]
		print("processes", "yes" if seen else "no", flush=True)
		say("tmp", lambda: open("/tmp/shared").read())
		say("shm", lambda: open("/dev/shm/shared").read())
		queues = open("/proc/sysvipc/msg").read().count("\n") - 1
		print("ipc", "yes" if queues else "no", flush=True)
		def connect(family, address):
		    with socket.socket(family) as s:
		        s.settimeout(2); s.connect(address)
		say("abstract", lambda: connect(socket.AF_UNIX, "\0agentcell-test"))
		say("tcp", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
	PROBE
	chmod 755 probe; ./probe "$(cat uid)" $$ "$(cat port)" dev >own
	touch ready
	while [ ! -e stop ]; do sleep 0.1; done
END
chmod 755 /home/dev/project/first && chown dev:dev /home/dev/project/first
agent dev ./first >/run/first 2>&1 &
first=$!
wait_for 20 test -e /home/dev/project/ready
check 'the first session is up' test -e /home/dev/project/ready
cp /home/dev/project/probe /home/other/project/probe
uid=$(cat /home/dev/project/uid)
port=$(cat /home/dev/project/port)
# Foreign loopback is an escape at medium risk: each probe of the network is a session of its own.
agent other ./probe "$uid" 1 "$port" other >/run/foreign 2>/run/foreign.err
for what in processes tmp shm ipc abstract tcp; do
	check "control: the first session has its own $what" grep -q "^$what yes" /home/dev/project/own
	refute "the second does not reach its $what" grep -q "^$what yes" /run/foreign
done
check 'the probe ran' grep -q '^processes no' /run/foreign
# Signals: from the second session, kill(2) of everything that it can name.
agent other sh -c 'kill -9 -1; true' >/dev/null 2>&1
check 'the first session outlives kill -9 -1 of the second' kill -0 "$first"
check 'files: the second does not read the project of the first' sh -c "! grep -q . /run/none 2>/dev/null"
agent other sh -c 'ls /home /home/dev/project 2>&1; cat /home/dev/project/text' >/run/out 2>&1
refute 'nor its text' grep -q 'text of dev' /run/out
agent other sh -c 'id -u' >/run/out 2>/dev/null
refute 'uids differ' grep -qx "$uid" /run/out
check 'the first is still there' kill -0 "$first"
touch /home/dev/project/stop
wait "$first"
equal 'and ends by itself, cleanly' "$?" 0
# Who has a uid only as saved uid is met beside the backup, not by the lease: that session says so, and
# the next one has another uid.
stranger=$(($(cat /run/agentcell/uids/.last) + 1))
/usr/bin/python3 -c "import os, time
os.setresuid(0, 0, $stranger)
open('/run/strange', 'w').close()
time.sleep(120)" 8>&- &
strange=$!
wait_for 20 test -e /run/strange
agent dev touch /home/dev/project/ran >/run/out 2>&1
refute 'a session does not start with a uid that a stranger has' test -e /home/dev/project/ran
check 'it says so, and what to do' grep -q "uid $stranger is in use by 1 .*next session takes another" /run/out
check 'the next one starts' agent dev touch /home/dev/project/ran
check 'and ran' test -e /home/dev/project/ran
kill "$strange"
wait "$strange" 2>/dev/null
nothing_left 'two users'
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# The listener as a process: what it may do, its socket under garbage and crowds, its log when rotated.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start
status_of() { # field
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$listener/status"
}
equal 'no new privileges' "$(status_of NoNewPrivs)" 1
equal 'a filter of system calls' "$(status_of Seccomp)" 2
# CAP_NET_RAW, SYS_MODULE, SYS_RAWIO, SYS_BOOT, SYS_TIME, MKNOD, SETPCAP, LINUX_IMMUTABLE
for number in 13 16 17 22 25 27 8 9; do
	equal "capability $number is dropped" $((0x$(status_of CapPrm) >> number & 1)) 0
done
equal 'the capability to read the stream is held' $((0x$(status_of CapEff) >> 37 & 1)) 1
if [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 14 & 1)) = 1 ]; then
	check 'its memory is locked' test "$(status_of VmLck | tr -dc 0-9)" -gt 1000
else
	skip 'its memory is locked' 'kernel: no CAP_IPC_LOCK here'
fi
realtime() { # threads with SCHED_FIFO; the name in the record may hold blanks
	for task in "/proc/$listener"/task/*; do
		sed 's/.*) //' "$task/stat"
	done | awk '$39 == 1' | wc -l
}
if grep -q 'without real-time priority' /run/listener.log; then
	skip 'its hot threads have real-time priority' 'kernel: it is not allowed here'
else
	equal 'its hot threads have real-time priority' "$(realtime)" $(($(nproc) > 1 ? 2 : 1))
fi

# A session meanwhile must not notice any of this.
"$session" -u 71002 -p /home/dev/project -w 90 -- \
	sh -c ': >up; while [ ! -e go ]; do sleep 0.1; done; ls /srv; : >did; while [ ! -e stop ]; do sleep 0.1; done' \
	>/run/beside 2>&1 8>&- &
beside=$!
wait_for 20 test -e up
before=$(find "/proc/$listener/fd" -mindepth 1 | wc -l)
cat >/run/garbage.py <<'END'
import os, random, socket, sys
random.seed(7)

def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect("/run/agentcell/agentcelld.sock")
    return s

def closed(s):
    try:
        return s.recv(65536) == b""
    except ConnectionResetError:
        return True

if sys.argv[1] == "garbage":
    null = os.open("/dev/null", os.O_RDWR)
    for size in (1, 2, 7, 8, 64, 255, 1000, 4096, 8192, 16384, 65536):
        for fds in (0, 1, 2, 100):
            s = connect()
            socket.send_fds(s, [random.randbytes(size)], [null] * fds)
            if not closed(s):
                sys.exit("%d bytes with %d descriptors: still connected" % (size, fds))
elif sys.argv[1] == "crowd":
    crowd = [connect() for _ in range(40)]
    for s in crowd:
        s.settimeout(1)
    refused = 0
    for s in crowd:
        try:
            refused += closed(s)
        except socket.timeout:
            pass
    sys.exit(refused != 40 - 16 and "%d of 40 were refused" % refused)
elif sys.argv[1] == "foreign":
    sys.exit(not closed(connect()) and "connected")
END
check 'garbage ends its connection, from root' /usr/bin/python3 /run/garbage.py garbage
as_uid() { # uid words...
	as_uid=$1
	shift
	setpriv --reuid "$as_uid" --regid "$as_uid" --clear-groups /usr/bin/python3 /run/garbage.py "$@"
}
check '... and from a user' as_uid 1234 garbage
check 'a user has sixteen connections' as_uid 1234 crowd
no_more_than_before() { # one that was open for a moment at the first count may be gone
	test "$(find "/proc/$listener/fd" -mindepth 1 | wc -l)" -le "$before"
}
wait_for 5 no_more_than_before
check 'descriptors that came along are closed' no_more_than_before
mkdir -p /run/agentcell/uids
: >/run/agentcell/uids/71500 # leased: else the process would be killed as a stray
check "a session's own uid is not served" as_uid 71500 foreign
rm /run/agentcell/uids/71500

mv $json_log $json_log.1
kill -HUP "$listener"
: >go
wait_for 20 test -e did
check 'the log was rotated: the next line is in a new file' wait_for 10 grep -q '"event":"denied"' $json_log
refute 'and not in the old one' grep -q '"event":"denied"' $json_log.1
: >stop
wait "$beside"
equal 'a session beside all this ended clean' "$?" "$clean"
run -- cat /home/dev/.ssh/id_ed25519
equal 'and the next one is watched' "$status" "$escape"
listener_stop

agentcelld=$build/audit/agentcelld-brisk # whose minute is a second
listener_start
run -- sh -c 'ls /srv; ls /srv; sleep 4'
equal 'a session with a heart' "$status" "$clean"
check 'beats' test "$(logged heartbeat)" -ge 2
check 'and counts' test "$(logged heartbeat '"denied":2,"suppressed":0,"lost":0')" -ge 1
check 'nothing is left' nothing_left
listener_stop
finish

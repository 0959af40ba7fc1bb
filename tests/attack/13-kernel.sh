#!/bin/sh
# SPDX-License-Identifier: ISC
# attacks.md 38, 40, 41: programs that change privileges, the kernel's rarely used doors, and using up
# the machine.
. "$(dirname "$0")/lib.sh"

# --- 40: other identities
cp /usr/bin/id /usr/bin/suid && chmod 4755 /usr/bin/suid
cp /usr/bin/id /usr/bin/caps && setcap cap_setuid+ep /usr/bin/caps
control 'a set-uid program changes the uid' 'suid | grep -q "euid=0"'
control 'sudo runs for who may' 'sudo -n -l | grep -q agentcell-worker'
escapes 'a set-uid program' suid '/usr/bin/suid'
escapes 'a program with capabilities' caps '/usr/bin/caps'
escapes 'sudo' sudo 'sudo -n id'
escapes 'sudo to another session' sudo "sudo -n -u $role id"
escapes 'su' su 'su root -c id </dev/null'
refused 'capabilities, and new privileges' '' 'grep -q "^CapEff:.0*$" /proc/self/status && grep -q "^CapBnd:\|^CapInh:.0*$" /proc/self/status &&
	grep -q "^NoNewPrivs:.1" /proc/self/status && grep -q "^Seccomp:.2" /proc/self/status && echo good'
refused 'a set-uid bit on a file of its own' '' 'cp /bin/sh s; ! chmod 4755 s 2>/dev/null; ! chmod 2755 s 2>/dev/null; ! install -m 6755 /bin/sh t 2>/dev/null
	! python3 -c "import os; os.mknod(\"n\", 0o104755)" 2>/dev/null; ! python3 -c "import os; os.open(\"o\", os.O_CREAT, 0o4755)" 2>/dev/null; echo good'
equal '... is on no file afterwards' "$(find $project -perm /6000)" ''
control 'a set-uid bit on a file' 'cp /bin/sh s && chmod 4755 s && test -u s && rm s'
for id in setuid setgid setresuid setgroups; do
	escapes "$id" "$id" "python3 -c '
import ctypes
ctypes.CDLL(None).$id(0, 0, 0)'"
done

# --- 41: the kernel's doors.  By number, past the C library.
cat >$home/call.py <<-'END'
	import ctypes, os, sys
	libc = ctypes.CDLL(None, use_errno=True)
	libc.syscall.restype = ctypes.c_long
	arguments = [ctypes.c_long(int(a, 0)) for a in sys.argv[1:]]
	result = libc.syscall(*arguments)
	print("result", result, os.strerror(ctypes.get_errno()) if result < 0 else "")
	sys.exit(result < 0)
END
cp $home/call.py $project/call.py && chown dev:dev $project/call.py
# name, number on x86-64, arguments; "free" where any user outside may do it (the control)
while read -r name free call; do
	[ "$(uname -m)" = x86_64 ] || {
		skip "the call $name" 'kernel: numbers are those of x86-64'
		continue
	}
	[ "$free" != free ] || control "the call $name" "python3 call.py $call | grep -q 'result [0-9]'"
	# shellcheck disable=SC2086
	escapes "the call $name" "$name" "python3 call.py $call"
done <<-'END'
	unshare free 272 0x10000000
	unshare - 272 0x20000
	setns - 308 0 0
	mount - 165 0 0 0 0 0
	umount2 - 166 0 0
	pivot_root - 155 0 0
	chroot - 161 0
	open_tree - 428 -100 0 1
	fsopen - 430 0 0
	bpf - 321 0 0 0
	perf_event_open - 298 0 0 -1 -1 0
	init_module - 175 0 0 0
	finit_module - 313 0 0 0
	kexec_load - 246 0 0 0 0
	open_by_handle_at - 304 0 0 0
	reboot - 169 0 0 0 0
	ptrace - 101 16 1 0 0
END
control 'the call keyctl' "python3 call.py 250 0 -3 0 | grep -q 'result [0-9]'"
for number in 250 248 249 425 426 427 437 435 323; do
	refused "call $number (keys, io_uring, openat2, clone3, userfaultfd)" '' "python3 call.py $number 0 0 0 0 0 | grep -q 'not implemented' && echo good"
done
check 'control: root outside gets a packet socket' python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'
control 'the socket of auditing' "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)'"
for socket in 'AF_PACKET, socket.SOCK_RAW' '40, socket.SOCK_STREAM' 'AF_INET, socket.SOCK_RAW' \
	'AF_NETLINK, socket.SOCK_RAW, 9'; do
	family=${socket%%,*}
	case $family in
	AF_*) family=socket.$family ;;
	esac
	escapes "a socket past the firewall ($socket)" socket "python3 -c 'import socket; socket.socket($family,${socket#*,})'"
done
refused 'a socket of a family that nobody uses' socket "! python3 -c 'import socket; socket.socket(38, socket.SOCK_SEQPACKET)' 2>/dev/null && echo good"

# --- 38: using up.  The machine answers meanwhile, and nothing is left afterwards.
responsive() { # name: a process can be started, in a time that tells a busy machine from one that is used up
	responsive_started=$(date +%s%N)
	/bin/true && as dev /bin/true
	responsive_ms=$((($(date +%s%N) - responsive_started) / 1000000))
	check "$1: the host answers (${responsive_ms} ms)" test "$responsive_ms" -lt 10000
}
during() { # name, settings, script: the host is asked while it runs
	during_name=$1
	: >"$json_log"
	# shellcheck disable=SC2086
	agent dev $2 sh -c "$3" >/run/out 2>/run/err &
	during_pid=$!
	sleep 2
	responsive "$during_name"
	wait "$during_pid"
	status=$?
}
printf '[limits]\nprocesses = 100\nhome_size = 64M\nfile_size = 32M\nopen_files = 256\nmemory = 256M\n' >>/etc/agentcell/agentcell.conf
control 'more processes than a session may have' 'i=0; while [ $i -lt 120 ]; do sleep 2 & i=$((i + 1)); done; wait'
during 'a fork bomb' AGENTCELL_WALL_CLOCK=5 'b() { b | b & }; b; while :; do sleep 1; done'
equal '... ends by the wall clock' "$status" 137
check '... refused inside' grep -Eqi 'cannot fork|resource temporarily|retry' /run/err /run/out
check '... on record as a wall clock' log_has event=end cause=wall_clock
equal '... no process is left' "$(range_processes)" ''
inside 'for d in ~ /tmp /dev/shm; do i=0; while dd if=/dev/zero of=$d/f$i bs=1M count=16 2>&1; do i=$((i + 1)); done; echo "$i files in $d"; done
	dd if=/dev/zero of=fill bs=1M count=100 2>&1; echo good'
equal 'a disk filler ends by itself' "$(tail -n 1 /run/out)" good
equal '... home, /tmp and /dev/shm have an end' "$(grep -c 'No space left' /run/out)" 3
equal '... so has a file of the project' "$(stat -c %s $project/fill)" $((32 << 20))
rm -f $project/fill
inside 'python3 -c "
import os
n = 0
try:
    while True: os.open(\"/dev/null\", 0); n += 1
except OSError as error: print(n, error.strerror)"
echo good'
check 'descriptors have an end' grep -Eq '^2[0-9][0-9] Too many open files' /run/out
if [ -e "$(sandbox_cgroup_root)/cgroup.controllers" ] && grep -qw memory "$(sandbox_cgroup_root)/cgroup.controllers"; then
	during 'a memory hog' AGENTCELL_WALL_CLOCK=20 'python3 -c "x = [bytearray(1 << 20) for i in range(4096)]"; echo good'
	refute '... is refused' grep -q '^good$' /run/out
else
	skip 'a memory hog' 'kernel: no memory controller of cgroup v2 here'
fi
nothing_left kernel
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# The second boot, after the power was cut in the middle of a session: what did that leave?  Then the
# suites to which this kernel makes a difference, and at last the audit rules are locked.
# shellcheck source=tests/vm/lib.sh
. /srv/agentcell/tests/vm/lib.sh

session=$(cat /home/session-of-the-cut)
check 'the listener came up by itself' wait_for 60 listener_answers
check 'boot is complete, no unit failed' sh -c '[ -z "$(systemctl --failed --no-legend)" ]'
nothing_left 'the power cut'
refute 'its account is gone' getent passwd "agentcell-$session"
refute 'nothing in /run names it' sh -c "find /run | grep '$session'"
refute 'nor in the firewall' sh -c "nft list ruleset | grep '$session'"
check 'its start is on record' log_has event=start session_id="$session"
check 'its end too: lost' log_has event=end session_id="$session" status=terminated cause=lost
equal 'once' "$(grep -c "\"event\":\"end\".*$session" "$json_log")" 1
check 'the escape before it is still on record' log_has event=escape target=/home/ada/.ssh
systemctl restart agentcelld
equal 'a restart does not end it again' "$(grep -c "\"event\":\"end\".*$session" "$json_log")" 1
backup=$(as ada agentcell backups --json | /usr/bin/python3 -c '
import json, sys
for backup in json.load(sys.stdin):
    if backup["session_id"] == sys.argv[1]:
        print(backup["backup_id"])' "$session")
check 'its backup is there' test -n "$backup"
check 'and whole: it restores' as ada agentcell restore "$backup"
check 'byte for byte' sh -c 'cd /home/ada/project && sha256sum --quiet -c /home/ada/sums'
check 'a new session works' agent ada true
nothing_left 'a new session'
agentcell doctor >/run/doctor 2>&1
equal 'doctor finds everything in order' "$?" 0

# --- other interfaces of system calls: outside they are there, in a cell the filter refuses and is heard
cp "$tree/build/audit/attack" "$tree/build/vm/attack32" /home/ada/project/ && chown ada: /home/ada/project/attack*
for word in b32 x32; do
	refute "outside, the kernel has $word" sh -c "/home/ada/project/attack $word / | grep -q 'not implemented'"
done
agent ada ./attack x32 / >/run/out 2>&1
equal 'in a cell x32 is an escape' "$?" 137
check 'by its number' grep -q "not the machine's own system call interface" /run/out
refute 'and what it had to say is no process number' grep -q '^x32 [0-9]' /run/out
agent ada ./attack b32 / >/run/out 2>&1
equal 'in a cell int 0x80 is an escape' "$?" 137
equal 'outside, 32-bit programs run' "$(as ada ./attack32 plain /home/ada/.ssh/id_ed25519 | cut -c1-7 | head -1)" 'plain 3'
agent ada ./attack32 plain /home/ada/.ssh/id_ed25519 >/run/out 2>&1
refute 'in a cell none of them lives' grep -q '^plain\|^alive' /run/out
nothing_left 'a 32-bit program'

# --- the suites, in their private copy of this machine
systemctl stop agentcelld
suite() { # program
	timeout -k 10 3000 "$tree/tests/$1" >/run/said 2>&1
	status=$?
	passed=$(grep -c '^ok' /run/said)
	if [ "$status" = 0 ] && [ "$passed" -gt 0 ] && ! grep '# SKIP' /run/said | grep -qv 'SKIP kernel:'; then
		tap_pass "$1: $passed passed"
	else
		tap_fail "$1" "$(grep -v '^ok' /run/said | tail -60; grep SKIP /run/said)"
	fi
}
suite system/30-session.sh
suite system/32-killed.sh
suite audit/30-evasion.sh
suite audit/35-gone.sh
suite vm/abi.sh
suite audit/15-rules.sh
suite audit/20-blind.sh
suite audit/25-overrun.sh

# --- locked with our rules
systemctl start agentcelld
augenrules --load >/dev/null 2>&1
check 'the audit rules can be locked' auditctl -e 2
refute 'and then not be changed' auditctl -D
# Rules that went and came: the listener looks at them for a while before it takes a session.
sessions_again() {
	agent ada true >/run/out 2>&1
}
wait_for 20 sessions_again
for turn in before after; do
	agent ada true >/run/out 2>&1
	equal "locked: a session works ($turn a restart of the listener)" "$?" 0
	agent ada sh -c 'cat /home/ada/.ssh/id_ed25519; sleep 300' >/run/out 2>&1
	equal "locked: an escape is seen ($turn a restart)" "$?" 137
	nothing_left "locked, $turn a restart"
	[ "$turn" = after ] || check 'locked: the listener starts again' systemctl restart agentcelld
done
agentcell doctor >/run/doctor 2>&1
equal 'locked: doctor finds everything in order' "$?" 0
check 'and says that the rules are locked' grep -q 'locked until reboot' /run/doctor

# --- for the next boot: rules without ours, locked
systemctl disable agentcelld
mv /etc/audit/rules.d/40-agentcell.rules /root/
echo '-e 2' >/etc/audit/rules.d/99-finalize.rules
finish

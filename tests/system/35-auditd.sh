#!/bin/sh
# SPDX-License-Identifier: ISC
# Beside auditd and without it: auditing that was off is put back off; a running auditd keeps its pid
# and its rules, may be killed and started while a session runs, and gets our records.
. "$(dirname "$0")/../lib/session.sh"

escape() {
	agent dev sh -c 'cat /home/dev/.ssh/id_ed25519; sleep 20' >/run/out 2>&1
	status=$?
	[ "$status" = 137 ] || cat /run/out
	equal "$1: an escape is seen" "$status" 137
	nothing_left "$1"
}

# --- auditing off, nobody listening
listener_stop
auditctl -e 0 >/dev/null
auditctl -l >/run/rules
listener_start
check 'it is switched on' test "$(sandbox_audit_status enabled)" = 1
escape 'auditing was off'
listener_stop
equal 'it is switched off again' "$(sandbox_audit_status enabled)" 0
check 'the rules are as before' sh -c 'auditctl -l | diff /run/rules -'

# --- beside auditd, with a company's rules
if [ "$(sandbox_audit_status pid)" != 0 ]; then
	skip 'beside a company auditd' 'kernel: auditd is running on this machine and is left alone'
	finish
fi
auditd_start
auditctl -e 1 >/dev/null
auditctl -w /etc/passwd -p wa -k company
auditctl -a always,exit -F arch=b64 -S execve -F auid'>=1000' -F auid!=unset -k company
auditctl -l >/run/rules
listener_start
pid=$(sandbox_audit_status pid)
agent dev true 2>/dev/null
equal 'a clean session beside auditd' "$?" 0
escape 'beside auditd'
equal 'auditd keeps its place' "$(sandbox_audit_status pid)" "$pid"
check "the company's rules are first and unchanged" sh -c 'auditctl -l | head -n "$(wc -l </run/rules)" | diff /run/rules -'
ausearch_escape() {
	ausearch -if /var/log/audit/audit.log -m ANOM_ACCESS_FS -i 2>/dev/null | grep -q id_ed25519
}
check 'ausearch finds the escape' wait_for 5 ausearch_escape
check 'and the start of the session' sh -c 'ausearch -if /var/log/audit/audit.log -i 2>/dev/null | grep -q "agentcell-start\|op=agentcell"'
check 'aureport lists the anomaly' sh -c 'aureport -if /var/log/audit/audit.log --anomaly 2>&1 | tee /run/report | grep ANOM_ACCESS_FS || { cat /run/report; false; }'

rm -f /home/dev/project/up
agent dev sh -c 'echo >up; sleep 3; exit 4' >/run/out 2>&1 &
job=$!
wait_for 10 test -e /home/dev/project/up
kill -9 "$auditd_pid" && wait "$auditd_pid" 2>/dev/null
auditd_pid=
auditctl -s >/dev/null
wait "$job"
equal 'a session outlives the death of auditd' "$?" 4
auditd_start
escape 'auditd started again'
listener_stop
check 'the rules are as the company left them' sh -c 'auditctl -l | diff /run/rules -'
auditctl -D -k company >/dev/null
finish

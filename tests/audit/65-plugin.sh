#!/bin/sh
# SPDX-License-Identifier: ISC
# The listener as a plugin of the real auditd, by the file that is installed: whole sessions, and an
# auditd that stands still or dies.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

if [ "$(sandbox_audit_status pid)" != 0 ]; then
	skip 'as a plugin' 'kernel: auditd is running on this machine and is left alone'
	finish
fi
ticker='i=0; while :; do i=$((i + 1)); echo $i >>tick; sleep 0.1; done'
mkdir -p /var/log/audit /etc/audit/plugins.d
mount -t tmpfs -o mode=750 audit /var/log/audit
grep -q '^active = no' "$tree/auditd_rules/agentcell-plugin.conf" ||
	tap_fail 'the file as it is installed is not active by itself'
sed "s|/usr/sbin/agentcelld|$build/agentcelld|; s/^active = .*/active = yes/" \
	"$tree/auditd_rules/agentcell-plugin.conf" >/etc/audit/plugins.d/agentcell.conf
chmod 0640 /etc/audit/plugins.d/agentcell.conf

auditd_start() {
	auditd -n -s nochange 8>&- >>/run/listener.log 2>&1 &
	auditd=$!
	wait_for 20 answers
}
answers() { # nobody is refused for what is over
	"$session" -u 71009 -p /home/dev/project -- true 8>&-
	[ $? = "$clean" ]
}
start() { # a session that ticks
	rm -f tick /run/status
	{
		"$session" -p /home/dev/project -b /home/dev/.ssh -- sh -c "$ticker" >/run/said 2>&1 8>&-
		echo $? >/run/status
	} &
	wait_for 20 test -s tick
}
tell_plugin() {
	[ -z "${auditd-}" ] || { kill -CONT "$auditd"; kill "$auditd"; wait "$auditd"; } 2>/dev/null
	tell_and_stop
}
trap tell_plugin EXIT

auditd_start
check 'auditd starts the listener' answers
plugin=$(pgrep -P "$auditd" -x agentcelld)
check 'with --plugin' grep -qa -- --plugin "/proc/$plugin/cmdline"
run -- cat text
equal 'a clean session' "$status $said" "$clean text"
run -- sh -c 'cat /home/dev/.ssh/id_ed25519; sleep 10; echo survived >survived'
equal 'an escape' "$status" "$escape"
check 'nobody survived it' test ! -e survived
equal 'it is in the log' "$(logged escape '"target":"/home/dev/.ssh/id_ed25519"')" 1
run -L -- sh -c 'ln -s /home/dev/.ssh/id_ed25519 link; cat link; sleep 10'
equal 'an escape by file modes and a rule' "$status" "$escape"
in_auditd_log() {
	ausearch -if /var/log/audit/audit.log -m ANOM_ACCESS_FS -ui 71001 -i 2>/dev/null | grep -q id_ed25519
}
check "auditd has our record, by the session's uid" wait_for 10 in_auditd_log
check 'nothing is left' nothing_left

start
kill -STOP "$auditd"
wait_for 20 test -s /run/status
equal 'auditd stands still: the session ends' "$(cat /run/status)" "$lost"
kill -CONT "$auditd"
wait_for 20 answers
check 'auditd goes on: sessions start again' answers

start
kill -9 "$auditd"
wait_for 20 test -s /run/status
check 'auditd is killed: the session ends' grep -qx "$lost\|98" /run/status
wait "$auditd" 2>/dev/null
gone() {
	! kill -0 "$plugin"
}
check 'and the listener makes room' wait_for 20 gone
auditctl -s >/dev/null
auditd_start
check 'for the one of the next auditd' answers
run -- cat /home/dev/.ssh/id_ed25519
equal 'which sees' "$status" "$escape"
plugin=$(pgrep -P "$auditd" -x agentcelld)
kill "$auditd"
wait "$auditd"
check 'auditd is stopped in order: so is the listener' wait_for 20 gone
auditd=
equal 'no rule of ours is left' "$(auditctl -l | grep -c agentcell)" 0
check 'nothing is left' wait_for 20 nothing_left
finish

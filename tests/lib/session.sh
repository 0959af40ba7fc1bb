# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# A machine with agentcell installed and its listener running, for tests of whole sessions.  Source it
# instead of sandbox.sh.  Users: dev and other, each with a key in ~/.ssh and a git project ~/project.

SANDBOX_AUDIT=1
. "${SANDBOX_TOP:-$(dirname "$0")/../..}/tests/lib/sandbox.sh"
# shellcheck source=tests/lib/remains.sh
. "$tree/tests/lib/remains.sh"

drive="/usr/bin/python3 $tree/tests/lib/drive.py"
listener=

session_user() { # name
	sandbox_user "$1" || return 1
	mkdir -m 0700 "/home/$1/.ssh" && echo "secret key of $1" >"/home/$1/.ssh/id_ed25519" &&
		mkdir "/home/$1/project" && echo "text of $1" >"/home/$1/project/text" &&
		git -C "/home/$1/project" init -q && chmod 0600 "/home/$1/.ssh/id_ed25519" &&
		chown -R "$1:$1" "/home/$1"
}

listener_start() {
	: >/run/listener.log
	agentcelld -n 3 3>/run/listener.ready 8>&- >>/run/listener.log 2>&1 &
	listener=$!
	wait_for 60 test -s /run/listener.ready || {
		sandbox_say 'the listener does not start:'
		cat /run/listener.log >&2
		return 1
	}
}

listener_stop() {
	[ -n "$listener" ] || return 0
	kill "$listener" 2>/dev/null
	wait "$listener"
	listener=
	rm -f /run/listener.ready
}

# ausearch reads what auditd writes: the machine's own, or one for this test.
auditd_pid=
auditd_start() {
	[ "$(sandbox_audit_status pid)" = 0 ] || return 0
	mkdir -p /var/log/audit && mount -t tmpfs -o mode=750 audit /var/log/audit
	auditd -n -s nochange 8>&- >/run/auditd.log 2>&1 &
	auditd_pid=$!
	wait_for 10 sh -c '[ "$(auditctl -s | sed -n "s/^pid //p")" != 0 ]' && return
	cat /run/auditd.log >&2
	return 1
}

auditd_stop() {
	[ -n "$auditd_pid" ] || return 0
	kill "$auditd_pid" && wait "$auditd_pid"
	auditd_pid=
}

# The sudo of a session of this test; its monitor is its child.  Not the zombies that a slow process 1 keeps.
own_sudo() {
	for own_pid in $(pgrep -r R,S,D,T -x sudo); do
		grep -q "${SANDBOX_CGROUP##*/}" "/proc/$own_pid/cgroup" || continue
		own_parent=$(ps -o ppid= -p "$own_pid" | tr -d ' ')
		[ "$(cat "/proc/$own_parent/comm")" = sudo ] || echo "$own_pid"
	done 2>/dev/null
}

on_terminal() { # user drive's options and command
	terminal_user=$1
	shift
	$drive --tty --user "$terminal_user" --cwd "/home/$terminal_user/project" "$@" 8>&-
}

session_setup() {
	cell_cgroups >/run/cgroups.before # of others, who have been killed
	session_user dev && session_user other || return 1
	# What a killed test of somebody else left is not ours (and not empty: grep -f needs a line).
	{
		echo /nowhere
		find "$(sandbox_cgroup_root)/agentcell" -mindepth 1 -type d 2>/dev/null
	} >/run/cgroups.before
	$drive -- true 2>/dev/null # python's own start, before anything is timed
	/usr/bin/python3 "$tree/tests/lib/syslog.py" /dev/log /run/syslog 8>&- &
	mkdir -p /run/userdb
	B=$build "$tree/conf/install.sh" >/run/install.log 2>&1 || {
		cat /run/install.log >&2
		return 1
	}
	printf 'dev,other ALL=(agentcell-worker) NOPASSWD: ALL\nroot ALL=(ALL) ALL\n' >/etc/sudoers.d/agents
	listener_start
}

session_setup || {
	sandbox_say 'agentcell cannot be set up'
	exit 1
}

# What went on, where a test failed: the last words of the log, the listener and syslog.
session_end_test() {
	listener_stop
	auditd_stop
	[ "$tap_failed" = 0 ] && return
	tail -n 12 /var/log/agentcell/agentcell.jsonl /run/listener.log /run/syslog 2>/dev/null | sed 's/^/# /'
}
trap session_end_test EXIT

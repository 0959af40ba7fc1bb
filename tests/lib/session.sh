# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# A machine with agentcell installed and its listener running, for tests of whole sessions.  Source it
# instead of sandbox.sh.  Users: dev and other, each with a key in ~/.ssh and a git project ~/project.

SANDBOX_AUDIT=1
. "${SANDBOX_TOP:-$(dirname "$0")/../..}/tests/lib/sandbox.sh"

drive="/usr/bin/python3 $tree/tests/lib/drive.py"
json_log=/var/log/agentcell/agentcell.jsonl
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
	wait_for 10 test -s /run/listener.ready || {
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
	[ "$(auditctl -s | sed -n 's/^pid //p')" = 0 ] || return 0
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

wait_for() { # seconds command...: until it succeeds
	wait_until=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_until" ] || return 1
		sleep 0.05
	done
}

as() { # user command...: in her project, without a terminal
	as_user=$1
	shift
	(cd "/home/$as_user/project" && exec setpriv --reuid "$as_user" --regid "$as_user" --init-groups \
		env -i PATH=/usr/bin:/bin HOME="/home/$as_user" USER="$as_user" LOGNAME="$as_user" \
		LANG=C TERM=dumb "$@" 8>&-)
}

agent() { # user command...
	agent_user=$1
	shift
	as "$agent_user" sudo -n -u agentcell-worker "$@"
}

on_terminal() { # user drive's options and command
	terminal_user=$1
	shift
	$drive --tty --user "$terminal_user" --cwd "/home/$terminal_user/project" "$@" 8>&-
}

# Processes of the uid range, whatever became of them; a zombie is no process any more.
range_processes() {
	ps -eo uid=,stat=,pid=,args= | awk '$1 >= 70000 && $1 <= 70999 && $2 !~ /^Z/'
}

cell_cgroups() {
	find "$(sandbox_cgroup_root)/agentcell" -mindepth 1 -type d 2>/dev/null |
		grep -vxF -f /run/cgroups.before
}

# Elements that belong to one session: all sets but the constant map of uids to marks
# and what the kernel counts for a few seconds.
firewall_elements() {
	nft list table inet agentcell 2>/dev/null | awk '
		/^\t(set|map) / { name = $2 }
		/elements = / && name != "marks" && name !~ /^(seen|waiting|unsure)/ { print "nft " name " " $0 }'
}

# What a session could have left behind, one a line; nothing is the only good answer.
remains() {
	range_processes | sed 's/^/process /'
	find /run/agentcell/sessions /run/agentcell/uids /run/agentcell/view -mindepth 1 \
		! -name .last 2>/dev/null
	find /run/userdb -name '*agentcell-*' 2>/dev/null
	cell_cgroups | grep -vxF -f /run/cgroups.before
	firewall_elements
	awk '$5 ~ /^\/run\/agentcell/' /proc/self/mountinfo
	ipcs -m -q -s 2>/dev/null | awk '$3 ~ /^70[0-9][0-9][0-9]$/ { print "ipc " $0 }'
	find /dev/shm /dev/mqueue /tmp /var/tmp -uid +69999 -uid -71000 2>/dev/null
}

no_remains() {
	remains_seen=$(remains)
	[ -z "$remains_seen" ] || {
		echo "$remains_seen"
		return 1
	}
}

nothing_left() { # name: may take a moment
	wait_for 30 no_remains
	check "$1: nothing is left" no_remains
}

log_has() { # jq-like, without jq: key=value... on one line of the JSON log
	/usr/bin/python3 - "$json_log" "$@" <<-'END'
		import json, sys
		wanted = dict(word.split("=", 1) for word in sys.argv[2:])
		for line in open(sys.argv[1], encoding="utf-8"):
		    record = json.loads(line)
		    if all(value in str(record.get(key)) for key, value in wanted.items()):
		        sys.exit(0)
		sys.exit(1)
	END
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
trap 'listener_stop; auditd_stop' EXIT

# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# A listener and nothing else of the suite: sessions are made by hand (session.c).  Sourced instead of
# tests/lib/sandbox.sh.  uid range 71000-71999, so that nothing else on the machine is watched.

SANDBOX_AUDIT=1
# shellcheck source=tests/lib/sandbox.sh
. "$(dirname "$0")/../lib/sandbox.sh"

session=$build/audit/session
attack=$build/audit/attack
json_log=/var/log/agentcell/agentcell.jsonl
listener=
: >/run/ids
audit_was=$(sandbox_audit_status enabled)

mkdir -p /etc/agentcell/harness.d /etc/audit/rules.d
cp "$tree"/conf/harness.d/*.conf /etc/agentcell/harness.d/
cp "$tree/auditd_rules/silent.conf" /etc/agentcell/silent.conf
sed 's/70000/71000/g; s/70999/71999/g' "$build/40-agentcell.rules" \
	>/etc/audit/rules.d/40-agentcell.rules
cat >/etc/agentcell/agentcell.conf <<EOF
[session]
uid_range = 71000-71999
[firewall]
enabled = ${FIREWALL:-no}
EOF
chmod -R go-w /etc/agentcell /etc/audit
mkdir -p /home/dev && chmod 0711 /home/dev
mkdir -m 0700 /home/dev/.ssh
echo secret >/home/dev/.ssh/id_ed25519
mkdir -m 0777 /home/dev/project
echo text >/home/dev/project/text
chmod 0777 /home/dev/project
cd /home/dev/project || exit 1

listener_start() {
	rm -f /run/listener.ready
	"${agentcelld:-$build/agentcelld}" -n 3 3>/run/listener.ready 8>&- >>/run/listener.log 2>&1 &
	listener=$!
	wait_for 30 test -s /run/listener.ready || {
		sandbox_say 'the listener does not start:'
		cat /run/listener.log >&2
		exit 1
	}
}

listener_stop() {
	[ -n "$listener" ] || return 0
	kill "$listener" 2>/dev/null
	wait "$listener"
	listener=
}

# Cells lie outside of the sandbox's own cgroup: what a failed test left would stand in the way of others.
kill_cells() {
	while read -r id; do
		cell=$(sandbox_cgroup_root)/agentcell/$id
		[ -d "$cell" ] || continue
		echo 1 >"$cell/cgroup.kill"
		wait_for 5 rmdir "$cell"
	done </run/ids
}

tell_and_stop() {
	listener_stop
	kill_cells
	[ "$tap_failed" = 0 ] || sed 's/^/# /' /run/listener.log
	[ "$tap_failed" = 0 ] || tail -n 12 "$json_log" | sed 's/^/# /'
}
trap 'tell_and_stop' EXIT

# One session in the project, with the key's directory as bait; status in $status, words in $said.
run() { # [option...] -- command...
	said=$("$session" -p /home/dev/project -b /home/dev/.ssh "$@" 8>&- 2>&1)
	status=$?
	case $said in # a session that never was would end as clean as any
	*'session: confine: '*) tap_fail "the session is confined: $*" "$said" ;;
	esac
}

# A listener that was blind, or was stopped, refuses sessions until it has seen again for a while.
starts() {
	run -- true
	[ "$status" = "$clean" ]
}

sees_again() {
	wait_for 20 starts
	equal 'sessions start again' "$status" "$clean"
	wait_for 15 nothing_left
}

clean=1 wall_clock=2 lost=5 escape=6

logged() { # event [words]: lines of the log
	grep "\"event\":\"$1\"" "$json_log" 2>/dev/null | grep -c -- "${2-}"
}

left() { # processes of the range
	ps -eo uid=,stat= | awk '$1 >= 71000 && $1 <= 71999 && $2 !~ /Z/' | wc -l
}

# Of our sessions, whose ids session.c notes; other tests may have cells of their own meanwhile.
nothing_left() {
	[ "$(left)" = 0 ] && [ -z "$(ls /run/agentcell/sessions)" ] || return 1
	while read -r id; do
		[ ! -e "$(sandbox_cgroup_root)/agentcell/$id" ] || return 1
	done </run/ids
}

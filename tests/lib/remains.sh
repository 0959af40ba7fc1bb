# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# To run agents as a user and to say what is left of their sessions, on a machine with agentcell: in
# the sandbox (session.sh) or on a whole one (tests/vm).  The caller says where cgroups are
# (sandbox_cgroup_root) and which were there before (/run/cgroups.before, not empty).

json_log=/var/log/agentcell/agentcell.jsonl

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
	find /var/lib/agentcell/acl -mindepth 1 2>/dev/null
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

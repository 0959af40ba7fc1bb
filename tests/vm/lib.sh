# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# What the stages of the machine share.  Everything here is the machine's own: /etc, /run, the audit
# rules, the firewall.

LC_ALL=C
export LC_ALL
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022
tree=/srv/agentcell
# shellcheck source=tests/lib/tap.sh
. "$tree/tests/lib/tap.sh"
# shellcheck source=tests/lib/remains.sh
. "$tree/tests/lib/remains.sh"

echo /nowhere >/run/cgroups.before

# Sessions live in the unit's own cgroup.
sandbox_cgroup_root() {
	echo /sys/fs/cgroup/system.slice/agentcelld.service
}

user() { # name
	useradd -m -U -s /bin/bash -k /nonexistent "$1" && chmod 0700 "/home/$1" &&
		mkdir -m 0700 "/home/$1/.ssh" && echo "secret key of $1" >"/home/$1/.ssh/id_ed25519" &&
		mkdir "/home/$1/project" && echo "text of $1" >"/home/$1/project/text" &&
		git -C "/home/$1/project" init -q && chmod 0600 "/home/$1/.ssh/id_ed25519" &&
		chown -R "$1:$1" "/home/$1"
}

# A session in the background that stays; its id in $session.  Not for check(), which would wait for
# the session's end.
session_begin() { # name
	rm -f /home/ada/project/up
	agent ada sh -c 'echo up >up; while :; do sleep 1; done' >/run/out 2>&1 &
	job=$!
	session=
	if wait_for 60 test -e /home/ada/project/up; then
		session=$(ls /run/agentcell/sessions)
		tap_pass "$1"
	else
		tap_fail "$1" "$(cat /run/out)"
	fi
}

no_agent() {
	[ -z "$(range_processes)" ]
}

listener_answers() {
	agentcell sessions >/dev/null
}

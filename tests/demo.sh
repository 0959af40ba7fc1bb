#!/bin/sh
# SPDX-License-Identifier: ISC
# `make demo`: one session, one escape, the restore, on the real sudo, PAM, kernel audit, nftables and
# mounts, in a private copy of this machine that is gone afterwards.
[ "$(id -u)" = 0 ] || {
	echo 'The demo sets up accounts, audit rules and a firewall table in a private copy of the machine: run it as root.' >&2
	exit 1
}
SANDBOX_TOP=$(cd "$(dirname "$0")/.." && pwd)
export SANDBOX_TOP
. "$SANDBOX_TOP/tests/lib/session.sh"

title() {
	printf '\n%s\n\n' "$*"
}

# Shows a command as dev would type it in her project, runs it, shows what it says.
type_in() { # command line
	echo "    dev:~/project$ $1"
	as dev sh -c "$1" >/run/said 2>&1
	status=$?
	sed 's/^/    /' /run/said
}

must() { # what is expected, command...
	what=$1
	shift
	if "$@" >/run/must 2>&1; then
		echo "    ok: $what"
	else
		echo "    NOT SO: $what" && sed 's/^/        /' /run/must
		exit 1
	fi
}

listing() {
	(cd /home/dev/project && find . -printf '%p %y %m %U:%G %s %l\n' | sort &&
		find . -type f -print0 | sort -z | xargs -0 cksum)
}

auditd_start || exit 1
(cd /home/dev/project && rm -f text && printf 'print("hello")\n' >hello.py && chown dev:dev hello.py &&
	setpriv --reuid dev --regid dev --clear-groups env HOME=/home/dev sh -c '
		git add . && git -c user.name=dev -c user.email=dev@localhost commit -qm "Say hello"')

title '1. A developer with a project and a secret; sudoers lets her run agents'
type_in 'ls -ld ~ ~/.ssh/id_ed25519 hello.py'
echo '    # sudoers: dev ALL = (agentcell-worker) NOPASSWD: ALL'

title '2. An agent works in her project'
type_in "sudo -u agentcell-worker sh -c 'id -un; umask 027; echo done >result.txt'"
must 'the session ended by itself' test "$status" = 0
type_in 'ls -l result.txt'
must 'the file is hers, mode as made' test "$(stat -c '%U %a' /home/dev/project/result.txt)" = 'dev 640'
wait_for 5 no_remains
must 'nothing of the session is left: process, uid, cgroup, mount, firewall element, file' no_remains

title '3. An agent damages the project, then goes for her key'
listing >/run/before
started=$(date +%s%N)
type_in "sudo -u agentcell-worker sh -c 'rm -rf hello.py .git/HEAD .git/objects; cat /home/dev/.ssh/id_ed25519; sleep 60'"
took=$((($(date +%s%N) - started) / 1000000))
must 'the session was killed (exit status 137)' test "$status" = 137
must "at once: all of it took $took ms" test "$took" -lt 5000
must 'not one byte of the key came out' sh -c '! grep -q "secret key" /run/said'
wait_for 5 no_remains
must 'no process of it is left' no_remains
session=$(sed -n 's/^agentcell session \([0-9a-f]\{12\}\).*/\1/p' /run/said | head -1)

title '4. It is on record: the JSON log, and the audit system'
grep '"event":"escape"' "$json_log" | tail -1 | fold -s -w 110 | sed 's/^/    /'
must 'the JSON log names the session and the target' log_has event=escape session_id="$session" target=.ssh
ausearch_has() {
	ausearch -if /var/log/audit/audit.log -m ANOM_ACCESS_FS,RESP_KILL_PROC,RESP_TERM_ACCESS -i >/run/ausearch 2>&1 &&
		grep -q "$session" /run/ausearch
}
wait_for 5 ausearch_has
grep "$session" /run/ausearch | head -2 | fold -s -w 110 | sed 's/^/    /'
must 'ausearch finds it' ausearch_has

title '5. The restore command that was printed brings the project back'
restore=$(sed -n 's/^.*\(agentcell restore .*\)$/\1/p' /run/said | head -1)
type_in 'ls -A'
type_in "$restore"
must 'the restore command worked' test "$status" = 0
listing >/run/after
must 'every file is back: content, owner, mode' diff /run/before /run/after

listener_stop
title 'Done.  This machine is as it was; nothing was installed on it.'

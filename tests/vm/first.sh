#!/bin/sh
# SPDX-License-Identifier: ISC
# The first boot: installs agentcell as an admin would, on a system that systemd runs, and uses it.
# It ends in the middle of a session, when the power is cut.
# shellcheck source=tests/vm/lib.sh
. /srv/agentcell/tests/vm/lib.sh

case $(uname -r) in
6.1.*) tap_pass "the kernel is Debian's own: $(uname -r)" ;;
*) tap_fail "the kernel is Debian's own" "$(uname -r)" ;;
esac
equal 'systemd is process 1' "$(cat /proc/1/comm)" systemd

# --- installing
make -C "$tree" install >/run/install 2>&1
equal 'make install' "$?" 0
sed 's/^/# /' /run/install | tail -5
refute 'nothing had to be built again' grep -q 'cc .* -c ' /run/install
user ada || exit 1
echo 'ada ALL=(agentcell-worker) NOPASSWD: ALL' >/etc/sudoers.d/agents
check 'the unit is active' systemctl is-active agentcelld
check 'and enabled' systemctl is-enabled agentcelld
equal 'systemd finds nothing to remark in it' \
	"$(systemd-analyze verify --man=no /usr/lib/systemd/system/agentcelld.service 2>&1)" ''
# systemd says "started" only when the listener is ready.
check 'started means ready' listener_answers

# --- the role account and the directories, from sysusers.d and tmpfiles.d
role_facts() {
	getent passwd agentcell-worker | cut -d: -f1,5-
	passwd -S agentcell-worker | cut -d' ' -f2
}
directory_facts() {
	stat -c '%n %a %U:%G' /run/agentcell /run/agentcell/sessions /run/agentcell/uids \
		/var/lib/agentcell /var/lib/agentcell/backups /var/log/agentcell
}
role_facts >/run/role
directory_facts >/run/directories
systemctl stop agentcelld
userdel agentcell-worker
rm -rf /run/agentcell /var/lib/agentcell/backups
check 'sysusers.d is sound' systemd-sysusers /usr/lib/sysusers.d/agentcell.conf
check 'and makes the same role account as make install' sh -c "
	$(printf 'role_facts() { %s; }' "getent passwd agentcell-worker | cut -d: -f1,5-; passwd -S agentcell-worker | cut -d' ' -f2")
	role_facts | diff /run/role -"
check 'tmpfiles.d is sound' systemd-tmpfiles --create /usr/lib/tmpfiles.d/agentcell.conf
directory_facts >/run/directories.tmpfiles
check 'and makes the same directories' diff /run/directories /run/directories.tmpfiles
check 'the listener starts again' systemctl start agentcelld
check 'and is ready' listener_answers

# --- doctor
agentcell doctor >/run/doctor 2>&1
equal 'doctor finds everything in order' "$?" 0
[ "$tap_failed" = 0 ] || sed 's/^/# /' /run/doctor
check 'doctor tells the ABI of Landlock' grep -q 'ABI 2' /run/doctor
check 'and that detection rests on the rules' grep -q 'detection rests on the rules' /run/doctor

# --- a session: its name on the host, its cgroup, its terms
session_begin 'a session runs'
check 'getent knows its account' getent passwd "agentcell-$session"
check 'ps too' sh -c "ps -eo user:32= | grep -qx agentcell-$session"
check 'and its group' getent group "agentcell-$session"
check 'the terms say what detection rests on' grep -q 'audit rules alone' /run/out
check 'it lives in the cgroup that systemd delegated' \
	test -d "$(sandbox_cgroup_root)/agentcell/$session"
check 'whose controllers hold it' sh -c "grep -qw pids '$(sandbox_cgroup_root)/agentcell/$session/cgroup.controllers' &&
	grep -qw memory '$(sandbox_cgroup_root)/agentcell/$session/cgroup.controllers'"
check 'systemctl status shows it' sh -c "systemctl status agentcelld | grep -q '$session'"
check 'agentcell kill' as ada agentcell kill "$session"
wait "$job"
nothing_left 'a session that was killed'
refute 'getent has forgotten it' getent passwd "agentcell-$session"

# --- the three promises
started=$(date +%s)
agent ada AGENTCELL_WALL_CLOCK=5 sh -c 'echo mine >made; trap "" TERM HUP INT; setsid sleep 600 & sleep 600' \
	>/run/out 2>/run/err
status=$?
took=$(($(date +%s) - started))
equal 'a clean session runs to the wall clock' "$status" 137
check "in time (took $took s)" test "$took" -ge 5 -a "$took" -le 60
equal 'its work is hers' "$(stat -c '%U:%G' /home/ada/project/made)" ada:ada
check 'on record as an end, not as an escape' log_has event=end status=ended cause=wall_clock
nothing_left 'wall clock'

cp -a /home/ada/project /home/ada/before
agent ada sh -c 'rm -rf .git text; cat /home/ada/.ssh/id_ed25519; sleep 300; echo survived' >/run/out 2>/run/err
equal 'an escape is terminated' "$?" 137
refute 'no byte of the secret came out' grep -q 'secret key' /run/out /run/err
refute 'nothing ran on' grep -q survived /run/out
check 'on record: the escape' log_has event=escape target=/home/ada/.ssh
check 'on record: the end' log_has event=end status=terminated cause=escape
escaped=$(sed -n 's/^agentcell session \([0-9a-f]\{12\}\).*/\1/p' /run/err | head -1)
check 'ausearch finds it' wait_for 20 sh -c "
	ausearch -m ANOM_ACCESS_FS,RESP_KILL_PROC,RESP_TERM_ACCESS -i </dev/null | grep -q '$escaped'"
nothing_left escape
check 'the restore command that it printed works' \
	as ada sh -c "$(sed -n 's/^.*\(agentcell restore .*\)$/\1/p' /run/err | head -1)"
check 'and brings everything back' diff -r --no-dereference /home/ada/before /home/ada/project

mv /var/lib/agentcell/backups /var/lib/agentcell/backups.away
ln -s /proc/nowhere /var/lib/agentcell/backups
agent ada sh -c 'touch /home/ada/project/ran' >/run/out 2>/run/err
status=$?
rm -f /var/lib/agentcell/backups
mv /var/lib/agentcell/backups.away /var/lib/agentcell/backups
equal 'an unwritable backup aborts' "$status" 1
refute 'no agent process existed' test -e /home/ada/project/ran
check 'on record as aborted' log_has event=end status=aborted cause=aborted
nothing_left aborted

# --- the unit: what systemd does to it ends the sessions
for act in 'restart agentcelld' 'kill -s KILL --kill-who=main agentcelld' 'kill -s KILL agentcelld' 'stop agentcelld'; do
	session_begin "systemctl $act: a session runs before"
	# shellcheck disable=SC2086 # words
	systemctl $act
	check "systemctl $act: no agent process is left" wait_for 20 no_agent
	[ "$act" != 'stop agentcelld' ] || {
		agent ada true >/run/out 2>&1
		equal 'without a listener no session starts' "$?" 1
		check 'and it says why' grep -qi listener /run/out
		systemctl start agentcelld
	}
	check "systemctl $act: the listener is back" wait_for 60 listener_answers
	wait_for 20 sh -c "! kill -0 $job" || kill "$job"
	wait "$job"
	wait_for 30 no_remains
	nothing_left "systemctl $act"
	check "systemctl $act: on record" log_has event=end session_id="$session" status=terminated cause=lost
done
check 'control: a session works' agent ada true
refute 'systemd has nothing to complain about' sh -c \
	'journalctl -b -u agentcelld -p warning _PID=1 -q --no-pager | grep -v "KILL\|killed\|Failed with result" | grep .'

# --- the power goes
mkdir -p /home/ada/project/more && seq 1000 >/home/ada/project/more/numbers && chown -R ada: /home/ada/project
(cd /home/ada/project && find . -path ./.git -prune -o ! -name up -type f -print0 | sort -z | xargs -0 sha256sum) >/home/ada/sums
session_begin 'a session is in the middle of its work'
echo "$session" >/home/session-of-the-cut
echo spoiled >/home/ada/project/text
echo "1..$tap_count"
sync
echo '# cut the power'
sleep 600

#!/bin/sh
# SPDX-License-Identifier: ISC
# Everything that must not become a session: sudo's options, requests, paths, and a machine on which
# one of the parts is missing or loose.  Each with one clear message, and no agent process.
. "$(dirname "$0")/../lib/session.sh"

ran=/home/dev/project/ran
printf 'dev ALL=(agentcell-worker:ALL) NOPASSWD: SETENV: ALL\nDefaults closefrom_override\nother ALL=(ALL:ALL) NOPASSWD: ALL\n' \
	>/etc/sudoers.d/agents

# refused NAME PATTERN sudo's arguments...: nothing runs, the message fits, syslog knows
refused() {
	refused_name=$1 refused_pattern=$2
	shift 2
	rm -f "$ran"
	: >/run/syslog
	if as dev sudo -n "$@" >/run/out 2>/run/err; then
		tap_fail "$refused_name is refused" "it ran: $(cat /run/out /run/err)"
	elif [ -e "$ran" ]; then
		tap_fail "$refused_name is refused" 'the command ran'
	elif ! grep -Eqi -- "$refused_pattern" /run/err; then
		tap_fail "$refused_name is refused" "no $refused_pattern in: $(cat /run/err)"
	else
		tap_pass "$refused_name is refused"
	fi
}

logged() { # name pattern
	check "$1 is in syslog" grep -Eq "sudo.*dev : .*$2" /run/syslog
}

role=agentcell-worker
check 'control: a plain request runs' as dev sudo -n -u $role touch ran
check 'control: really' test -e "$ran"

# --- options of sudo
rm -f "$ran"
refused 'sudo -s' '-s' -u $role -s touch ran
logged 'sudo -s' '-s'
refused 'sudo -i' '-i' -u $role -i touch ran
refused 'a bare sudo -u role' 'usage|command' -u $role
refused 'sudo -E' '-E|environment' -u $role -E touch ran
refused 'sudo -P' '-P' -P -u $role touch ran
refused 'sudo -g' '-g|group|not allowed' -u $role -g dev touch ran
refused 'sudo -R' '-R|chroot|not allowed' -R / -u $role touch ran
refused 'sudo -C' '-C' -C 5 -u $role touch ran
refused 'sudo -h' '-h|host' -h elsewhere -u $role touch ran
# sudo -b cannot be seen before sudo has gone to the background: the refusal comes from there.
: >/run/syslog
as dev sudo -n -b -u $role touch ran >/run/out 2>/run/err
check 'sudo -b is refused' wait_for 5 grep -q 'sudo -b' /run/err
logged 'sudo -b' 'sudo -b'
nothing_left 'sudo -b'
refute 'sudo -b: nothing ran' test -e "$ran"
refused 'sudo -H' '-H' -H -u $role touch ran
refused 'sudo -r' 'role|selinux' -r x_r -u $role touch ran
refused 'sudoedit' 'edit' -u $role -e text
refused 'the role by its number with -s' '-s' -u "#$(id -u $role)" -s touch ran
refused 'a uid of the session range' 'unknown user|range|agentcell' -u '#70005' touch ran
useradd -r -u 70007 -M -s /bin/sh inside
as other sudo -n -u inside touch ran >/run/out 2>/run/err
check 'a named account of the session range is refused for everybody' test $? != 0 -a ! -e /home/other/project/ran
userdel inside

# --- requests
refused 'an unknown AGENTCELL_ variable' AGENTCELL_NONSENSE -u $role AGENTCELL_NONSENSE=1 touch ran
refused 'a bad risk' 'risk' -u $role AGENTCELL_RISK=none touch ran
refused 'a lower risk than configured' 'risk' -u $role AGENTCELL_RISK=low touch ran
refused 'a wall clock beyond the limit' 'wall' -u $role AGENTCELL_WALL_CLOCK=999999999 touch ran
refused 'a bad wall clock' 'wall' -u $role AGENTCELL_WALL_CLOCK=soon touch ran
refused 'an unknown harness' 'harness' -u $role AGENTCELL_HARNESS=nosuch touch ran
refused 'an escape from the harness directory' 'harness' -u $role AGENTCELL_HARNESS=../agentcell touch ran
refused 'endpoints, which the admin does not leave to users' 'endpoint' -u $role AGENTCELL_ENDPOINTS=example.org:443 touch ran
for path in / /home /home/dev /home/dev/.ssh /etc /usr /root /proc /tmp /home/other/project \
	/home/dev/nowhere relative /home/dev/project/../../dev; do
	refused "the path $path" "$path|path|directory" -u $role "AGENTCELL_PATHS=$path" touch ran
done
ln -s /home/dev/.ssh /home/dev/keys
refused 'a link to a forbidden place' 'ssh' -u $role AGENTCELL_PATHS=/home/dev/keys touch ran
mkdir /home/dev/loose && chmod 777 /home/dev/loose && chown dev /home/dev/loose
refused 'a directory that everybody may write' 'loose' -u $role AGENTCELL_PATHS=/home/dev/loose touch ran

# --- sudoers has the first word
printf 'dev ALL=(agentcell-worker) NOPASSWD: /usr/bin/id\n' >/etc/sudoers.d/agents
refused 'a command that sudoers does not list' 'password|not allowed' -u $role touch ran
check 'control: the listed one runs' as dev sudo -n -u $role id
printf 'dev ALL=(agentcell-worker) NOPASSWD: ALL\n' >/etc/sudoers.d/agents

# --- the machine: broken NAME PATTERN 'how' 'how to mend'
broken() {
	sh -c "$3" || tap_fail "cannot break: $1"
	refused "$1" "$2" -u $role touch ran
	sh -c "$4" || tap_fail "cannot mend: $1"
	nothing_left "$1"
}
conf=/etc/agentcell/agentcell.conf
cp -p $conf /run/conf
mend="cp -p /run/conf $conf"
broken 'an unknown key' 'agentcell.conf:[0-9]+.*nonsense' "echo '[session]
nonsense = 1' >>$conf" "$mend"
broken 'an unknown section' 'agentcell.conf:[0-9]+' "echo '[nonsense]' >>$conf; echo 'a = b' >>$conf" "$mend"
broken 'a value of the wrong type' 'agentcell.conf:[0-9]+.*wall_clock' "echo '[session]
wall_clock_limit = often' >>$conf" "$mend"
broken 'a configuration that others may write' 'agentcell.conf.*writ|permission|mode' "chmod o+w $conf" "chmod 644 $conf"
broken "a configuration that is not root's" 'agentcell.conf.*own|root' "chown dev $conf" "chown root $conf"
broken 'no configuration' 'agentcell.conf' "mv $conf $conf.away" "mv $conf.away $conf"
broken 'a configuration that is a link' 'agentcell.conf' "mv $conf $conf.away; ln -s $conf.away $conf" "rm $conf; mv $conf.away $conf"
broken 'a profile with an error' 'generic.conf:[0-9]+' "cp -p /etc/agentcell/harness.d/generic.conf /run/; printf '[nonsense]\nx = y\n' >>/etc/agentcell/harness.d/generic.conf" \
	'cp -p /run/generic.conf /etc/agentcell/harness.d/'
broken 'no PAM service' 'pam.d/agentcell|PAM' 'mv /etc/pam.d/agentcell /run/pam' 'mv /run/pam /etc/pam.d/agentcell'
broken 'a PAM service without our module' 'pam_agentcell|cell' \
	'cp -p /etc/pam.d/agentcell /run/pam; echo "session required pam_permit.so" >/etc/pam.d/agentcell' 'cp -p /run/pam /etc/pam.d/agentcell'
launcher=/usr/libexec/agentcell/agentcell-launch
broken 'no launcher' 'agentcell-launch' "mv $launcher $launcher.away" "mv $launcher.away $launcher"
broken 'no sudoers_audit line in sudo.conf' 'sudoers_audit' \
	'cp -p /etc/sudo.conf /run/; sed -i "/sudoers_audit/d" /etc/sudo.conf' 'cp -p /run/sudo.conf /etc/sudo.conf'
broken 'a sudo.conf that sudo ignores' 'agentcell' 'chmod g+w /etc/sudo.conf' 'chmod g-w /etc/sudo.conf'
listener_stop
refused 'a request without the listener' 'agentcelld|listener' -u $role touch ran
nothing_left 'without the listener'
listener_start
check 'control: all mended, a request runs' as dev sudo -n -u $role touch ran
check 'the launcher does nothing outside a session' sh -c "! as_out=\$($launcher /bin/true 2>&1)"
nothing_left 'the end'
finish

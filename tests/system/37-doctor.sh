#!/bin/sh
# SPDX-License-Identifier: ISC
# `agentcell doctor` ends with 0 when everything holds, and names each precondition that is broken on
# purpose, with a way out; mended, it ends with 0 again.
. "$(dirname "$0")/../lib/session.sh"

cd /home/dev/project || exit 1
check 'everything holds' agentcell doctor
[ "$tap_failed" = 0 ] || agentcell doctor

# sick NAME CHECK 'how' 'how to mend': the check called CHECK must fail, with a remedy
sick() {
	sh -c "$3" >/run/how 2>&1 || tap_fail "cannot break: $1" "$(cat /run/how)"
	agentcell doctor >/run/doctor 2>&1
	status=$?
	if [ "$status" = 0 ] || ! grep -Eq "^FAIL +$2" /run/doctor || ! grep -A1 -E "^FAIL +$2" /run/doctor | grep -q -e '-> '; then
		tap_fail "doctor names: $1" "exit status $status
$(cat /run/doctor)"
	else
		tap_pass "doctor names: $1"
	fi
	sh -c "$4" >/run/how 2>&1 || tap_fail "cannot mend: $1" "$(cat /run/how)"
}

conf=/etc/agentcell/agentcell.conf
sick 'a loose sudo.conf' sudo.conf 'chmod g+w /etc/sudo.conf' 'chmod g-w /etc/sudo.conf'
cp -p /etc/sudo.conf /run/sudo.conf
for line in sudoers_agentcell sudoers_audit sudoers_io; do
	sick "no line for $line" sudo.conf "sed -i /$line/d /etc/sudo.conf" 'cp -p /run/sudo.conf /etc/sudo.conf'
done
sick 'no sudo.conf' sudo.conf 'rm /etc/sudo.conf' 'cp -p /run/sudo.conf /etc/sudo.conf'
for so in agentcell_policy.so agentcell_switch.so; do
	sick "no $so" '(sudo.conf|plugin|switch)' "mv /usr/libexec/sudo/$so /run/" "mv /run/$so /usr/libexec/sudo/"
	sick "a loose $so" '(sudo.conf|plugin|switch)' "chmod o+w /usr/libexec/sudo/$so" "chmod o-w /usr/libexec/sudo/$so"
done
pam=$(find /usr/lib -name pam_agentcell.so)
sick 'no pam_agentcell.so' 'pam module' "mv $pam /run/" "mv /run/pam_agentcell.so $pam"
sick 'no PAM service' 'pam service' 'mv /etc/pam.d/agentcell /run/pam' 'mv /run/pam /etc/pam.d/agentcell'
sick 'a PAM service without the module' 'pam service' 'cp -p /etc/pam.d/agentcell /run/pam; echo session required pam_permit.so >/etc/pam.d/agentcell' \
	'cp -p /run/pam /etc/pam.d/agentcell'
for service in sudo sudo-i su login; do
	sick "no guard in pam.d/$service" guard "cp -p /etc/pam.d/$service /run/pam; sed -i /pam_agentcell/d /etc/pam.d/$service" "cp -p /run/pam /etc/pam.d/$service"
done
sick 'no launcher' launcher 'mv /usr/libexec/agentcell/agentcell-launch /run/' 'mv /run/agentcell-launch /usr/libexec/agentcell/'
sick 'a launcher that others may write' launcher 'chmod o+w /usr/libexec/agentcell/agentcell-launch' 'chmod o-w /usr/libexec/agentcell/agentcell-launch'
sick 'no configuration' configuration "mv $conf /run/" "mv /run/agentcell.conf $conf"
sick 'a configuration with an error' configuration "cp -p $conf /run/; echo nonsense = 1 >>$conf" "cp -p /run/agentcell.conf $conf"
sick 'a loose configuration' configuration "chmod o+w $conf" "chmod o-w $conf"
sick 'a profile with an error' profiles 'printf "[nonsense]\nx = y\n" >/etc/agentcell/harness.d/bad.conf' 'rm /etc/agentcell/harness.d/bad.conf'
sick 'no role account' 'role account' 'cp -p /etc/passwd /run/; sed -i /^agentcell-worker/d /etc/passwd' 'cp -p /run/passwd /etc/passwd'
sick 'a role account with a shell' 'role shell' 'usermod -s /bin/bash agentcell-worker' 'usermod -s /usr/sbin/nologin agentcell-worker'
sick 'a role account with a password' 'role password' 'echo agentcell-worker:x | chpasswd' 'usermod -p "!" agentcell-worker'
sick 'a role account in a group' 'role groups' 'usermod -aG adm agentcell-worker' 'gpasswd -d agentcell-worker adm'
sick 'a stranger in the uid range' 'uid range' 'useradd -M -u 70500 stranger' 'userdel stranger'
sick 'a backup directory that is not there' 'backup directory' 'mv /var/lib/agentcell/backups /var/lib/agentcell/b' 'mv /var/lib/agentcell/b /var/lib/agentcell/backups'
sick 'a loose backup directory' 'backup directory' 'chmod o+w /var/lib/agentcell/backups' 'chmod o-w /var/lib/agentcell/backups'
# What a running listener mends by itself is broken behind its back.
listener_stop
sick 'no listener' listener true true
sick 'auditing off' auditing 'auditctl -e 0' true
sick 'a rate limit' 'audit rate' 'auditctl -r 100' 'auditctl -r 0'
sick 'rules missing' 'audit rules' true true
sick 'a firewall table that is gone' firewall 'nft delete table inet agentcell' true
listener_start
mount -t ramfs ramfs /home/other/project
cd /home/other/project || exit 1
sick 'a project on a file system that cannot be idmapped' project true true
cd /home/dev/project || exit 1
check 'and when all is mended, everything holds' agentcell doctor
[ "$tap_failed" = 0 ] || agentcell doctor
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# agentcell doctor: everything holds after an install; each precondition that is broken on purpose is
# named, with exit status 1, and holds again when it is put right.
. "$(dirname "$0")/../lib/session.sh"

doctor() {
	agentcell doctor --project /home/dev/project "$@" 8>&-
}

# broken NAME CHECK TEXT 'break' 'repair' [ALSO]: the two are shell text; ALSO is another check that may
# see the same fault
broken() {
	eval "$4" || tap_fail "$1: cannot be broken" "$4"
	doctor >/run/doctor 2>&1
	broken_status=$?
	eval "$5" || tap_fail "$1: cannot be put right" "$5"
	equal "$1: exit status" "$broken_status" 1
	# the verdict's line, and one of advice
	if grep -E -A1 "^FAIL +$2 .*$3" /run/doctor | grep -q -- '-> ..'; then
		tap_pass "$1: named, with advice"
	else
		tap_fail "$1: named, with advice" "$(grep -v '^ok' /run/doctor)"
	fi
	# and nothing else is blamed
	equal "$1: only that" "$(grep '^FAIL' /run/doctor | grep -Ev "^FAIL +($2|${6:-$2}) ")" ""
}

check 'after an install everything holds' doctor
doctor --json >/run/doctor.json
equal 'in JSON too' "$?" 0
check 'which has a verdict for each' /usr/bin/python3 -c '
import json
rows = json.load(open("/run/doctor.json"))
assert len(rows) > 25 and all(r["verdict"] in ("ok", "note") and r["text"] for r in rows), rows'

broken 'sudo.conf writable by others' sudo.conf 'writable by group or other' \
	'chmod 666 /etc/sudo.conf' 'chmod 644 /etc/sudo.conf'
broken 'sudo.conf of somebody else' sudo.conf 'belongs to uid' \
	'chown dev /etc/sudo.conf' 'chown root /etc/sudo.conf'
cp -p /etc/sudo.conf /run/sudo.conf
for line in sudoers_agentcell sudoers_audit sudoers_io; do
	broken "sudo.conf without $line" sudo.conf "missing: Plugin $line" \
		"sed -i '/^Plugin $line /d' /etc/sudo.conf" 'cp -p /run/sudo.conf /etc/sudo.conf'
done
broken 'sudo.conf with two policies' sudo.conf sudoers_policy \
	'echo "Plugin sudoers_policy sudoers.so" >>/etc/sudo.conf' 'cp -p /run/sudo.conf /etc/sudo.conf'
plugins=/usr/libexec/sudo
for file in agentcell_policy.so agentcell_switch.so; do
	broken "$file is missing" plugin "$file" \
		"mv $plugins/$file /run/$file" "mv /run/$file $plugins/$file"
done
broken 'plugin writable by others' plugin 'writable' \
	"chmod 775 $plugins/agentcell_policy.so" "chmod 644 $plugins/agentcell_policy.so"
broken 'sudo is not setuid' sudo 'not setuid' 'chmod 755 /usr/bin/sudo' 'chmod 4755 /usr/bin/sudo'
broken 'sudo-rs' 'sudo version' 'no plugin interface' \
	'mv /usr/bin/sudo /run/sudo.real; printf "#!/bin/sh\necho sudo-rs 0.2.3\n" >/usr/bin/sudo; chmod 4755 /usr/bin/sudo' \
	'mv /run/sudo.real /usr/bin/sudo'
broken 'no PAM service' 'pam service' 'No such file' \
	'mv /etc/pam.d/agentcell /run/pam' 'mv /run/pam /etc/pam.d/agentcell'
broken 'PAM service without our module' 'pam service' 'has 0 lines' \
	'cp -p /etc/pam.d/agentcell /run/pam; sed -i s/pam_agentcell/pam_permit/ /etc/pam.d/agentcell' \
	'cp -p /run/pam /etc/pam.d/agentcell'
broken 'a session module behind ours' 'pam service' 'behind ours' \
	'echo "session optional pam_permit.so" >>/etc/pam.d/agentcell' 'cp -p /run/pam /etc/pam.d/agentcell'
broken 'PAM module writable by others' 'pam module' writable \
	'chmod 666 /usr/lib/*/security/pam_agentcell.so' 'chmod 644 /usr/lib/*/security/pam_agentcell.so'
for service in sudo su; do
	broken "no guard in pam.d/$service" guard "pam.d/$service lets" \
		"cp -p /etc/pam.d/$service /run/pam; sed -i '/pam_agentcell/d' /etc/pam.d/$service" \
		"cp -p /run/pam /etc/pam.d/$service"
done
broken 'a guard that does not stop' guard 'pam.d/su lets' \
	'cp -p /etc/pam.d/su /run/pam; sed -i "/pam_agentcell/s/requisite/optional/" /etc/pam.d/su' \
	'cp -p /run/pam /etc/pam.d/su'
broken 'role with a shell' 'role shell' /bin/sh \
	'usermod -s /bin/sh agentcell-worker' 'usermod -s /usr/sbin/nologin agentcell-worker'
broken 'role with a home' 'role home' exists \
	'usermod -d /home/dev agentcell-worker' 'usermod -d /nonexistent agentcell-worker'
broken 'role with a password' 'role password' 'not locked' \
	'echo agentcell-worker:x | chpasswd' 'usermod -L agentcell-worker'
broken 'role in a group' 'role groups' 'further groups' \
	'usermod -aG games agentcell-worker' 'gpasswd -d agentcell-worker games >/dev/null'
broken 'a uid of the range in use' 'uid range' 'intruder' \
	'useradd -u 70500 -M intruder' 'userdel intruder'
broken 'the range in subuid' 'uid range' 'subuid' \
	'echo dev:70000:65536 >>/etc/subuid' 'sed -i /^dev:70000/d /etc/subuid'
broken 'launcher missing' launcher 'No such file' \
	'mv /usr/libexec/agentcell/agentcell-launch /run/' 'mv /run/agentcell-launch /usr/libexec/agentcell/'
broken 'launcher with a set-id bit' launcher 'set-id' \
	'chmod u+s /usr/libexec/agentcell/agentcell-launch' 'chmod u-s /usr/libexec/agentcell/agentcell-launch'
broken 'unknown key' configuration 'unknown key' \
	'cp -p /etc/agentcell/agentcell.conf /run/conf; printf "[session]\nrisks = low\n" >>/etc/agentcell/agentcell.conf' \
	'cp -p /run/conf /etc/agentcell/agentcell.conf'
broken 'configuration writable by others' configuration 'writable' \
	'chmod 666 /etc/agentcell/agentcell.conf' 'chmod 644 /etc/agentcell/agentcell.conf'
broken 'bad profile' profiles 'codex.conf:' \
	'cp -p /etc/agentcell/harness.d/codex.conf /run/conf; echo nonsense >>/etc/agentcell/harness.d/codex.conf' \
	'cp -p /run/conf /etc/agentcell/harness.d/codex.conf'
broken 'no backup directory' 'backup directory' 'No such file' \
	'mv /var/lib/agentcell/backups /run/backups' 'mv /run/backups /var/lib/agentcell/backups'
broken 'log writable by others' log 'not writable by others' \
	'touch /var/log/agentcell/agentcell.jsonl; chmod 666 /var/log/agentcell/agentcell.jsonl' \
	'rm /var/log/agentcell/agentcell.jsonl'
broken 'rate limit' 'audit rate' 'rate_limit 10' 'auditctl -r 10 >/dev/null' 'auditctl -r 0 >/dev/null' listener
check 'the listener finds that put right' wait_for 10 doctor
broken 'project on overlayfs' project 'cannot be idmapped' \
	'project=/etc; doctor() { agentcell doctor --project /etc 8>&-; }' \
	'doctor() { agentcell doctor --project /home/dev/project "$@" 8>&-; }'

as dev agentcell doctor >/run/doctor
equal 'without root it does not claim that all is well' "$?" 1
check 'but says what it cannot see' grep -q '^unknown .*auditing' /run/doctor

listener_stop
doctor >/run/doctor 2>&1
equal 'no listener: exit status' "$?" 1
check 'no listener: named' grep -Eq '^FAIL +listener ' /run/doctor
check 'and what goes with it: auditing or its rules' grep -Eq '^FAIL +(auditing|audit rules) ' /run/doctor

listener_start
check 'put right, everything holds again' doctor
finish

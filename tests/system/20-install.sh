#!/bin/sh
# SPDX-License-Identifier: ISC
# Install and uninstall: nothing of the machine gets lost, a failure or a crash at any step locks
# nobody out and is taken back (or finished by the next run), both may be repeated.
SANDBOX_NET=1
. "$(dirname "$0")/../lib/sandbox.sh"

sandbox_user ana && sandbox_user bob || exit 1
printf 'root ALL=(ALL) ALL\nana ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/test
/usr/bin/python3 tests/lib/syslog.py /dev/log /run/syslog &
syslog=$!
trap 'kill "$syslog"' EXIT
run() { # script
	B=$build "$tree/conf/$1" >/tmp/out 2>&1
}

# Everything that could change, in one list.
snapshot() {
	{
		find /etc -type f ! -name '*-' ! -name .pwd.lock -exec cksum {} +
		find /etc /run /usr/bin /usr/sbin /usr/libexec /usr/lib/systemd /usr/lib/tmpfiles.d \
			/usr/lib/sysusers.d /usr/lib/*/security /usr/share/man /usr/share/doc/agentcell \
			/var/lib/agentcell /var/log/agentcell ! -name '*-' ! -name .pwd.lock \
			! -path '/run/sudo*' ! -path /run/syslog -printf '%p %y %m %u:%g %s %l\n' 2>/dev/null |
			sed 's/^\([^ ]* d [^ ]* [^ ]*\) .*/\1/'
	} | sort
}

works() { # sudo works for root and for ana, and bob is refused
	sudo -n true && setpriv --reuid ana --regid ana --init-groups sudo -n true &&
		! setpriv --reuid bob --regid bob --init-groups sudo -n true
}

same() { # name snapshot
	snapshot >/tmp/now
	check "$1" diff -u "$2" /tmp/now
}

has_plugin() {
	sudo -V | grep -q 'agentcell policy plugin'
}

# A run of the script in which hook() fails, or is killed, at one place.
broken() { # script main step before|after fail|crash
	cat >"/mnt/tree-broken.sh" <<-END
		hooked=1
		. $tree/conf/$1
		hook() {
			[ "\$1 \$2" = "$3 $4" ] || return 0
			echo "hook \$1 \$2" >>/tmp/hooked
			[ $5 = fail ] || kill -9 \$\$
			return 1
		}
		$2
	END
	rm -f /tmp/hooked
	B=$build sh -c '. /mnt/tree-broken.sh' "$tree/conf/$1" >/tmp/out 2>&1
}

steps() { # script
	sed -n 's/^[[:space:]]*step \([a-z_]*\)$/\1/p' "$tree/conf/$1"
}

no_leftover() {
	! find /etc /usr/bin /usr/sbin /usr/libexec /usr/lib/*/security -name '*.agentcell-new' | grep . &&
		! ls -d /tmp/agentcell-undo.* 2>/dev/null
}

# --- a machine with a sudo.conf of its own
cat >/etc/sudo.conf <<-'END'
	# local settings
	Path askpass /usr/local/bin/askpass
	Plugin sudoers_policy sudoers.so sudoers_file=/etc/sudoers
	Plugin sudoers_io sudoers.so
	Set disable_coredump true
END
printf 'session required pam_unix.so\n' >/etc/pam.d/cron
snapshot >/tmp/before
check 'before: sudo works' works

check 'install' run install.sh
[ "$tap_failed" = 0 ] || cat /tmp/out >&2
check 'sudo works' works
check 'the plugin is in' has_plugin
check "other lines stay, sudoers' options move to the audit line" sh -c '
	grep -qx "Set disable_coredump true" /etc/sudo.conf && grep -qx "Path askpass .*" /etc/sudo.conf &&
	grep -qx "Plugin sudoers_audit sudoers.so sudoers_file=/etc/sudoers" /etc/sudo.conf'
check 'the role account is locked, without shell and home' sh -c '
	getent passwd agentcell-worker | grep -q ":/nonexistent:.*nologin$" &&
	passwd -S agentcell-worker | grep -q "^agentcell-worker L "'
for service in sudo sudo-i su login cron; do
	equal "guard of $service comes before any other session line" \
		"$(grep -nE '^(-?session|@include common-session)' "/etc/pam.d/$service" | head -1 | cut -d: -f2-)" \
		'session requisite pam_agentcell.so guard'
done
snapshot >/tmp/installed
check 'install again' run install.sh
same 'changes nothing' /tmp/installed
echo '# mine' >>/etc/agentcell/agentcell.conf
check 'install over an edited configuration' run install.sh
check 'keeps it' grep -qx '# mine' /etc/agentcell/agentcell.conf
check 'and says so' grep -q 'kept /etc/agentcell/agentcell.conf' /tmp/out
mkdir -p /run/agentcell/sessions/0123456789ab
refute 'uninstall beside a session is refused' run uninstall.sh
check 'with its name' grep -q 0123456789ab /tmp/out
rmdir /run/agentcell/sessions/0123456789ab
check 'uninstall' run uninstall.sh
check 'sudo works' works
refute 'the plugin is gone' has_plugin
rm -rf /etc/agentcell /var/lib/agentcell /var/log/agentcell
same 'nothing is left' /tmp/before
check 'uninstall again' run uninstall.sh
same 'changes nothing' /tmp/before

# --- the guard, when sudo.conf is ignored
run install.sh
printf 'ana ALL=(agentcell-worker) NOPASSWD: ALL\n' >>/etc/sudoers.d/test
as_role() {
	setpriv --reuid ana --regid ana --init-groups sudo -n -u agentcell-worker "$@"
}
chmod g+w /etc/sudo.conf
refute 'sudo ignores a loose sudo.conf' has_plugin
refute 'then the role account runs nothing' as_role touch /tmp/ran
refute 'really nothing' test -e /tmp/ran
refute 'not with -i either' as_role -i touch /tmp/ran
check 'everybody else is unaffected' works
sed -i '/pam_agentcell/d' /etc/pam.d/sudo
check 'control: without the guard it would have run' as_role touch /tmp/ran
chmod g-w /etc/sudo.conf
run install.sh
check 'install puts the guard back' grep -q pam_agentcell /etc/pam.d/sudo
run uninstall.sh
rm -rf /etc/agentcell /var/lib/agentcell /var/log/agentcell
printf 'root ALL=(ALL) ALL\nana ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/test

# --- a plugin that does not load never reaches sudo.conf
cp -r "$build" /tmp/build
echo broken >/tmp/build/agentcell_policy.so
good=$build
build=/tmp/build
refute 'a plugin that sudo cannot load is not installed' run install.sh
same 'and nothing is left' /tmp/before
build=$good
printf 'Plugin strange_policy strange.so\n' >>/etc/sudo.conf
refute "a sudo.conf that already stops sudo is not touched" run install.sh
sed -i '/strange/d' /etc/sudo.conf
same 'and nothing is left' /tmp/before

# --- failures and crashes
for step in $(steps install.sh); do
	for place in before after; do
		refute "install fails $place $step" broken install.sh install_main "$step" "$place" fail
		check 'there' test -s /tmp/hooked
		same 'all is taken back' /tmp/before
		check 'nothing half lies around' no_leftover
	done
done
for step in $(steps install.sh); do
	broken install.sh install_main "$step" after crash
	check "install is killed after $step: sudo works" works
	rm -rf /tmp/agentcell-undo.*
done
check 'the next install finishes' run install.sh
check 'the plugin is in' has_plugin
rm -f /etc/agentcell/agentcell.conf.*
snapshot >/tmp/installed
for step in $(steps uninstall.sh); do
	for place in before after; do
		refute "uninstall fails $place $step" broken uninstall.sh uninstall_main "$step" "$place" fail
		check 'there' test -s /tmp/hooked
		same 'all is taken back' /tmp/installed
	done
done
for step in $(steps uninstall.sh); do
	broken uninstall.sh uninstall_main "$step" after crash
	check "uninstall is killed after $step: sudo works" works
	rm -rf /tmp/agentcell-undo.*
done
check 'the next uninstall finishes' run uninstall.sh
rm -rf /etc/agentcell /var/lib/agentcell /var/log/agentcell
same 'nothing is left' /tmp/before

# --- other machines
rm -f /etc/sudo.conf
check 'install without a sudo.conf' run install.sh
check 'the plugin is in' has_plugin
check 'uninstall' run uninstall.sh
refute 'sudo.conf is gone again' test -e /etc/sudo.conf
check 'install into DESTDIR' env DESTDIR=/tmp/dest B="$build" conf/install.sh
refute 'changes no sudo.conf' test -e /etc/sudo.conf
refute 'makes no account' getent passwd agentcell-worker
check 'but lays out the files' test -e /tmp/dest/usr/libexec/sudo/agentcell_policy.so -a \
	-e /tmp/dest/etc/agentcell/agentcell.conf
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# Everybody else's sudo: passthrough.table, run under plain sudo and under the plugin.
#     10-passthrough.sh [--plain | --mutants | --plugin] [case...]     default: mutants, then plugin
SANDBOX_NET=1
. "$(dirname "$0")/../lib/sandbox.sh"

users() {
	sandbox_user ana && sandbox_user bob secret && sandbox_user carol target &&
		sandbox_user dan dan && sandbox_user eve eve && sandbox_user fay fay &&
		groupadd players && usermod -aG players eve && usermod -aG cdrom,audio carol &&
		chage -E 2020-01-01 fay
}

sudoers() {
	cat >/etc/sudoers <<-'END'
		Defaults env_reset, !fqdn, use_pty
		Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
		root ALL=(ALL:ALL) ALL
		ana ALL=(ALL:ALL) NOPASSWD: ALL
		bob,fay ALL=(ALL:ALL) ALL
		dan ALL=(carol) NOPASSWD: /usr/bin/id, /usr/bin/true, !/usr/bin/false
		@includedir /etc/sudoers.d
	END
	rm -f /etc/sudoers.d/*
	echo 'testers:x:7777:dan' >/etc/sudo-groups
	# A wrong password costs two seconds; the tests type many.
	sed -i 's/pam_unix.so nullok/pam_unix.so nullok nodelay/' /etc/pam.d/common-auth
	printf 'auth required pam_permit.so\naccount required pam_permit.so\nsession optional pam_permit.so\n' \
		>/etc/pam.d/quiet
}

tool() { # name: standard input becomes an executable
	cat >"/usr/local/bin/$1" && chmod 755 "/usr/local/bin/$1"
}

tools() {
	tool test-askpass <<-'END'
		#!/bin/sh
		echo secret
	END
	tool test-editor <<-'END'
		#!/bin/sh
		echo "edited by $(id -un)" >>"$1"
	END
	tool test-mailer <<-'END'
		#!/bin/sh
		# sudo sends each one by a process of its own: they come in any order.
		umask 022
		mail=$(echo "$@" && cat)
		mkdir -p /var/tmp/mails && cd /var/tmp/mails || exit 1
		printf '%s\n' "$mail" >"$(printf %s "$mail" | tr -d 0-9 | cksum | cut -d' ' -f1)"
		flock . sh -c 'cat [0-9]* >/var/tmp/mail.new && mv /var/tmp/mail.new /var/tmp/mail'
	END
	cc -shared -fPIC -o "/usr/lib/$(cc -print-multiarch)/libsss_sudo.so" tests/lib/fake_sss.c
	cp /etc/nsswitch.conf /usr/local/lib/nsswitch.plain
	{ cat /etc/nsswitch.conf && echo 'sudoers: sss'; } >/usr/local/lib/nsswitch.sss
	{ cat /etc/nsswitch.conf && echo 'sudoers: ldap files'; } >/usr/local/lib/nsswitch.ldap
}

server() {
	cat >/etc/test-logsrvd.conf <<-'END'
		[server]
		listen_address = 127.0.0.1:30344
		pid_file = /run/test-logsrvd.pid
		[iolog]
		iolog_dir = /var/log/sudo-server
		[eventlog]
		log_type = none
	END
	sudo_logsrvd -n -f /etc/test-logsrvd.conf &
	for try in 1 2 3 4 5 6 7 8 9 10; do
		ss -Hltn 'sport = 30344' | grep -q . && return
		sleep 0.2
	done
	sandbox_say "sudo_logsrvd does not listen (try $try)"
	return 1
}

state() { # name: keeps what an install changes
	mkdir -p "/usr/local/lib/test-states/$1" && cp -a /etc/pam.d /etc/sudo.conf "/usr/local/lib/test-states/$1/"
}

users && sudoers && tools && server && state plain || {
	sandbox_say 'cannot prepare the comparison'
	exit 1
}

compare() { # arguments of passthrough.py behind the table
	/usr/bin/python3 tests/system/passthrough.py tests/system/passthrough.table "$@"
}

mode=${1---both}
[ $# = 0 ] || shift
case $mode in
--plain | --mutants)
	compare "$mode" "$@"
	exit
	;;
esac
/usr/bin/python3 tests/lib/syslog.py /dev/log /run/syslog &
syslog=$!
B=$build conf/install.sh >/run/install.log 2>&1 || {
	cat /run/install.log >&2
	exit 1
}
kill "$syslog"
state plugin
[ "$mode" = --plugin ] || compare --mutants || exit 1
compare --plugin "$@"

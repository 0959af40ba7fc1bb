#!/bin/sh
# SPDX-License-Identifier: ISC
# Installs agentcell.  With DESTDIR only files are copied.  Without it, in this order: programs,
# role account, configuration, directories, PAM guard, listener, and sudo.conf last, after a trial
# of the new one with the real sudo.  A failed step takes back all before it; run again, it changes
# nothing.  `make install` calls it with the makefile's directories in the environment.
# shellcheck source=conf/install-lib.sh
. "$(dirname "$0")/install-lib.sh"

copy_programs() {
	programs >"$undo/list"
	while read -r mode source target; do
		put "$source" "$DESTDIR$target" "$mode" || return 1
	done <"$undo/list"
}

copy_configuration() {
	configuration >"$undo/list"
	while read -r mode source target; do
		put_new "$source" "$DESTDIR$target" "$mode" || return 1
	done <"$undo/list"
}

make_role() {
	getent passwd "$role" >/dev/null && return
	undo_note command "userdel $role"
	role_add && directory /var/lib/agentcell 0755 && put /dev/null /var/lib/agentcell/role-made 0600
}

make_directories() {
	while read -r kind path mode owner group _; do
		[ "$kind" = d ] || continue
		directory "$path" "$mode" || return 1
		chown "$owner:$(getent group "$group" >/dev/null && echo "$group" || echo root)" "$path"
	done <"$top/conf/tmpfiles.conf"
}

guard_sessions() {
	set --
	for service in $guarded; do
		file=$sysconfdir/pam.d/$service
		if [ ! -e "$file" ] || grep -Eq "$guard_pattern" "$file"; then
			continue
		fi
		guard_with "$file" >"$undo/pam.$service" || return 1
		set -- "$@" "$undo/pam.$service" "$file"
	done
	[ $# -gt 0 ] || return 0
	sudo_try "$@" >"$undo/try" && [ "$(sudo_try)" = "$(cat "$undo/try")" ] || {
		say "with the guard in pam.d sudo would not work as before: $(cat "$undo/try")" >&2
		return 1
	}
	while [ $# -gt 0 ]; do
		replace "$2" <"$1" || return 1
		shift 2
	done
}

start_listener() {
	if [ ! -d /run/systemd/system ]; then
		say "no systemd here: start $sbindir/agentcelld yourself"
		return 0
	fi
	undo_note command 'systemctl disable --now agentcelld.service'
	systemctl daemon-reload && systemctl enable --now agentcelld.service
}

switch_sudo() {
	[ -e "$sudo_conf" ] || put /dev/null "$sudo_conf" 0644 || return 1
	if grep -Eq '^[[:space:]]*Plugin.*\\$' "$sudo_conf"; then
		say "$sudo_conf: a Plugin line goes on in the next line; join them first" >&2
		return 1
	fi
	sudo_conf_with "$sudo_conf" >"$undo/sudo.conf" && chmod 0644 "$undo/sudo.conf" || return 1
	sudo_test yes "$undo/sudo.conf" "$sudo_conf" || return 1
	cmp -s "$undo/sudo.conf" "$sudo_conf" || replace "$sudo_conf" <"$undo/sudo.conf"
}

install_main() {
	undo_begin
	step copy_programs
	step copy_configuration
	if [ -z "$DESTDIR" ]; then
		[ "$(id -u)" = 0 ] || die 'installing needs root (or DESTDIR=...)'
		command -v sudo >/dev/null || die 'sudo is not installed'
		step make_role
		step make_directories
		step guard_sessions
		step start_listener
		step switch_sudo
		say "installed; give people a rule such as"
		say "    %developers ALL = ($role) NOPASSWD: ALL"
	fi
	undo_end
}

[ -n "${hooked-}" ] || install_main

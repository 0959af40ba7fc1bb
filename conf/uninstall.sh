#!/bin/sh
# SPDX-License-Identifier: ISC
# Takes agentcell off the machine, in the reverse order of install.sh: sudo.conf first, so that sudo
# never names a plugin that is gone.  Kept: what was configured (/etc/agentcell), backups and logs.
# shellcheck source=conf/install-lib.sh
. "$(dirname "$0")/install-lib.sh"

refuse_live() {
	for session in /run/agentcell/sessions/*; do
		if [ -d "$session" ]; then
			say "session ${session##*/} is there: end it first (agentcell kill ${session##*/})" >&2
			return 1
		fi
	done
}

switch_sudo_back() {
	[ -e "$sudo_conf" ] || return 0
	sudo_conf_without "$sudo_conf" >"$undo/sudo.conf" && chmod 0644 "$undo/sudo.conf" || return 1
	if grep -Eq '^[[:space:]]*Plugin[[:space:]].*agentcell_policy' "$undo/sudo.conf"; then
		say "$sudo_conf names agentcell_policy.so in a line that was not made here: remove it first" >&2
		return 1
	fi
	sudo_test no "$undo/sudo.conf" "$sudo_conf" || return 1
	if [ ! -s "$undo/sudo.conf" ]; then
		drop "$sudo_conf"
	elif ! cmp -s "$undo/sudo.conf" "$sudo_conf"; then
		replace "$sudo_conf" <"$undo/sudo.conf"
	fi
}

stop_listener() {
	[ -d /run/systemd/system ] && [ -e "$unitdir/agentcelld.service" ] || return 0
	undo_note command 'systemctl enable --now agentcelld.service'
	systemctl disable --now agentcelld.service
}

unguard_sessions() {
	for file in "$sysconfdir"/pam.d/*; do
		[ -f "$file" ] && grep -Eq "$guard_pattern" "$file" || continue
		guard_without "$file" >"$undo/pam" && replace "$file" <"$undo/pam" || return 1
	done
}

remove_configuration() {
	drop "$sysconfdir/pam.d/agentcell" "$sysconfdir/logrotate.d/agentcell" \
		"$sysconfdir/audit/rules.d/40-agentcell.rules" "$sysconfdir/audit/plugins.d/agentcell.conf"
}

remove_programs() {
	programs >"$undo/list"
	while read -r _ _ target; do
		drop "$target" || return 1
	done <"$undo/list"
}

remove_empty() { # directory: and those above it that are empty then, as dpkg does
	path=$1
	while [ -d "$path" ] && [ -z "$(ls -A "$path")" ]; do
		undo_note command "mkdir -m $(stat -c %a "$path") '$path'"
		rmdir "$path" || return 1
		path=$(dirname "$path")
	done
}

remove_directories() {
	{ programs && configuration; } >"$undo/list"
	while read -r _ _ target; do
		remove_empty "$(dirname "$target")" || return 1
	done <"$undo/list"
	for own in /sessions /uids /view ''; do
		remove_empty "/run/agentcell$own" || return 1
	done
}

remove_role() {
	[ -e /var/lib/agentcell/role-made ] || return 0
	drop /var/lib/agentcell/role-made || return 1
	getent passwd "$role" >/dev/null || return 0
	undo_note command "role_add $(id -u "$role")"
	userdel "$role"
}

uninstall_main() {
	[ "$(id -u)" = 0 ] || die 'uninstalling needs root'
	undo_begin
	step refuse_live
	step switch_sudo_back
	step stop_listener
	step unguard_sessions
	step remove_configuration
	step remove_programs
	step remove_directories
	step remove_role
	undo_end
	say "removed; kept: $sysconfdir/agentcell, /var/lib/agentcell, /var/log/agentcell"
}

[ -n "${hooked-}" ] || uninstall_main

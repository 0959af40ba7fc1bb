# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# What install.sh and uninstall.sh share.  Every change of the machine goes through put, drop or
# directory, which first note how to take it back; a step that fails takes back all of them, newest
# first.  Files are replaced by rename, so that sudo never sees a half of one.
#
# A test may define hook() after sourcing this; it is called as `hook STEP before|after`.

set -u
LC_ALL=C
export LC_ALL
umask 022

top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
: "${B:=build}" "${DESTDIR=}" "${prefix:=/usr}" "${sysconfdir:=/etc}"
: "${libexecdir:=$prefix/libexec}" "${sbindir:=$prefix/sbin}" "${bindir:=$prefix/bin}"
: "${mandir:=$prefix/share/man}" "${sudodir:=$prefix/libexec/sudo}"
: "${pamdir:=$prefix/lib/$(cc -print-multiarch 2>/dev/null)/security}"
: "${unitdir:=$prefix/lib/systemd/system}"
case $B in
/*) ;;
*) B=$top/$B ;;
esac

role=agentcell-worker
guard='session requisite pam_agentcell.so guard'
guard_pattern='^session[[:space:]]+requisite[[:space:]]+pam_agentcell\.so[[:space:]]+guard[[:space:]]*$'
guarded='sudo sudo-i su su-l login sshd cron crond'
sudo_conf=$sysconfdir/sudo.conf

say() {
	echo "agentcell: $*"
}

die() {
	echo "agentcell: $*" >&2
	exit 1
}

hook() {
	:
}

# --- taking back

undo= # directory: one file <number> a change
undo_count=0

undo_begin() {
	undo=$(mktemp -d "${TMPDIR:-/tmp}/agentcell-undo.XXXXXX") || die 'cannot make a temporary directory'
	trap 'undo_all' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

undo_note() { # kind path: kept | made | directory | command
	undo_count=$((undo_count + 1))
	printf '%s\n%s\n' "$1" "$2" >"$undo/$undo_count"
}

undo_one() { # number
	{
		IFS= read -r undo_kind
		IFS= read -r undo_path
	} <"$undo/$1"
	case $undo_kind in
	kept) cp -pP "$undo/$1.was" "$undo_path.agentcell-new" && mv -f "$undo_path.agentcell-new" "$undo_path" ;;
	made) rm -f "$undo_path" ;;
	directory) rmdir "$undo_path" ;;
	command) eval "$undo_path" ;;
	esac
}

undo_all() {
	undo_status=$?
	trap - EXIT
	trap '' INT TERM HUP
	[ -z "$undo_done" ] || undo_count=0
	[ "$undo_count" = 0 ] || say 'a step failed: taking back what was done' >&2
	while [ "$undo_count" -gt 0 ]; do
		undo_one "$undo_count" || echo "agentcell: cannot take back: $(tr '\n' ' ' <"$undo/$undo_count")" >&2
		undo_count=$((undo_count - 1))
	done
	rm -rf "$undo"
	exit "$undo_status"
}

undo_done=
undo_end() {
	undo_done=1
}

# --- changes

save() { # path: remembers what is there
	if [ -e "$1" ] || [ -L "$1" ]; then
		undo_note kept "$1"
		cp -pP "$1" "$undo/$undo_count.was"
	else
		undo_note made "$1"
	fi
}

directory() { # path [mode]
	[ ! -d "$1" ] || return 0
	directory "$(dirname "$1")" || return 1
	mkdir "$1" || return 1
	undo_note directory "$1"
	[ -z "${2-}" ] || chmod "$2" "$1"
}

put() { # source target mode: by rename
	directory "$(dirname "$2")" && save "$2" &&
		cp "$1" "$2.agentcell-new" && chmod "$3" "$2.agentcell-new" &&
		mv -f "$2.agentcell-new" "$2"
}

put_new() { # source target mode: what an admin edits stays as it is
	if [ -e "$2" ] && ! cmp -s "$1" "$2"; then
		say "kept $2"
		return 0
	fi
	put "$1" "$2" "$3"
}

replace() { # target: standard input becomes its content; owner and mode stay
	save "$1" && cp -p "$1" "$1.agentcell-new" && cat >"$1.agentcell-new" &&
		mv -f "$1.agentcell-new" "$1"
}

drop() { # path...
	for drop_path; do
		if [ -e "$drop_path" ] || [ -L "$drop_path" ]; then
			save "$drop_path" && rm -f "$drop_path" || return 1
		fi
	done
}

step() { # function
	hook "$1" before && "$1" && hook "$1" after || die "$1 failed"
}

# --- lists

programs() { # mode source target
	sed "s|=/usr/sbin/|=$sbindir/|" "$top/conf/agentcelld.service" >"$undo/agentcelld.service"
	echo "0644 $B/agentcell_policy.so $sudodir/agentcell_policy.so"
	echo "0644 $B/agentcell_switch.so $sudodir/agentcell_switch.so"
	echo "0644 $B/pam_agentcell.so $pamdir/pam_agentcell.so"
	echo "0755 $B/agentcell-launch $libexecdir/agentcell/agentcell-launch"
	echo "0755 $B/agentcelld $sbindir/agentcelld"
	echo "0755 $B/bin/agentcell $bindir/agentcell"
	echo "0644 $top/conf/tmpfiles.conf $prefix/lib/tmpfiles.d/agentcell.conf"
	echo "0644 $top/conf/sysusers.conf $prefix/lib/sysusers.d/agentcell.conf"
	echo "0644 $top/conf/sudo.conf $prefix/share/doc/agentcell/sudo.conf"
	for page in "$top"/*/*.[1-8]; do
		[ ! -e "$page" ] || echo "0644 $page $mandir/man${page##*.}/${page##*/}"
	done
	echo "0644 $undo/agentcelld.service $unitdir/agentcelld.service"
}

configuration() { # likewise, but an admin's file stays
	sed "s|/usr/sbin/|$sbindir/|" "$top/auditd_rules/agentcell-plugin.conf" >"$undo/agentcell-plugin.conf"
	echo "0644 $top/conf/agentcell.conf $sysconfdir/agentcell/agentcell.conf"
	for profile in "$top"/conf/harness.d/*.conf; do
		echo "0644 $profile $sysconfdir/agentcell/harness.d/${profile##*/}"
	done
	for profile in "$top"/conf/harness.d/files/*; do
		echo "0644 $profile $sysconfdir/agentcell/harness.d/files/${profile##*/}"
	done
	echo "0644 $top/auditd_rules/silent.conf $sysconfdir/agentcell/silent.conf"
	echo "0644 $top/conf/pam.d/agentcell $sysconfdir/pam.d/agentcell"
	echo "0640 $B/40-agentcell.rules $sysconfdir/audit/rules.d/40-agentcell.rules"
	echo "0640 $undo/agentcell-plugin.conf $sysconfdir/audit/plugins.d/agentcell.conf"
	echo "0644 $top/conf/logrotate.conf $sysconfdir/logrotate.d/agentcell"
}

# --- the role account

role_add() { # [uid]
	useradd -r -U ${1:+-u "$1"} -d /nonexistent -s "$(command -v nologin || echo /usr/sbin/nologin)" \
		-c 'Coding agents (see agentcell(7))' "$role"
}

# --- sudo.conf

# With agentcell's lines.  sudoers' own plugin lines make room: their options go where sudoers reads
# them, to the audit and the I/O line.  All other lines stay.
sudo_conf_with() {
	awk '
	/^[ \t]*Plugin[ \t]+sudoers_agentcell[ \t]/ { has = 1 }
	/^[ \t]*Plugin[ \t]+sudoers_(policy|audit|io)[ \t]/ && !has {
		for (i = 4; i <= NF; i++) options[$2] = options[$2] " " $i
		print "#agentcell: " $0
		next
	}
	{ print }
	END {
		if (has) exit
		audit = options["sudoers_audit"] ? options["sudoers_audit"] : options["sudoers_policy"]
		print "# agentcell begin"
		print "Plugin sudoers_agentcell agentcell_policy.so"
		print "Plugin sudoers_audit sudoers.so" audit
		print "Plugin sudoers_io sudoers.so" options["sudoers_io"]
		print "# agentcell end"
	}' "$1"
}

sudo_conf_without() {
	awk '
	/^# agentcell begin$/ { ours = 1 }
	!ours { sub(/^#agentcell: /, ""); print }
	/^# agentcell end$/ { ours = 0 }' "$1"
}

# Runs `sudo -n true` and `sudo -V` as root in a mount namespace where each of the given files, laid
# out as candidate target candidate target..., stands in for its target.  Prints what happened.
sudo_try() {
	unshare -m --propagation private -- sh -c '
		while [ $# -gt 0 ]; do
			mount --bind "$1" "$2" || exit
			shift 2
		done
		sudo -n true </dev/null 2>&1
		echo "exit status $?"
		sudo -V 2>&1 | grep "agentcell policy plugin"
		true' sh "$@"
}

sudo_plugin_line='agentcell policy plugin'

# The candidate must do what sudo does now, except for our own line in -V, which it must have (or, to
# uninstall, must not have).
sudo_test() { # yes|no candidate target...
	test_wanted=$1
	shift
	test_now=$(sudo_try | grep -v "$sudo_plugin_line")
	test_then=$(sudo_try "$@") || return 1
	test_has=no
	case $test_then in
	*"$sudo_plugin_line"*) test_has=yes ;;
	esac
	[ "$test_has" = "$test_wanted" ] &&
		[ "$(echo "$test_then" | grep -v "$sudo_plugin_line")" = "$test_now" ] && return
	echo "agentcell: sudo would not work as before; now: $test_now; then: $test_then" >&2
	return 1
}

# --- PAM

guard_with() { # before the first session line, so that nothing of the session happens
	awk -v line="$guard" '
	!done && (/^-?session[ \t]/ || /^@include[ \t]+common-session/) { print line; done = 1 }
	{ print }
	END { if (!done) print line }' "$1"
}

guard_without() {
	grep -Ev "$guard_pattern" "$1"
}

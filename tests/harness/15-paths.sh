#!/bin/sh
# SPDX-License-Identifier: ISC
# What each release touches, traced outside any cell, compared with the silent list: a new path shows
# here before it kills a session.  Full screen is traced too, where tmux is there.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
SANDBOX_NET=1
# shellcheck source=tests/lib/sandbox.sh
. "$(dirname "$0")/../lib/sandbox.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/quiet.sh
. "$tree/tests/harness/quiet.sh"
# shellcheck source=tests/harness/tui.sh
. "$tree/tests/harness/tui.sh"

silent=$tree/auditd_rules/silent.conf

# The view's name services: files only, no resolver; declared and tolerated names are in its hosts.
like_the_view() {
	printf 'passwd: files\ngroup: files\nshadow: db\nhosts: files\n' >/etc/nsswitch.conf
	: >/etc/resolv.conf
	cat "$tree"/conf/harness.d/*.conf | sed -n 's/^tolerated = //p' | tr ' ' '\n' | sed 's/^/0.0.0.0 /' >>/etc/hosts
	rm -rf /usr/share/claude /root/.claude
}

trace() { # harness
	home=/home/alice-$1 project=/home/alice/$1-project log=/tmp/$1.log
	install -d -o alice -g alice -m 700 "$home"
	make_project alice "$project"
	mock_start "$tree/tests/harness/steps/work.json" "$project" "$log"
	quiet_prefix="strace -f -y -qq -s 4096 -o /tmp/$1.trace -e trace=file,connect,sendto,sendmsg"
	quiet_run "$1" "$home" "$project" >"/tmp/$1.out" 2>&1 </dev/null
	equal "$1: exit status" "$?" 0
	mock_stop
	compare "$1" "$home" "$project"
}

trace_screen() { # harness
	home=/home/alice-$1-screen project=/home/alice/$1-screen
	install -d -o alice -g alice -m 700 "$home"
	make_project alice "$project"
	mock_start "$tree/tests/harness/steps/work.json" "$project" "/tmp/$1.log"
	quiet_prefix="strace -f -y -qq -s 4096 -o /tmp/$1.trace -e trace=file,connect,sendto,sendmsg"
	quiet_screen "$1" "$home" "$project"
	tui_wait "$(prompt_of "$1")" 240
	tui_ask do-it
	if tui_wait ALL-DONE 240; then
		tap_pass "$1, full screen: the work is done"
	else
		tap_fail "$1, full screen: the work is done" "$(tui_screen)"
	fi
	tui_stop
	mock_stop
	sleep 1
	compare "$1" "$home" "$project"
}

compare() { # harness home project
	if /usr/bin/python3 "$tree/tests/harness/paths.py" --silent "$silent" --home "$2" --cwd "$3" \
		--port "$mock_port" "/tmp/$1.trace" >/tmp/new 2>/tmp/count; then
		tap_pass "$1 $(harness_version_of "$1"): nothing outside the silent list ($(cat /tmp/count))"
	else
		tap_fail "$1 $(harness_version_of "$1"): nothing outside the silent list" "$(cat /tmp/new)"
	fi
}

harness_version_of() {
	sed -n "s/^$1 //p" "$harness_cache/installed"
}

# The comparison itself must be able to fail.
control() {
	cat >/tmp/control.trace <<-'END'
		7 openat(AT_FDCWD</home/alice/p>, "/etc/shadow", O_RDONLY) = -1 EACCES (Permission denied)
		7 openat(AT_FDCWD</home/alice/p>, "../.ssh/id_rsa", O_RDONLY) = 3</home/alice/.ssh/id_rsa>
		7 openat(AT_FDCWD</home/alice/p>, "/usr/lib/x", O_WRONLY|O_CREAT, 0666) = -1 EROFS (Read-only file system)
		7 connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
		7 openat(AT_FDCWD</home/alice/p>, "/root/x", O_RDONLY|O_PATH) = -1 EACCES (Permission denied)
		7 openat(AT_FDCWD</home/alice/p>, "../CLAUDE.md", O_RDONLY) = -1 ENOENT (No such file or directory)
		7 openat(5</home/alice/p/src>, "a.js", O_RDONLY <unfinished ...>
		7 <... openat resumed>) = 6</home/alice/p/src/a.js>
	END
	/usr/bin/python3 "$tree/tests/harness/paths.py" --silent "$silent" --home /home/agent --cwd /home/alice/p \
		/tmp/control.trace >/tmp/new 2>/tmp/count
	equal 'control: what must not be missed' "$(cut -d' ' -f1,2 /tmp/new | tr '\n' ';')" \
		'network 127.0.0.1:53;read /home/alice/.ssh/id_rsa;write /usr/lib/x;'
	equal 'control: all but the look was judged' "$(cat /tmp/count)" '6 accesses judged'
}

control
harness_install || {
	skip 'paths of each release' 'needs tests/harness/00-packages.sh to have run'
	finish
}
command -v strace >/dev/null || {
	skip 'paths of each release' 'needs strace'
	finish
}
sandbox_user alice
like_the_view
[ $# != 0 ] || set -- claude codex opencode
for harness; do
	trace "$harness"
	if command -v tmux >/dev/null; then
		trace_screen "$harness"
	else
		skip "$harness, full screen" 'needs tmux'
	fi
done
[ -z "${KEEP-}" ] || cp /tmp/*.trace "$KEEP/"
finish

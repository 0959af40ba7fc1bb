# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154
# A person at a full-screen program: tmux is the terminal (a dumb pty is not enough, harnesses ask it
# what it is).  One terminal at a time.

tui_socket=/tmp/tui.socket

tui_start() { # user directory columns rows command...
	tui_user=$1 tui_directory=$2 tui_columns=$3 tui_rows=$4
	shift 4
	rm -f "$tui_socket" /tmp/tui.status
	tui_command=
	for tui_word in "$@"; do
		tui_command="$tui_command '$(printf %s "$tui_word" | sed "s/'/'\\\\''/g")'"
	done
	printf '%s\n' "cd '$tui_directory' && setpriv --reuid $tui_user --regid $tui_user --init-groups $tui_command" \
		'echo $? >/tmp/tui.status' >/tmp/tui.command
	TERM=xterm-256color LC_ALL=C.UTF-8 tmux -u -f /dev/null -S "$tui_socket" \
		new-session -d -x "$tui_columns" -y "$tui_rows" 'sh /tmp/tui.command'
}

tui_screen() {
	tmux -S "$tui_socket" capture-pane -p 2>/dev/null
}

tui_keys() { # as tmux names them: text, Enter, C-c
	tmux -S "$tui_socket" send-keys "$@"
}

tui_resize() { # columns rows
	tmux -S "$tui_socket" resize-window -x "$1" -y "$2"
}

tui_wait() { # regex seconds
	tui_tries=$(($2 * 5))
	while [ "$tui_tries" -gt 0 ]; do
		tui_screen >/tmp/tui.screen
		grep -qE "$1" /tmp/tui.screen && return 0
		[ ! -e /tmp/tui.status ] || return 1
		sleep 0.2
		tui_tries=$((tui_tries - 1))
	done
	return 1
}

# Types a request and sends it once the program shows it.
tui_ask() { # words
	tui_keys "$1"
	tui_wait "$1" 60
	tui_keys Enter
}

# Sends keys, again and again, until the program is gone: a window for a second key may be short.
tui_leave() { # keys...
	for tui_round in 1 2 3 4 5 6; do
		for tui_key in "$@"; do
			tui_keys "$tui_key" 2>/dev/null
			sleep 0.3
		done
		[ "$(tui_ended 10)" = running ] || return
	done
}

# The screen of a window that was made smaller: complete, and no line longer than it is wide.
tui_fits() { # text columns
	tui_screen >/tmp/tui.screen
	grep -q "$1" /tmp/tui.screen && /usr/bin/python3 -c '
import sys
sys.exit(any(len(line.rstrip()) > int(sys.argv[1]) for line in open("/tmp/tui.screen", encoding="utf-8")))' "$2"
}

# The status of the command once it has ended by itself, or "running".
tui_ended() { # seconds
	tui_tries=$(($1 * 5))
	while [ "$tui_tries" -gt 0 ] && [ ! -e /tmp/tui.status ]; do
		sleep 0.2
		tui_tries=$((tui_tries - 1))
	done
	cat /tmp/tui.status 2>/dev/null || echo running
}

tui_stop() {
	tmux -S "$tui_socket" kill-server 2>/dev/null
	rm -f "$tui_socket"
}

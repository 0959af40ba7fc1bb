#!/bin/sh
# SPDX-License-Identifier: ISC
# (d) Each harness as the full-screen program that people use, in the cell: no first-start dialog, a
# request with tools, the window resized, an interrupt, the way out; nothing denied, ended clean.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"
# shellcheck source=tests/harness/quiet.sh
. "$tree/tests/harness/quiet.sh"
# shellcheck source=tests/harness/tui.sh
. "$tree/tests/harness/tui.sh"

leave() { # harness: as its users do
	case $1 in
	claude) tui_keys C-c && sleep 0.3 && tui_keys C-c ;;
	codex) tui_keys C-c && sleep 0.5 && tui_keys C-c ;;
	opencode) tui_keys C-c ;;
	esac
}

screen() { # harness
	project=/home/dev/$1-project log=/run/$1.log
	make_project dev "$project"
	mock_start "$tree/tests/harness/steps/work.json" "$project" "$log"
	started=$(milliseconds)
	# shellcheck disable=SC2046
	tui_start dev "$project" 120 40 env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/dev USER=dev LOGNAME=dev \
		LANG=C.UTF-8 TERM=xterm-256color $(cell_environment "$1") sudo -n -u agentcell-worker "$1"
	if tui_wait "$(prompt_of "$1")" 60; then
		tap_pass "$1: it asks for a request, and nothing else"
	else
		tap_fail "$1: it asks for a request, and nothing else" "$(cat /tmp/tui.screen)"
	fi
	echo "# $1: $(($(milliseconds) - started)) ms to the prompt"
	sleep 1
	tui_keys 'do-it'
	sleep 0.5
	tui_keys Enter
	tui_wait ALL-DONE 60
	check "$1: the work is done" grep -q ALL-DONE /tmp/tui.screen
	equal "$1: file written" "$(cat "$project/hello.txt" 2>&1)" 'hello from the agent'
	tui_resize 90 30
	sleep 1
	tui_screen >/tmp/tui.screen
	check "$1: redrawn at another size" grep -q ALL-DONE /tmp/tui.screen
	check "$1: within the new width" /usr/bin/python3 -c '
import sys
sys.exit(any(len(line.rstrip()) > 90 for line in open("/tmp/tui.screen", encoding="utf-8")))'
	equal "$1: still there" "$(tui_ended 0)" running
	leave "$1"
	equal "$1: leaves when told" "$(tui_ended 20)" 0
	tui_stop
	mock_stop
	check "$1: ended clean" sh -c 'echo "$1" | grep -q "\"clean\""' sh "$(cell_records end)"
	equal "$1: nothing denied that matters" "$(cell_denials)" ''
	equal "$1: no escape" "$(cell_records escape)" ''
	nothing_left "$1"
	[ -z "${VERBOSE-}" ] || sed 's/^/# /' /tmp/tui.screen
}

cell_setup || {
	skip 'full screen' 'needs tests/harness/install.sh to have run'
	finish
}
command -v tmux >/dev/null || {
	skip 'full screen' 'needs tmux'
	finish
}
[ $# != 0 ] || set -- claude codex opencode
for harness; do
	screen "$harness"
done
finish

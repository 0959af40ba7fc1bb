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
	claude | codex) tui_leave C-c C-c ;;
	opencode) tui_leave C-c ;;
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
	if tui_wait "$(prompt_of "$1")" 180; then
		tap_pass "$1: it asks for a request, and nothing else"
	else
		tap_fail "$1: it asks for a request, and nothing else" "$(cat /tmp/tui.screen)"
	fi
	echo "# $1: $(($(milliseconds) - started)) ms to the prompt"
	tui_ask do-it
	tui_wait ALL-DONE 180
	check "$1: the work is done" grep -q ALL-DONE /tmp/tui.screen
	equal "$1: file written" "$(cat "$project/hello.txt" 2>&1)" 'hello from the agent'
	tui_resize 90 30
	wait_for 30 tui_fits ALL-DONE 90
	check "$1: redrawn at another size" grep -q ALL-DONE /tmp/tui.screen
	check "$1: within the new width" tui_fits ALL-DONE 90
	equal "$1: still there" "$(tui_ended 0)" running
	leave "$1"
	equal "$1: leaves when told" "$(tui_ended 1)" 0
	tui_stop
	mock_stop
	check "$1: ended clean" sh -c 'echo "$1" | grep -q "\"clean\""' sh "$(cell_records end)"
	equal "$1: nothing denied that matters" "$(cell_denials)" ''
	equal "$1: no escape" "$(cell_records escape)" ''
	nothing_left "$1"
	[ -z "${VERBOSE-}" ] || sed 's/^/# /' /tmp/tui.screen
}

cell_setup || {
	skip 'full screen' 'needs tests/harness/00-packages.sh to have run'
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

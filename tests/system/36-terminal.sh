#!/bin/sh
# SPDX-License-Identifier: ISC
# The agent's terminal is as with plain sudo: each act below is done with a plain sudo (to carol) and
# with an agent session, through a real pseudo-terminal, and must come out the same.
. "$(dirname "$0")/../lib/session.sh"

printf 'dev ALL=(agentcell-worker,other) NOPASSWD: ALL\nDefaults use_pty\n' >/etc/sudoers.d/agents
chmod 755 /home/dev
as dev chmod 777 /home/dev/project # other works there too: not a declared path in that case

# What a session adds around the command's own output, and what names the account.
plain_text() {
	tr -d '\r' | sed -e '/^agentcell session/,/^  ended by/d' -e '/^$/d' -e 's/^\[1\] [0-9]*$/[1] PID/' -e 's/agentcell-[0-9a-f]*/ACCOUNT/; s/\bother\b/ACCOUNT/'
}

same_on_terminal() { # name drive's options -- command
	terminal_name=$1
	shift
	on_terminal dev "$@" >/run/agent 2>/run/agent.status
	for word; do
		shift
		[ "$word" != agentcell-worker ] || word=other
		set -- "$@" "$word"
	done
	on_terminal dev "$@" >/run/plain 2>/run/plain.status
	plain_text </run/agent >/run/agent.text
	plain_text </run/plain >/run/plain.text
	cat /run/agent.status >>/run/agent.text
	cat /run/plain.status >>/run/plain.text
	check "$terminal_name: as with plain sudo" diff -u /run/plain.text /run/agent.text
	check "$terminal_name: something was seen" test -s /run/plain.text
}

agent="sudo -n -u agentcell-worker"
as dev chmod 755 /home/dev/project
# shellcheck disable=SC2086
{
	same_on_terminal 'a terminal is there' -- $agent sh -c 'test -t 0 && test -t 1 && test -t 2 && echo yes; stty size'
	same_on_terminal 'colours' --env TERM=xterm-256color -- $agent sh -c 'tput setaf 1; echo red; tput sgr0'
	same_on_terminal 'resize' --on 'ready=40x100' -- $agent bash -c 'trap "stty size; exit 3" WINCH; echo ready; sleep 10 & wait'
	same_on_terminal '^C' --on 'ready=^C' -- $agent sh -c 'echo ready; exec sleep 10'
	same_on_terminal '^C trapped' --on 'ready=^C' -- $agent sh -c 'trap "echo got; exit 5" INT; echo ready; sleep 10 & wait'
	same_on_terminal 'the quit key' --on 'ready=\x1c' -- $agent sh -c 'echo ready; exec sleep 10'
	same_on_terminal 'a bare ESC' --on 'ready=\x1b' -- $agent bash -c 'echo ready; read -rsn1 k; printf "%q\n" "$k"'
	same_on_terminal 'arrow keys' --on 'ready=\x1b[A' -- $agent bash -c 'echo ready; read -rsn3 k; printf "%q\n" "$k"'
	same_on_terminal 'end of input' --on 'ready=line\n^D' -- $agent sh -c 'echo ready; cat; echo over'
	same_on_terminal '^Z and fg' --on 'ready=^Z' -- bash -ic "$agent bash -c 'echo ready; read -t 1; echo done'; fg" 
	same_on_terminal 'background job' -- bash -ic "$agent sh -c 'sleep 0.2; echo out' & wait; echo waited"
	same_on_terminal 'raw mode does not stay' -- sh -c "stty -g >/tmp/a.\$\$; $agent stty raw -echo; stty -g | cmp - /tmp/a.\$\$ && echo same"
	same_on_terminal 'nor after a kill' -- sh -c "stty -g >/tmp/a.\$\$; $agent sh -c 'stty raw -echo; kill -9 \$\$'; stty -g | cmp - /tmp/a.\$\$ && echo same"
	same_on_terminal 'exit status' -- $agent sh -c 'exit 42'
	same_on_terminal 'job control inside' -- $agent bash -c 'set -m; sleep 0.1 & fg >/dev/null; echo $?'
}
nothing_left 'terminal'

on_terminal dev --on 'ready=HANGUP' -- sudo -n -u agentcell-worker sh -c 'trap "" HUP; echo ready; sleep 60' >/run/out 2>&1
check 'a hangup ends the session' wait_for 8 no_remains

# An escape on a terminal that is in raw mode.
on_terminal dev -- sh -c "stty -g >/tmp/a; sudo -n -u agentcell-worker sh -c 'stty raw -echo; cat /home/dev/.ssh/id_ed25519; sleep 20'; stty -g | cmp - /tmp/a && echo restored" >/run/out 2>&1
check 'the terminal is restored after an escape' grep -q restored /run/out
check 'and the report is on it' grep -q 'id_ed25519' /run/out

# --- no terminal at all
equal 'a pipe' "$(echo word | agent dev cat 2>/dev/null)" word
equal 'input from a file' "$(agent dev cat </home/dev/project/text 2>/dev/null)" 'text of dev'
equal 'input closed' "$(agent dev sh -c 'cat; echo over' <&- 2>/dev/null)" over
agent dev sh -c 'echo out; exit 6' >&- 2>/dev/null
equal 'output closed' "$?" 6
equal 'large output' "$(agent dev seq 1 20000 2>/dev/null | cksum)" "$(seq 1 20000 | cksum)"
equal 'large input' "$(seq 1 20000 | agent dev cksum 2>/dev/null)" "$(seq 1 20000 | cksum)"
agent dev cat </ >/run/out 2>&1
check 'a directory as input is refused' test "$?" = 1

# --- full-screen programs, in tmux
if command -v tmux >/dev/null && command -v vim >/dev/null; then
	tmux_dev() {
		as dev env TERM=screen tmux -S /tmp/tmux.dev "$@"
	}
	tmux_dev new-session -d -x 80 -y 24
	tmux_dev send-keys "sudo -n -u agentcell-worker vim -u NONE text" Enter
	shown() {
		tmux_dev capture-pane -p | grep -q "$1"
	}
	check 'vim draws its screen' wait_for 15 shown 'text of dev'
	tmux_dev send-keys 'ochanged' Escape ':wq' Enter
	check 'and edits' wait_for 15 grep -q changed /home/dev/project/text
	wait_for 5 no_remains
	tmux_dev send-keys 'clear; sudo -n -u agentcell-worker less text' Enter
	check 'less draws its screen' wait_for 15 shown 'changed'
	tmux_dev send-keys q
	sleep 0.5
	tmux_dev send-keys 'clear; stty -a | grep -o " echo "' Enter
	check 'and leaves the terminal as it was' wait_for 5 shown '^ echo'
	tmux_dev kill-server
else
	skip 'full-screen programs' 'needs tmux and vim'
fi
nothing_left 'the end'
finish

#!/bin/sh
# SPDX-License-Identifier: ISC
# Any one process of a session dies (or sudo is stopped) at any moment: within 2 seconds no agent process
# is alive, within BOUND nothing of the cell is left, without a person's help.  The moments: during
# set-up, every 10 ms of it, and while the agent runs, with and without a terminal.  The agent ignores what it can
# and leaves its process group.
# shellcheck disable=SC2086 # $alive is words
. "$(dirname "$0")/../lib/session.sh"

BOUND=8
cat >/home/dev/project/agent <<-'END'
	#!/bin/sh
	trap '' HUP TERM INT QUIT TSTP
	setsid sh -c 'trap "" HUP TERM; while :; do sleep 1; done' &
	echo up >up
	while :; do sleep 1; done
END
chmod 755 /home/dev/project/agent

# --- who is who; each prints a pid, or nothing
alive='-r R,S,D,T' # not the zombies that a slow process 1 keeps
sudo_pid() {
	own_sudo
}
monitor_pid() { # the child of sudo that is sudo too
	pgrep $alive -x -P "$(sudo_pid)" sudo
}
harness_pid() {
	range_processes | awk '$4 ~ /sh$/ && $NF ~ /agent$/ { print $3; exit }'
}
listener_pid() {
	echo "$listener"
}

session_on() { # terminal|pipe
	rm -f /home/dev/project/up
	if [ "$1" = terminal ]; then
		on_terminal dev --timeout 60 -- sudo -n -u agentcell-worker ./agent >/run/out 2>&1 &
	else
		agent dev ./agent >/run/out 2>&1 &
	fi
	job=$!
}

no_agent() {
	[ -z "$(range_processes)" ]
}

# Whatever it was: sudo is gone or can go on, the listener is back, nothing is left.
aftermath() { # name
	if [ "$signal" = STOP ]; then
		kill -CONT "$target" 2>/dev/null
	fi
	if [ "$who" = listener ]; then
		wait "$listener" 2>/dev/null
		rm -f /run/listener.ready
		listener_start
	fi
	wait_for "$BOUND" no_remains
	check "$1: nothing is left" no_remains
	wait_for "$BOUND" sh -c "! kill -0 $job" || kill "$job"
	wait "$job" 2>/dev/null
	[ -z "$(own_sudo)" ] || {
		tap_fail "$1: sudo is gone" "$(ps -f -C sudo)"
		pkill_own_sudo
	}
}

pkill_own_sudo() { # only in this test's cgroup
	for pid in $(pgrep $alive -x sudo); do
		grep -q "${SANDBOX_CGROUP##*/}" "/proc/$pid/cgroup" && kill -9 "$pid"
	done
}

strike() { # name: signal to target; then the bound
	started=$(date +%s%N)
	kill "-$signal" "$target"
	wait_for 2 no_agent
	took=$((($(date +%s%N) - started) / 1000000))
	check "$1: no agent process after $took ms" no_agent
	aftermath "$1"
}

# --- while it runs
for terminal in pipe terminal; do
	for who in sudo monitor harness listener; do
		[ "$terminal $who" != 'pipe monitor' ] || continue
		for signal in KILL STOP; do
			case "$who $signal" in
			'harness STOP' | 'monitor STOP' | 'listener STOP') continue ;;
			esac
			name="$who, SIG$signal, $terminal"
			session_on "$terminal"
			wait_for 20 test -e /home/dev/project/up || tap_fail "$name: the agent runs" "$(cat /run/out)"
			target=$("${who}_pid")
			[ -n "$target" ] || {
				tap_fail "$name: the process is there" "$(cat /run/out; ps -f -C sudo)"
				pkill_own_sudo
				wait_for "$BOUND" no_remains
				continue
			}
			if [ "$signal" = STOP ]; then
				# A stopped sudo stops nothing: the wall clock must still end the session.
				kill -STOP "$target"
				as dev agentcell sessions >/dev/null 2>&1
				session=$(ls /run/agentcell/sessions)
				as dev agentcell kill "$session" >/run/kill 2>&1
				check "$name: agentcell kill still works" wait_for "$BOUND" no_agent
				aftermath "$name"
			else
				strike "$name"
			fi
			[ "$who $signal" != 'sudo KILL' ] ||
				check "$name: on record" log_has event=end status=terminated cause=lost
		done
	done
done

# The wall clock, with sudo stopped all the while.
rm -f /home/dev/project/up
agent dev AGENTCELL_WALL_CLOCK=3 ./agent >/run/out 2>&1 &
job=$!
wait_for 20 test -e /home/dev/project/up
who=sudo signal=STOP target=$(sudo_pid)
kill -STOP "$target"
check 'the wall clock ends a session whose sudo is stopped' wait_for 8 no_agent
aftermath 'wall clock, sudo stopped'

# --- during set-up: a kill every few milliseconds of it
# (50-crash-matrix.sh holds each state still, the launcher's too; here time decides.)
for who in sudo listener; do
	signal=KILL
	missed=0 delay=0
	while [ "$missed" -lt 3 ] && [ "$delay" -lt 400 ]; do
		session_on pipe
		sleep "$(awk "BEGIN { print $delay / 1000 }")"
		target=$("${who}_pid")
		if [ -n "$target" ] && kill -9 "$target" 2>/dev/null; then
			[ ! -e /home/dev/project/up ] || missed=$((missed + 1))
			wait_for 2 no_agent
			check "$who killed $delay ms after the start: no agent process" no_agent
			aftermath "$who killed at $delay ms"
		else
			missed=$((missed + 1))
			wait_for 3 test -e /home/dev/project/up
			signal=KILL target=$(sudo_pid)
			[ -z "$target" ] || kill -9 "$target"
			aftermath "$who was gone at $delay ms"
		fi
		delay=$((delay + 10))
	done
done
check 'control: a session still works' agent dev true
finish

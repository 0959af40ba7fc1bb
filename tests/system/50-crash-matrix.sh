#!/bin/sh
# SPDX-License-Identifier: ISC
# The crash matrix: at each state of a real session each process is killed, and then nothing of the
# session may be left, the journal must be one that the lifecycle allows, and the record must say why.
# Needs a build that can be stopped at a state (tests/lib/barrier.h); `tests/run system` makes it.
#     50-crash-matrix.sh [state:process...]      default: all
tree_of_test=$(cd "$(dirname "$0")/../.." && pwd)
AGENTCELL_BUILD=${AGENTCELL_BARRIER_BUILD:-$tree_of_test/build/barrier}
export AGENTCELL_BUILD
if [ -z "${SANDBOX_WORK-}" ]; then
	make -s -C "$tree_of_test" B="$AGENTCELL_BUILD" CPPFLAGS='-include tests/lib/barrier.h' all \
		"$AGENTCELL_BUILD/cell/conform" >&2 || exit 1
fi
. "$(dirname "$0")/../lib/session.sh"

agent_bound=1000 # ms from the kill to the last agent process's end
rest_bound=8000  # ms from the kill to nothing being left
barrier=/run/agentcell-barrier
mkdir $barrier

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# Processes below the one given, itself included, one "pid uid comm" a line.
below() {
	ps -eo pid=,ppid=,uid=,comm= | awk -v top="$1" '
		{ parent[$1] = $2; line[$1] = $1 " " $3 " " $4 }
		END { for (p in line) for (q = p; q > 1; q = parent[q]) if (q == top) { print line[p]; break } }'
}

pid_of() { # job process: the pid of the named part of the session
	case $2 in
	listener) echo "$listener" ;;
	sudo) below "$1" | awk '$3 == "sudo" { print $1 }' | sort -n | head -1 ;;
	monitor) below "$1" | awk '$3 == "sudo" { print $1 }' | sort -n | sed -n 2p ;;
	launcher) below "$1" | awk '$3 == "agentcell-launc" { print $1 }' ;;
	agent) range_processes | awk '{ print $3; exit }' ;;
	esac
}

no_agent() {
	[ -z "$(range_processes)" ]
}

time_until() { # milliseconds since $killed until the command succeeds; 99999 when it does not
	until_limit=$(($(now_ms) + 15000))
	until "$@" >/dev/null 2>&1; do
		[ "$(now_ms)" -lt "$until_limit" ] || {
			echo 99999
			return
		}
		sleep 0.02
	done
	echo $(($(now_ms) - killed))
}

end_record() { # field: of the last end record
	/usr/bin/python3 - "$json_log" "$1" <<-'END'
		import json, sys
		records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
		ends = [record for record in records if record["event"] == "end"]
		print(ends[-1].get(sys.argv[2]) if ends else "none")
	END
}

conforms() {
	"$build/cell/conform" "$(end_record journal)"
}

is_at() { # state
	if [ "$1" = running ]; then
		range_processes | grep -q sleep
	else
		[ -s "$barrier/$1.at" ]
	fi
}

cell() { # state process [signal]
	state=$1
	part=$2
	name="$state, $part ${3:-KILL}"
	rm -f "$json_log"
	case $state in
	terminate | drain | cleanup) command=true ;;
	*) command='sleep 30' ;;
	esac
	[ "$state" = running ] || : >$barrier/"$state"
	# shellcheck disable=SC2086
	on_terminal dev --timeout 40 -- sudo -u agentcell-worker AGENTCELL_WALL_CLOCK=${4:-60} $command \
		>/run/matrix.out 2>&1 &
	job=$!
	wait_for 15 is_at "$state"
	victim=$(pid_of $job "$part")
	if [ -z "$victim" ] || ! is_at "$state"; then
		fail "$name: the session never came to that point"
		sed "s/^/# /" /run/matrix.out /run/listener.log
		rm -f $barrier/*
		wait $job
		return
	fi
	killed=$(now_ms)
	kill -"${3:-KILL}" "$victim"
	rm -f $barrier/*
	if [ "$part" = listener ]; then
		wait "$listener" 2>/dev/null
		gone=$(time_until no_agent)
		listener_start
	else
		gone=$(time_until no_agent)
	fi
	rest=$(time_until no_remains)
	bound=$((agent_bound + ${4:-0} * 1000))
	check "$name: no agent process after $gone ms (bound $bound)" test "$gone" -le "$bound"
	check "$name: nothing is left after $rest ms (bound $((bound + rest_bound)))" \
		test "$rest" -le $((bound + rest_bound))
	check "$name: the journal conforms" conforms
	check "$name: the record says why ($(end_record status), $(end_record cause))" \
		test "$(end_record cause)" != none
	kill -KILL "$(pid_of $job sudo)" 2>/dev/null
	wait $job 2>/dev/null
}

fail() {
	check "$1" false
}

matrix() {
	for state in policy backup account firewall monitor; do
		echo $state:sudo $state:listener
	done
	echo switch:sudo switch:monitor switch:launcher switch:listener
	echo running:sudo running:monitor running:agent running:listener running:sudo:STOP:3
	for state in terminate drain cleanup; do
		echo $state:sudo $state:listener
	done
}

[ $# != 0 ] || {
	# shellcheck disable=SC2046
	set -- $(matrix)
}
for one; do
	IFS=:
	# shellcheck disable=SC2086
	set -- $one
	unset IFS
	cell "$@"
done
finish
